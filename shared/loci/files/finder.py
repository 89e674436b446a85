"""Finds passages of files, and sorts them by the files they are in."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from loci.core.errors import Unavailable
from loci.core.identity import Owner
from loci.files.file import StoredFile
from loci.files.ingest import COLLECTION
from loci.files.lake import Lake
from loci.files.locators import Locator, locator_of
from loci.files.query import ParsedQuery
from loci.search.ranking import Stage, Where
from loci.search.search import Search

Match = Literal["strong", "possible", "none"]
AnswerStatus = Literal["ok", "empty", "indexing", "unavailable"]
STRONG = 0.5
"""From this score on a passage is probably about the question."""
EACH = 3
"""Passages of one file."""
SHOWN = 400
"""Characters of a passage."""


@dataclass(frozen=True, slots=True)
class FoundPassage:
    """A passage that fits, and where it stands."""

    chunk_id: str
    text: str
    where: Locator
    heading: tuple[str, ...]
    score: float


@dataclass(frozen=True, slots=True)
class FoundFile:
    """A file with the passages that fit, best first."""

    file: StoredFile
    passages: tuple[FoundPassage, ...]

    @property
    def match(self) -> Match:
        return match_of(self.passages[0].score)


@dataclass(frozen=True, slots=True)
class Scope:
    """Which files a search looks at. Nothing set: all of them."""

    ids: tuple[str, ...] = ()
    kinds: tuple[str, ...] = ()
    """Types of the reference, such as pdf_file, or formats, such as csv."""
    sheets: tuple[str, ...] = ()
    since: str | None = None
    until: str | None = None
    """When they were added: YYYY-MM-DD, inclusive."""
    as_of: str | None = None
    """What was known at this time, such as 2026-05-01T12:00:00Z."""


@dataclass(frozen=True, slots=True)
class FoundFiles:
    """The answer to a question."""

    files: tuple[FoundFile, ...]
    status: AnswerStatus
    reason: str | None
    stages: tuple[Stage, ...]
    waiting: int
    """Files that are not read yet."""


class FileFinder:
    """One search over the passages of all files of an owner."""

    def __init__(self, lake: Lake, search: Search) -> None:
        self._lake = lake
        self._search = search

    def find(self, owner: Owner, query: ParsedQuery, *, limit: int, scope: Scope) -> FoundFiles:
        """The files that fit best, each with its best passages."""
        files = {one.id: one for one in self._lake.files(owner)}
        waiting = sum(one.newest.status in ("pending", "running") for one in files.values())
        if not files:
            advice = "The lake has no file. Add one with add_memory, or: loci add FILE"
            return FoundFiles((), "empty", advice, (), 0)
        where = Where(
            any_tags=tuple(f"kind:{one}" if one.endswith("_file") else f"type:{one}" for one in scope.kinds),
            all_tags=tuple(f"file:{one}" for one in scope.ids[:1]) if len(scope.ids) == 1 else (),
            since=scope.since,
            until=scope.until,
        )
        try:
            ranking = self._search.find(
                owner, COLLECTION, query.asked, limit=limit * EACH, room=SHOWN, where=where, one_each=False
            )
        except Unavailable as error:
            return FoundFiles((), "unavailable", str(error), (), waiting)
        found: dict[str, list[FoundPassage]] = {}
        for hit in ranking.hits:
            if hit.chunk.document in files:
                place = locator_of(hit.chunk.path.rpartition("#")[2])
                passages = found.setdefault(hit.chunk.document, [])
                if len(passages) < EACH:
                    passages.append(FoundPassage(hit.chunk.id, hit.snippet, place, hit.chunk.heading, hit.score))
        answer = tuple(FoundFile(files[id], tuple(passages)) for id, passages in found.items())[:limit]
        if answer:
            return FoundFiles(answer, "ok", None, ranking.stages, waiting)
        status: AnswerStatus = "indexing" if waiting else "empty"
        return FoundFiles((), status, ranking.reason, ranking.stages, waiting)


def match_of(score: float) -> Match:
    """How sure a score makes it that the passage is about the question."""
    return "strong" if score >= STRONG else "possible" if score > 0 else "none"


def best_match(files: Sequence[FoundFile]) -> Match:
    """The best of all files; none if there is no file."""
    return files[0].match if files else "none"
