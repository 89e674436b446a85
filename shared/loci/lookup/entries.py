"""Entries to look up: a document or a file, by an id that says which, with the page that shows it."""

import re
from dataclasses import dataclass
from typing import Final
from urllib.parse import quote

from loci.core.errors import NotFound

DOCUMENTS: Final = "documents:read"
FILES: Final = "files:read"
"""The scopes that a client needs for each of the two parts."""
SHAPE: Final = re.compile(r"(document:[^@]{1,200}|file:[^~]{1,64})(?:@(\d{1,9}))?(?:~(\d{1,6}))?", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Entry:
    """A place in a document (its first character) or in a file (its first passage)."""

    is_file: bool
    name: str
    """The id of the document or the file."""
    first: int | None = None

    @property
    def id(self) -> str:
        """As `fetch` takes it: `document:notes-plan`, `document:notes-plan@50000`, `file:ds-1f~12`."""
        kind, sign = ("file", "~") if self.is_file else ("document", "@")
        return f"{kind}:{self.name}" + ("" if self.first is None else f"{sign}{self.first}")

    @property
    def scope(self) -> str:
        """The scope that a client needs to read it."""
        return FILES if self.is_file else DOCUMENTS

    def url(self, base: str) -> str:
        """The page of Loci that shows it."""
        if not self.is_file:
            return f"{base}/ui/search#doc/{quote(self.name, safe='')}"
        return f"{base}/ui/files#{self.name}" + ("" if self.first is None else f"~{self.first}")


def entry_of(id: str) -> Entry:
    """The entry behind an id. Raises `NotFound` if it is none."""
    found = SHAPE.fullmatch(id)
    if found is None or (found[2] and id.startswith("file:")) or (found[3] and id.startswith("document:")):
        raise NotFound(f"There is nothing with the id {id[:80]!r}", "Use ids that search gave", code="ID_NOT_FOUND")
    kind, _, name = found[1].partition(":")
    first = found[2] or found[3]
    return Entry(kind == "file", name, int(first) if first else None)
