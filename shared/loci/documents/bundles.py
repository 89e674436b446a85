"""Bundles of the Open Knowledge Format: the claims of their documents, and the files that only list other files."""

import re
from collections.abc import Sequence
from typing import Final

from loci.documents.document import Document
from loci.markdown.dates import first_day
from loci.search.ranking import Hit

INDEX, LOG = "index.md", "log.md"
"""The files that a bundle reserves: the listing of a folder, and the history of its changes."""
COMPUTATION: Final = "Attested Computation"
"""The `type` of a document with code that computes a value."""
LISTED: Final = re.compile(r"[*+-][ \t]++\[[^\[\]\n]++\]\([^()\s]++\)")
"""The beginning of an entry of an index."""
LOGGED: Final = re.compile(r"\d{4}-\d{2}-\d{2}(?!\d)")
ACTOR: Final = re.compile(r"[\w.@:/+-]{1,80}")
NAMED: Final = 2
"""Confirmations that a claim names."""


def is_reserved(path: str) -> bool:
    """True if the path is one that a bundle reserves for an index or a log."""
    return _name(path) in (INDEX, LOG)


def is_computation(document: Document) -> bool:
    """True for a document of the type Attested Computation."""
    return f"type={COMPUTATION.casefold()}" in document.properties


def claim_of(document: Document) -> str | None:
    """The words of a bundle about its own verification, as a claim. Nobody checked it here: it lends no trust."""
    events = _events(document, "verified")
    if not events:
        return None
    changed = max((day for day, _ in _events(document, "generated")), default="")
    latest = sorted(events, reverse=True)
    told = [f"by {who}{f' on {day}' if day else ''}" for day, who in latest[:NAMED]]
    more = f" and {len(latest) - NAMED} more" if len(latest) > NAMED else ""
    outdated = f", before it last changed on {changed}" if latest[0][0] and latest[0][0] < changed else ""
    return f"the bundle says: verified {', '.join(told)}{more}{outdated}"


def _events(document: Document, name: str) -> list[tuple[str, str]]:
    """The day and the actor of each event in the field."""
    start, found = f"{name}=", list[tuple[str, str]]()
    for one in document.properties:
        if one.startswith(start):
            at, _, who = one.removeprefix(start).partition(" ")
            who = who if (day := first_day(at)) else one.removeprefix(start)
            found.append((day or "", who if ACTOR.fullmatch(who) else "somebody"))
    return found


def without_listings(hits: Sequence[Hit]) -> list[Hit]:
    """The hits without entries of an index, which repeat what other documents say, and with entries of logs last.

    If nothing else was found, these are shown.
    """
    own = [hit for hit in hits if not _is_listing(hit)]
    ordered = sorted(own, key=_is_of_log)
    return ordered if ordered and not _is_of_log(ordered[0]) else [*hits]


def _is_listing(hit: Hit) -> bool:
    """True if the hit is a passage of an index that has nothing but entries, each with a link."""
    if _name(hit.chunk.path) != INDEX:
        return False
    lines = [line for line in hit.chunk.text.splitlines() if line.strip() and not line.startswith(("#", " "))]
    return bool(lines) and all(LISTED.match(line) for line in lines)


def _is_of_log(hit: Hit) -> bool:
    return _name(hit.chunk.path) == LOG and any(LOGGED.match(one) for one in hit.chunk.heading)


def _name(path: str) -> str:
    return path.rpartition("/")[2]
