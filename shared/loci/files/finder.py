"""Finds passages of files, sorts them by the files they are in, and cuts out what an answer shows."""

import math
import time
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from loci.core.errors import Unavailable
from loci.core.identity import Owner
from loci.files.file import FileVersion, StoredFile
from loci.files.lake import LONGEST_ID, Lake
from loci.files.locators import Locator, cell_range, cells_in, place_of
from loci.files.search_query import COLLECTION, FileScope, VersionsAt, VersionsThen, folders_of, is_in_folder
from loci.search.languages import language_of
from loci.search.names import NOT_IN_A_NAME
from loci.search.ranking import LEVELS, Chunk, Explanation, Hit, Match, Stage, Where, surest
from loci.search.search import Search
from loci.search.snippet import ELLIPSIS, cut_out, snippet, span
from loci.search.words import Question, index_words, query_words

AnswerStatus = Literal["ok", "empty", "indexing", "embedding", "unavailable"]
EACH = 3
"""Passages of one file."""
SHOWN = 400
"""Characters of a passage."""
BETWEEN = " | "
"""The text between two cells of a row."""
FEWEST_ROWS = 3
"""Rows that an excerpt of a table has at least, if they fit: the rows beside a figure tell its unit or its total."""
LONGEST_COLUMNS = 200
"""Characters of the header above rows of a table."""
NO_FILE = "The lake has no file. Add one with add_memory, or: loci add FILE"
OTHER_WORDS = "Ask with other words, or see with get_memorylake_metadata which files there are"
MOST_NAMED, LISTED_FOLDERS = 3, 10
SLOW_SECONDS, SHARE_OF_TIME = 0.1, 1 / 50
"""A list of all files that took so long to read is used again, so that it takes this part of the time."""
KEPT_SECONDS, MOST_OWNERS = 60.0, 50
"""The most seconds that a list of all files is kept, and the owners whose lists are."""


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
        """The match of the passage that fits best."""
        return surest(one.match for one in self.passages)


@dataclass(frozen=True, slots=True)
class FoundFiles:
    """The answer to a question."""

    files: tuple[FoundFile, ...]
    status: AnswerStatus
    scope: FileScope
    reason: str | None = None
    """The reason why no file was found, and the next step."""
    stages: tuple[Stage, ...] = ()
    unknown: tuple[str, ...] = ()
    """Ids in the scope that no file has."""
    trimmed: tuple[str, ...] = ()
    """Names of files whose version of then may be one that is no longer kept."""
    unread: tuple[StoredFile, ...] = ()
    """Files that fit by their names, or that the scope names, and that could not be read."""

    @property
    def match(self) -> Match:
        """The match of the file that fits best."""
        return surest(one.match for one in self.files)


@dataclass(frozen=True, slots=True)
class _ListedFiles:
    """All files of an owner, as they were read."""

    state: str
    read_at: float
    good_until: float
    """Until then they are used whatever changes."""
    files: tuple[StoredFile, ...]


class FileFinder:
    """Searches the passages of all files of an owner."""

    def __init__(self, lake: Lake, search: Search, versions_at: VersionsAt, model: Callable[[], str | None]) -> None:
        self._lake = lake
        self._search = search
        self._versions_at = versions_at
        self._model = model
        """The identity of the model that embeds, if there is one."""
        self._listed: dict[Owner, _ListedFiles] = {}

    def find(self, owner: Owner, asked: Question, *, limit: int, scope: FileScope) -> FoundFiles:
        """The files that fit best, each with its best passages, and the files that could not be searched."""
        within = scope
        if scope.folder is not None:
            files = self._files(owner)
            named = scope.ids or tuple(one.id for one in files)
            ids = tuple(one.id for one in files if one.id in named and is_in_folder(one, scope.folder))
            if not ids:
                known = ", ".join(folders_of(files)[:LISTED_FOLDERS]) or "none: the files were added by their names"
                reason = f"No file of the scope lies in a folder {scope.folder!r}. The folders are {known}"
                return FoundFiles((), "empty", scope, reason)
            within = replace(scope, ids=ids)
        found = replace(self._found(owner, asked, within, limit), scope=scope)
        return (
            found
            if scope.as_of or found.status == "unavailable"
            else self._with_unfinished(owner, asked, found, within)
        )

    def _with_unfinished(self, owner: Owner, asked: Question, found: FoundFiles, within: FileScope) -> FoundFiles:
        """The answer, with the files that could not be read, and a status that says what is still being done."""
        files = [one for one in self._all_unfinished(owner) if not within.ids or one.id in within.ids]
        files = [one for one in files if within.has_kind(one)]
        rank = {one.id: _words_in_name(one, asked) for one in files if one.newest.status == "error"}
        unread = [one for one in files if rank.get(one.id) or (one.id in rank and one.id in found.scope.ids)]
        unread.sort(key=lambda one: -rank[one.id])
        waiting = [one for one in files if one.newest.status in ("pending", "running")]
        by_words = [one for one in files if one.newest.status == "okay"]
        notes = [
            found.reason,
            *(f"{one.full_path} could not be read: {one.newest.reason}" for one in unread[:MOST_NAMED]),
        ]
        status = found.status
        if waiting and status == "ok":
            status = "indexing"
            notes.append(f"Not read yet: {_some(waiting)}. Ask again after ingestion_status says okay")
        elif by_words and status in ("ok", "empty"):
            status = "embedding"
            notes.append(f"Found by words alone until embedded: {_some(by_words)}. Ask again in a minute")
        reason = (
            " ".join(one if one.endswith((".", "?")) else f"{one}." for one in notes if one)
            if len(notes) > 1
            else notes[0]
        )
        return replace(found, status=status, reason=reason, unread=tuple(unread))

    def _all_unfinished(self, owner: Owner) -> tuple[StoredFile, ...]:
        """The files that are not read, could not be read or are not embedded."""
        model = self._model()
        return tuple(
            one
            for one in self._files(owner)
            if one.newest.status != "okay" or (model is not None and one.shown.model != model and one.shown.chunks)
        )

    def _files(self, owner: Owner) -> tuple[StoredFile, ...]:
        """All files. They are read again only after a change."""
        began, held = time.monotonic(), self._listed.get(owner)
        if held and began < held.good_until:
            return held.files
        state = self._lake.state(owner)
        if held and held.state == state and began < held.read_at + KEPT_SECONDS:
            return held.files
        files = tuple(self._lake.files(owner))
        took = time.monotonic() - began
        good_until = began + (took / SHARE_OF_TIME if took > SLOW_SECONDS else 0.0)
        self._listed.pop(owner, None)
        self._listed[owner] = _ListedFiles(state, began, good_until, files)
        for other in [*self._listed][:-MOST_OWNERS]:
            self._listed.pop(other, None)
        return files

    def _found(self, owner: Owner, asked: Question, scope: FileScope, limit: int) -> FoundFiles:
        """The files that fit, among the files that were read."""
        named = self._lake.known(owner, scope.ids)
        unknown = tuple(id[:LONGEST_ID] for id in scope.ids if id not in named)
        then = VersionsThen({})
        parts = [(COLLECTION, scope.where)]
        if scope.as_of is not None:
            then = self._versions_at(owner, scope.as_of)
            parts = scope.parts({one.id: one for one in self._files(owner)}, then.current)
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
        damage = next((one.note for one in stages if one.stage == "index" and one.failed), None)
        if files:
            return FoundFiles(tuple(files), "ok", scope, damage, stages, unknown, then.trimmed)
        if damage:
            return FoundFiles((), "unavailable", scope, f"{damage}. This says nothing about the files", stages)
        return replace(self._empty(owner, scope, unknown), stages=stages, trimmed=then.trimmed)

    def _hits(
        self, owner: Owner, asked: Question, parts: Sequence[tuple[str, Where]], limit: int
    ) -> tuple[list[Hit], tuple[Stage, ...]]:
        """The best passages of all parts. Scores are on one scale, so they can be sorted together."""
        hits: list[Hit] = []
        stages: tuple[Stage, ...] = ()
        for collection, where in parts:
            ranking = self._search.find(owner, collection, asked, limit=limit, room=SHOWN, where=where, each=EACH)
            hits, stages = [*hits, *ranking.hits], (*stages, *ranking.stages)
        if len(parts) > 1:
            hits.sort(key=lambda one: (LEVELS.index(one.match), -one.score))
        return hits, stages

    def _empty(self, owner: Owner, scope: FileScope, unknown: tuple[str, ...]) -> FoundFiles:
        files = [one for one in self._files(owner) if not scope.ids or one.id in scope.ids]
        if unknown and not files:
            which = ", ".join(map(repr, unknown[:3]))
            reason = f"There is no file {which}. Use ids that search_memory or get_memorylake_metadata gave"
            return FoundFiles((), "empty", scope, reason, unknown=unknown)
        if not files:
            return FoundFiles((), "empty", scope, NO_FILE)
        waiting = [one for one in files if one.newest.status in ("pending", "running")]
        if waiting:
            names = _some(waiting)
            reason = f"Nothing fits among what was read, and not all is read: {names}. Ask again after ingestion_status"
            return FoundFiles((), "indexing", scope, f"{reason} says okay", unknown=unknown)
        if scope == FileScope():
            return FoundFiles((), "empty", scope, f"No file is about it. {OTHER_WORDS}")
        reason = f"No file in this scope is about it. Search without conditions. {OTHER_WORDS}"
        return FoundFiles((), "empty", scope, reason, unknown=unknown)


def _words_in_name(file: StoredFile, asked: Question) -> int:
    """The number of words of the file's name that are asked for; 0 if they are few of them."""
    stem = file.name.rpartition(".")[0] or file.name
    words = {*query_words(NOT_IN_A_NAME.sub(" ", stem))}
    shared = len(words.intersection(asked.words))
    return shared if shared >= min(2, (len(words) + 1) // 2) else 0


def _some(files: Sequence[StoredFile]) -> str:
    names = ", ".join(one.full_path for one in files[:MOST_NAMED])
    return names + (f" and {len(files) - MOST_NAMED} more" if len(files) > MOST_NAMED else "")


def _passage(hit: Hit, asked: Question) -> FoundPassage:
    chunk = hit.chunk
    part = excerpt_of(chunk, place_of(chunk), asked.with_forms(asked.words), SHOWN)
    heading = chunk.heading[1:]
    return FoundPassage(chunk.id, part.text, part.where, part.columns, heading, hit.match, hit.score, hit.why)


@dataclass(frozen=True, slots=True)
class PassageExcerpt:
    """The words that are shown, and where they stand."""

    text: str
    where: Locator
    columns: str | None = None
    """The header of the table, if the text has only rows below it."""


def excerpt_of(chunk: Chunk, where: Locator, words: Collection[str], room: int) -> PassageExcerpt:
    """Cut out at most `room` characters of the passage, where most of the words are."""
    rows = _rows(chunk.text, where)
    if rows is not None:
        return rows.excerpt(words, room)
    where = replace(where, rows=None)
    begin, end = span(chunk.text, words, room, centred=True)
    if where.lines is not None:
        first = where.lines[0] + chunk.text.count("\n", 0, begin)
        where = replace(where, lines=(first, first + chunk.text.count("\n", begin, end)))
    return PassageExcerpt(cut_out(chunk.text, begin, end), where)


@dataclass(frozen=True, slots=True)
class _Rows:
    """Rows of a sheet, one a line, with the numbers of those rows and the place of the first column."""

    header: str | None
    lines: Sequence[str]
    numbers: Sequence[tuple[int, int]]
    """The first and the last row of each line: only a header may have several."""
    where: Locator
    left: int
    right: int

    def excerpt(self, words: Collection[str], room: int) -> PassageExcerpt:
        above = int(self.header is not None and self.lines[0] == self.header)
        first, end = _best(self.lines, words, room, fewest=FEWEST_ROWS, above=above)
        text = "\n".join(self.lines[first:end])
        left, right, header = self.left, self.right, self.header
        if len(text) > room:  # one row, and too long
            cells = text.split(BETWEEN)
            if len(cells) == right - left + 1:
                begin, stop = _best(cells, words, room - len(BETWEEN), between=len(BETWEEN))
                text = BETWEEN.join(cells[begin:stop])
                left, right = left + begin, left + stop - 1
                header = _columns(header, begin, stop, len(cells))
            text = snippet(text, words, room)
        if self.header is not None and first == 0 and self.lines[0] == self.header:
            header = None
        cells = cell_range(self.numbers[first][0], self.numbers[end - 1][1], left, right)
        return PassageExcerpt(text, replace(self.where, cells=cells, rows=None), header and _cut(header))


def _rows(text: str, where: Locator) -> _Rows | None:
    """The rows of the passage; None if its lines are not rows."""
    if where.cells is None or where.rows is None:
        return None
    lines = text.split("\n")
    top, _, left, right = cells_in(where.cells)
    numbers = [(row, row) for row in where.rows]
    above = len(lines) - len(numbers)
    if above not in (0, 1) or not lines:
        return None
    header = lines[0] if above else None
    if numbers and top < numbers[0][0] and above:  # the header's rows are right above
        return _Rows(header, lines, [(top, numbers[0][0] - 1), *numbers], where, left, right)
    return _Rows(header, lines[above:], numbers, where, left, right) if numbers else None


def _best(
    lines: Sequence[str], words: Collection[str], room: int, between: int = 1, fewest: int | None = None, above: int = 0
) -> tuple[int, int]:
    """The first and the end of neighbours that fit and have most of the words; a word of few lines counts more.

    Worse ones at the edges that add no word are left out, down to the `fewest`: they would take the room of other
    passages. Those `above` are a header, whose words say nothing of a line below it.
    """
    language = language_of("\n".join(lines))
    having = [set(index_words(line, language)).intersection(words) for line in lines]
    counts = {word: sum(word in one for one in having) for word in words}
    weights = {word: math.log(1 + len(lines) / count) for word, count in counts.items() if count}
    best, score = (0, 1), -1.0
    for first in range(len(lines)):
        end, used = first, -between
        found: set[str] = set()
        while end < len(lines) and (end == first or used + between + len(lines[end]) <= room):
            used += between + len(lines[end])
            found |= having[end]
            end += 1
        value = sum(weights[word] for word in found)
        if value > score:
            best, score = (first, end), value
    first, end = best
    found = set[str]().union(*having[first:end])
    values = [0.0 if at < above else sum(weights[word] for word in one) for at, one in enumerate(having)]
    most = max(values[first:end])
    while fewest and end - first > fewest:
        if values[end - 1] < most and found == set[str]().union(*having[first : end - 1]):
            end -= 1
        elif values[first] < most and found == set[str]().union(*having[first + 1 : end]):
            first += 1
        else:
            break
    return first, end


def _columns(header: str | None, begin: int, stop: int, count: int) -> str | None:
    names = (header or "").split(BETWEEN)
    return BETWEEN.join(names[begin:stop]) if len(names) == count else header


def _cut(header: str) -> str:
    return header if len(header) <= LONGEST_COLUMNS else header[: LONGEST_COLUMNS - 1] + ELLIPSIS
