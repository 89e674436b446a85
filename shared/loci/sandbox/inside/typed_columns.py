"""Finds the types of columns whose cells are texts. No number is rounded: what does not fit stays text."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime, time
from decimal import Decimal
from typing import Any

EMPTY = frozenset({"", "-", "\u2013", "\u2014", "na", "n/a", "nan", "null", "none", "#n/a"})
"""Cells that stand for no value, unless their column is text."""
WHOLE = re.compile(r"[+-]?(?:0|[1-9]\d*|[1-9]\d{0,2}(?:,\d{3})+)")
DECIMAL = re.compile(r"[+-]?(?:0|[1-9]\d*|[1-9]\d{0,2}(?:,\d{3})+)?\.\d+|[+-]?(?:0|[1-9]\d*|[1-9]\d{0,2}(?:,\d{3})+)")
FLOAT = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?")
LEADING_ZERO = re.compile(r"[+-]?0\d")
BOOLEANS = {"true": True, "false": False}
LARGEST_WHOLE = 2**63 - 1
MOST_DIGITS, MOST_FRACTION = 18, 9
"""Of an exact decimal: its products and sums still fit into DuckDB's 38 digits."""


@dataclass(frozen=True)
class Column:
    """A column: its type in SQL, and its values."""

    type: str
    values: list[Any]


def typed(cells: Sequence[str]) -> Column:
    """The column with the narrowest type that has all its values exactly."""
    stripped = [cell.strip() for cell in cells]
    filled = [cell for cell in stripped if cell.lower() not in EMPTY]
    if not filled:
        return Column("VARCHAR", [cell or None for cell in cells])
    kind = _kind(filled)
    if kind == "VARCHAR":
        return Column(kind, [cell or None for cell in cells])
    read = READERS[kind.partition("(")[0]]
    try:
        return Column(kind, [None if cell.lower() in EMPTY else read(cell) for cell in stripped])
    except ValueError:  # such as the 31st of February
        return Column("VARCHAR", [cell or None for cell in cells])


def _kind(filled: Sequence[str]) -> str:
    if all(cell.lower() in BOOLEANS for cell in filled):
        return "BOOLEAN"
    if all(map(WHOLE.fullmatch, filled)):
        most = max(abs(_whole(cell)) for cell in filled)
        return "BIGINT" if most <= LARGEST_WHOLE else "VARCHAR"
    if all(map(DECIMAL.fullmatch, filled)):
        fraction = max(len(cell.partition(".")[2]) for cell in filled)
        digits = max(sum(map(str.isdigit, cell.partition(".")[0])) for cell in filled) + fraction
        if fraction <= MOST_FRACTION and digits <= MOST_DIGITS:
            return f"DECIMAL({MOST_DIGITS},{fraction})"
    if all(FLOAT.fullmatch(cell.replace(",", "")) and not LEADING_ZERO.match(cell) for cell in filled):
        grouped = [cell for cell in filled if "," in cell]
        return "DOUBLE" if all(map(DECIMAL.fullmatch, grouped)) else "VARCHAR"
    return _moments(filled)


def _moments(filled: Sequence[str]) -> str:
    lengths = {len(cell) for cell in filled}
    if lengths == {10} and all(cell[4] == cell[7] == "-" for cell in filled):
        return "DATE"
    if min(lengths) >= 10 and all(cell[4] == cell[7] == "-" and cell[10:11] in ("", "T", " ") for cell in filled):
        return "TIMESTAMP"
    if lengths <= {5, 8} and all(cell[2] == ":" for cell in filled):
        return "TIME"
    return "VARCHAR"


def _whole(cell: str) -> int:
    return int(cell.replace(",", ""))


def _decimal(cell: str) -> Decimal:
    return Decimal(cell.replace(",", ""))


def _float(cell: str) -> float:
    return float(cell.replace(",", ""))


def _boolean(cell: str) -> bool:
    return BOOLEANS[cell.lower()]


def _moment(cell: str) -> datetime:
    moment = datetime.fromisoformat(cell)
    if moment.tzinfo is not None:
        raise ValueError("it has a zone")
    return moment


READERS: dict[str, Any] = {
    "BOOLEAN": _boolean,
    "BIGINT": _whole,
    "DECIMAL": _decimal,
    "DOUBLE": _float,
    "DATE": date.fromisoformat,
    "TIMESTAMP": _moment,
    "TIME": time.fromisoformat,
}
