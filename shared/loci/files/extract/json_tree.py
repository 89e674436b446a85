"""Reads JSON: an array of objects is a table, everything else is text, line by line with its path."""

import json
from collections.abc import Iterator
from typing import Any, cast

from loci.files.extract.encodings import decoded
from loci.files.extract.unreadable import ReadingLimits, UnreadableFile

ROOT = "$"
LINES = 40
"""The most characters of a section of text."""
LONGEST_NAME = 500
MOST_COLUMNS = 500
Tree = Any


def read_json(path: str, limits: ReadingLimits) -> dict[str, Any]:
    """The tables and texts of a JSON file. A table's sheet is its path in the file, and its first row the keys."""
    with open(path, "rb") as opened:  # noqa: PTH123
        content = opened.read(limits.unpacked_bytes + 1)
    if len(content) > limits.unpacked_bytes:
        raise UnreadableFile(f"It is larger than {limits.unpacked_bytes >> 20} MB", "Split it", "FILE_TOO_LARGE")
    text, _ = decoded(content)
    walk = Walk(limits)
    try:
        walk.visit(parsed(text), "")
    except RecursionError as error:
        raise UnreadableFile("The JSON is nested too deeply", "Write it with fewer levels", "FILE_DAMAGED") from error
    except ValueError as error:
        raise UnreadableFile(f"It is no JSON: {error}"[:200], "Correct it, and add it again", "FILE_DAMAGED") from error
    walk.flush()
    if not walk.sections:
        raise UnreadableFile("The file is empty: it has no value", "Add it again with something in it", "FILE_EMPTY")
    return {"sections": walk.sections, "remarks": walk.remarks}


def parsed(text: str) -> Tree:
    """The value in the text; of several lines with a value each, the list of them."""
    try:
        return json.loads(text)
    except json.JSONDecodeError:
        lines = [one for one in text.splitlines() if one.strip()]
        if len(lines) < 2:
            raise
        first = json.loads(lines[0])
        return [first, *map(json.loads, lines[1:])]


class Walk:
    """Collects the sections of a tree."""

    def __init__(self, limits: ReadingLimits) -> None:
        self.sections: list[dict[str, Any]] = []
        self.remarks: list[str] = []
        self._limits = limits
        self._rows = 0
        self._lines: list[str] = []
        self._under = ""

    def visit(self, tree: Tree, path: str) -> None:
        """Take in the tree at this path."""
        if is_table(tree):
            self.flush()
            self._table(cast("list[dict[str, Tree]]", tree), path or ROOT)
        elif isinstance(tree, dict | list) and tree:
            for name, one in _children(cast("Tree", tree)):
                self.visit(one, f"{path}{name}" if name.startswith("[") or not path else f"{path}.{name}")
        elif tree is not None and tree != {} and tree != []:
            self._line(path or ROOT, tree)

    def flush(self) -> None:
        """End the section of text that is being collected."""
        if self._lines:
            heading = [self._under[:LONGEST_NAME]] if self._under else []
            self.sections.append({"kind": "text", "text": "\n".join(self._lines), "heading": heading})
            self._lines = []

    def _line(self, path: str, value: Tree) -> None:
        under = path.rpartition(".")[0]
        if len(self._lines) >= LINES or (self._lines and under.split(".")[0] != self._under.split(".")[0]):
            self.flush()
        if not self._lines:
            self._under = under
        self._rows += 1
        if self._rows <= self._limits.rows:
            self._lines.append(f"{path}: {_shown(value)}")
        elif not self.remarks:
            self.remarks.append(f"Only the first {self._limits.rows:,} rows and values were read")

    def _table(self, rows: list[dict[str, Tree]], path: str) -> None:
        room = max(0, self._limits.rows - self._rows)
        if len(rows) > room:
            self.remarks.append(f"Only the first {room:,} of {len(rows):,} rows of {path} were read"[:LONGEST_NAME])
        rows = rows[:room]
        self._rows += len(rows)
        flat = [dict(_leaves(row, "")) for row in rows]
        names = list(dict.fromkeys(name for row in flat for name in row))[:MOST_COLUMNS]
        if names:
            self.sections.append(
                {
                    "kind": "table",
                    "title": "" if path == ROOT else path[:LONGEST_NAME],
                    "sheet": path[:LONGEST_NAME],
                    "header": names,
                    "rows": [[row.get(name, "") for name in names] for row in flat],
                }
            )


def is_table(tree: Tree) -> bool:
    """True for an array of objects."""
    return (
        isinstance(tree, list)
        and len(cast("list[Tree]", tree)) > 0
        and all(isinstance(one, dict) for one in cast("list[Tree]", tree))
    )


def _children(tree: Tree) -> Iterator[tuple[str, Tree]]:
    if isinstance(tree, dict):
        yield from ((str(name), one) for name, one in cast("dict[str, Tree]", tree).items())
    else:
        yield from ((f"[{at}]", one) for at, one in enumerate(cast("list[Tree]", tree)))


def _leaves(tree: Tree, path: str) -> Iterator[tuple[str, str]]:
    """The values of an object by their names, or by their paths if they are in an inner object; arrays as JSON."""
    for name, one in _children(tree):
        below = f"{path}.{name}" if path else name
        if isinstance(one, dict) and one:
            yield from _leaves(cast("Tree", one), below)
        else:
            yield below[:LONGEST_NAME], _shown(one)


def _shown(value: Tree) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, list) and all(isinstance(one, str | int | float) for one in cast("list[Tree]", value)):
        return ", ".join(map(str, cast("list[Tree]", value)))
    return "" if value is None else json.dumps(value, ensure_ascii=False)
