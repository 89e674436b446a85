"""Texts of others in documents: what a tool wrote after it had read them, and what a front matter says."""

import re
from collections.abc import Iterable, Mapping
from typing import Final

from loci.core.trust import few, saw
from loci.documents.document import Document
from loci.search.ranking import Chunk

OWN: Final = frozenset({"own", "owner"})
"""The words of a front matter for the trust in what the owner wrote."""
TAKEN_FROM: Final = frozenset({"source", "origin", "canonical", "via", "feed"})
"""Fields of a front matter with the address that a text was taken from, as clippers of web pages write them."""
LINES: Final = re.compile(r"(\d{1,9})(?:-(\d{1,9}))?", re.ASCII)
MARKS: Final = ("trust=", "foreign=", *(f"{one}=" for one in TAKEN_FROM))


def foreign_of(document: Document, first: int = 1, last: int | None = None) -> tuple[str, ...]:
    """The sources of the texts of others in these lines of a document; empty if there is none.

    A front matter can only take trust away: what it says of a text that a tool wrote after it had read texts of others
    does not count.
    """
    if document.trust == "foreign":
        return document.sources or (f"note {document.path}",)
    marks = [one.partition("=")[::2] for one in document.properties if one.startswith(MARKS)]
    if not marks:
        return ()
    if taken := [value for name, value in marks if name in TAKEN_FROM and "://" in value]:
        return few(taken)
    ranges = [LINES.fullmatch(value) for name, value in marks if name == "foreign"]
    trusts = {value for name, value in marks if name == "trust"}
    if ranges and all(ranges):
        is_in = any(one and int(one[1]) <= (last or int(one[1])) and first <= int(one[2] or one[1]) for one in ranges)
    else:
        is_said = any(name == "foreign" and value not in ("false", "no") for name, value in marks)
        is_in = is_said or bool(trusts - OWN)
    return (f"note {document.path}",) if is_in else ()


def saw_titles(documents: Iterable[Document | None]) -> None:
    """Note that the answer under way has the titles of these documents."""
    saw(source for one in documents if one is not None for source in foreign_of(one, 1, 1))


def saw_line(document: Document | None, line: int | None) -> None:
    """Note that the answer under way has this line of a document; None: it may have any of them."""
    if document is not None:
        saw(foreign_of(document, line or 1, line))


def foreign_in(documents: Mapping[str, Document], chunks: Iterable[Chunk]) -> list[str]:
    """The sources of the texts of others in these passages. A passage of a document without a record counts as one."""
    found: dict[str, None] = {}
    for one in chunks:
        document = documents.get(one.document)
        if document is None:
            found[f"note {one.path}"] = None
        elif document.trust == "foreign" or document.properties:
            found |= dict.fromkeys(foreign_of(document, one.first_line, one.last_line))
    return [*found]
