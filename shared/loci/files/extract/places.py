"""The names of cells: B3 is in the third row and the second column."""

import re

CELL_NAME = re.compile(r"([A-Z]+)(\d+)")


def place_of(row: int, column: int) -> str:
    """The name of the cell in this row and column, counted from 0."""
    letters, number = "", column + 1
    while number:
        number, rest = divmod(number - 1, 26)
        letters = chr(65 + rest) + letters
    return f"{letters}{row + 1}"


def column_number(letters: str) -> int:
    """1 for A, 26 for Z, 27 for AA."""
    number = 0
    for letter in letters:
        number = number * 26 + ord(letter) - 64
    return number


def position(place: str, row: int, column: int) -> tuple[int, int]:
    """How far the cell of this name is below that row and right of that column; -1 for what is no name."""
    found = CELL_NAME.fullmatch(place)
    if found is None:
        return -1, -1
    return int(found.group(2)) - 1 - row, column_number(found.group(1)) - 1 - column
