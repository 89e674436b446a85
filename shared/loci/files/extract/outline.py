"""Collects what a document says, in its order: paragraphs and tables, each under the headings above it."""

from collections.abc import Sequence
from typing import Any

LONGEST_NAME = 500
TITLE_CHARACTERS = 200
"""A longer paragraph above a table is not its title."""


class HeadingOutline:
    """Sections under headings, with the line or the slide where each begins."""

    def __init__(self) -> None:
        self.sections: list[dict[str, Any]] = []
        self.figures = 0
        self._headings: list[tuple[int, str]] = []
        self._bare: dict[str, Any] | None = None
        self._last = ""
        self._place: dict[str, int] = {}

    def at(self, **place: int) -> None:
        """Whatever comes now stands there: `slide`, or `first_line`."""
        self._place = place

    def head(self, level: int, text: str) -> None:
        """Enter a heading. It ends the headings of its level and below."""
        text = " ".join(text.split())
        if not text:
            return
        self.close()
        self._headings = [one for one in self._headings if one[0] < level]
        self._headings.append((level, text[:LONGEST_NAME]))
        # Said as text only if nothing follows, so that it can be found too.
        self._bare = {"kind": "text", "text": text, "heading": self._path()[:-1], **self._place}
        self._last = text

    def say(self, text: str, *under: str) -> None:
        """A paragraph, perhaps under a heading of its own."""
        text = text.strip()
        if not text:
            return
        self._bare = None
        self.sections.append({"kind": "text", "text": text, "heading": [*self._path(), *under], **self._place})
        self._last = text

    def table(self, rows: Sequence[Sequence[str]], title: str = "", *, header: bool | None = None) -> None:
        """A table. Its first row is its header if it looks like one, or if `header` says so."""
        full = [list(row) for row in rows if any(cell.strip() for cell in row)]
        if not full:
            return
        if len(full) == 1 or max(len(row) for row in full) == 1:
            # Programs lay out pages with tables, too.
            for row in full:
                self.say("\n".join(cell for cell in row if cell.strip()))
            return
        self._bare = None
        above = " ".join((title or (self._last if len(self._last) < TITLE_CHARACTERS else "")).split())
        place = {key: value for key, value in self._place.items() if key == "slide"}
        self.sections.append({"kind": "table", "title": above[:LONGEST_NAME], **with_header(full, header), **place})
        self._last = ""

    def close(self) -> None:
        """A heading under which nothing stands is text."""
        if self._bare is not None:
            self.sections.append(self._bare)
            self._bare = None

    def restart(self) -> None:
        """Leave all headings."""
        self.close()
        self._headings = []
        self._last = ""

    def _path(self) -> list[str]:
        return [text for _, text in self._headings]


def with_header(rows: list[list[str]], header: bool | None = None) -> dict[str, list[Any]]:
    """The rows, and the header apart from them, if the first row is one."""
    if header is False or len(rows) < 2 or not (header or _names_columns(rows[0])):
        return {"header": [], "rows": rows}
    return {"header": rows[0], "rows": rows[1:]}


def _names_columns(row: list[str]) -> bool:
    """True if most of its cells say something, and none is a number."""
    named = [cell for cell in row if cell.strip()]
    return 2 * len(named) > len(row) and not any(not cell.strip("-+ .,%$€£()0123456789") for cell in named)
