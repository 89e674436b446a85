"""Validity: whether a document holds on a day, as its front matter says."""

from collections.abc import Iterator
from typing import Final

from loci.documents.document import Document
from loci.markdown.dates import first_day

STATUSES: Final = {
    "draft": ("draft", "proposed", "wip", "work in progress"),
    "superseded": ("superseded", "replaced"),
    "retired": ("retired", "deprecated", "rejected", "withdrawn", "obsolete", "archived", "abandoned"),
}
"""The beginnings of values of `status` that say more than that the document holds."""


def lacks_validity(document: Document, day: str) -> str | None:
    """The reason why the document may not hold on that day: a status, or a day that has passed. None if it holds."""
    if not document.properties:  # as most documents, and a search looks at many
        return None
    if ended := _status(document):
        return ended
    days = {name: found for name in ("valid_from", "valid_until", "stale_after") if (found := _day(document, name))}
    if days.get("valid_from", "") > day:
        return f"valid from {days['valid_from']}"
    if days.get("valid_until", day) < day:
        return f"valid until {days['valid_until']}"
    return f"stale after {days['stale_after']}" if days.get("stale_after", "9") <= day else None


def holds(document: Document, day: str) -> bool:
    """True if the days of its validity, and the day of its text, allow that it held on that day."""
    first, last = _day(document, "valid_from"), _day(document, "valid_until")
    return (first or document.day or day) <= day <= (last or day)


def _status(document: Document) -> str | None:
    said = " ".join(_values(document, "status"))
    return next((status for status, words in STATUSES.items() if said.startswith(words)), None)


def _day(document: Document, name: str) -> str | None:
    return next((day for value in _values(document, name) if (day := first_day(value))), None)


def _values(document: Document, name: str) -> Iterator[str]:
    start = f"{name}="
    return (one.removeprefix(start) for one in document.properties if one.startswith(start))
