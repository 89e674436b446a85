"""Finds passages of files, and sorts them by the files they are in."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from loci.core.errors import Unavailable
from loci.core.identity import Owner
from loci.files.file import FileVersion, StoredFile
from loci.files.lake import LONGEST_ID, Lake
from loci.files.locators import Locator, place_of
from loci.files.search_filter import COLLECTION, Scope, VersionsAt, VersionsThen
from loci.files.snippets import shown
from loci.search.question import Asked
from loci.search.ranking import Explanation, Hit, Stage, Where
from loci.search.search import Search

AnswerStatus = Literal["ok", "empty", "indexing", "unavailable"]
EACH = 3
"""Passages of one file."""
SHOWN = 400
"""Characters of a passage."""
NO_FILE = "The lake has no file. Add one with add_memory, or: loci add FILE"
OTHER_WORDS = "Ask with other words, or see with get_memorylake_metadata which files there are"
Match = Literal["strong", "possible", "none"]
STRONG = 0.5
# Chosen on conversations (LoCoMo) and questions about Python and aerodynamics, which they do not answer: with a model
# none of 500 that they answer is below it, by words alone 8 of 260. tests/quality/files.py measures other sets.
POSSIBLE, POSSIBLE_BY_WORDS = 0.4, 0.3


@dataclass(frozen=True, slots=True)
class FoundPassage:
    """A passage that fits, and where it stands."""

    chunk_id: str
    text: str
    where: Locator
    columns: str | None
    """The header of the table that the text is of, if it is not in the text."""
    heading: tuple[str, ...]
    match: Match
    score: float
    why: Explanation


@dataclass(frozen=True, slots=True)
class FoundFile:
    """A file with the passages that fit, best first."""

    file: StoredFile
    version: FileVersion
    passages: tuple[FoundPassage, ...]

    @property
    def match(self) -> Match:
        """Of the passage that fits best."""
        return best([one.match for one in self.passages])


@dataclass(frozen=True, slots=True)
class FoundFiles:
    """The answer to a question."""

    files: tuple[FoundFile, ...]
    status: AnswerStatus
    scope: Scope
    reason: str | None = None
    """Why there is none, and what to do next."""
    stages: tuple[Stage, ...] = ()
    unknown: tuple[str, ...] = ()
    """Ids in the scope that no file has."""
    trimmed: tuple[str, ...] = ()
    """Names of files whose version of then may be one that is no longer kept."""

    @property
    def match(self) -> Match:
        """Of the file that fits best."""
        return best([one.match for one in self.files])


class FileFinder:
    """One search over the passages of all files of an owner."""

    def __init__(self, lake: Lake, search: Search, versions_at: VersionsAt) -> None:
        self._lake = lake
        self._search = search
        self._versions_at = versions_at

    def find(self, owner: Owner, asked: Asked, *, limit: int, scope: Scope) -> FoundFiles:
        """The files that fit best, each with its best passages."""
        named = self._lake.known(owner, scope.ids)
        unknown = tuple(id[:LONGEST_ID] for id in scope.ids if id not in named)
        then = VersionsThen({})
        parts = [(COLLECTION, scope.where)]
        if scope.as_of is not None:
            then = self._versions_at(owner, scope.as_of)
            parts = scope.parts({one.id: one for one in self._lake.files(owner)}, then.current)
        try:
            hits, stages = self._hits(owner, asked, parts, limit)
        except Unavailable as error:
            return FoundFiles(
                (), "unavailable", scope, f"{error}. This says nothing about the files: search again later"
            )
        found: dict[str, list[Hit]] = {}
        for hit in hits:
            found.setdefault(hit.chunk.document.partition("@")[0], []).append(hit)
        known = self._lake.known(owner, [*found])
        best = [(known[id], its) for id, its in found.items() if id in known][:limit]
        files = [
            FoundFile(file, then.current.get(file.id, file.shown), tuple(_passage(one, asked) for one in its))
            for file, its in best
        ]
        damage = next((one.note for one in stages if one.stage == "words" and one.failed), None)
        if files:
            return FoundFiles(tuple(files), "ok", scope, damage, stages, unknown, then.trimmed)
        if damage:
            return FoundFiles((), "unavailable", scope, f"{damage} This says nothing about the files", stages)
        return replace(self._empty(owner, scope, unknown), stages=stages, trimmed=then.trimmed)

    def _hits(
        self, owner: Owner, asked: Asked, parts: Sequence[tuple[str, Where]], limit: int
    ) -> tuple[list[Hit], tuple[Stage, ...]]:
        """The best passages of all parts. Scores are on one scale, so they can be sorted together."""
        hits: list[Hit] = []
        stages: tuple[Stage, ...] = ()
        for collection, where in parts:
            ranking = self._search.find(
                owner, collection, asked, limit=limit, room=SHOWN, where=where, each=EACH, cuts=False
            )
            hits, stages = [*hits, *ranking.hits], (*stages, *ranking.stages)
        return (sorted(hits, key=lambda one: -one.score) if len(parts) > 1 else hits), stages

    def _empty(self, owner: Owner, scope: Scope, unknown: tuple[str, ...]) -> FoundFiles:
        files = [one for one in self._lake.files(owner) if not scope.ids or one.id in scope.ids]
        if unknown and not files:
            which = ", ".join(map(repr, unknown[:3]))
            reason = f"There is no file {which}. Use ids that search_memory or get_memorylake_metadata gave"
            return FoundFiles((), "empty", scope, reason, unknown=unknown)
        if not files:
            return FoundFiles((), "empty", scope, NO_FILE)
        waiting = [one.name for one in files if one.newest.status in ("pending", "running")]
        if waiting:
            names = ", ".join(waiting[:3]) + (f" and {len(waiting) - 3} more" if len(waiting) > 3 else "")
            reason = f"Nothing fits among what was read, and not all is read: {names}. Ask again after ingestion_status"
            return FoundFiles((), "indexing", scope, f"{reason} says okay", unknown=unknown)
        if scope == Scope():
            return FoundFiles((), "empty", scope, f"No file is about it. {OTHER_WORDS}")
        reason = f"No file in this scope is about it. Search without conditions. {OTHER_WORDS}"
        return FoundFiles((), "empty", scope, reason, unknown=unknown)


def _passage(hit: Hit, asked: Asked) -> FoundPassage:
    chunk = hit.chunk
    part = shown(chunk, place_of(chunk), asked.words, SHOWN)
    match = match_of(hit.fits, by_meaning=hit.why.closeness is not None)
    return FoundPassage(chunk.id, part.text, part.where, part.columns, chunk.heading[1:], match, hit.score, hit.why)


def match_of(fits: float, *, by_meaning: bool) -> Match:
    """The level of a passage that is so likely about the question: by its words, and by a model if `by_meaning`.

    A cross-encoder changes only the order: its scores mean something else for each model.
    """
    possible = POSSIBLE if by_meaning else POSSIBLE_BY_WORDS
    return "strong" if fits >= STRONG else "possible" if fits >= possible else "none"


def best(levels: Sequence[Match]) -> Match:
    """The surest of them."""
    return "strong" if "strong" in levels else "possible" if "possible" in levels else "none"
