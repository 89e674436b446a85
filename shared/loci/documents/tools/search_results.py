"""The answers of the tools that search: the best passages whole and filled up, then a line of each document."""

import json
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any

from mcp_types import CallToolResult, TextContent
from pydantic import BaseModel, Field

from loci.documents.api import FILLED_UP, FoundDocuments, TaggedDocument
from loci.documents.unknown_names import EMPTY_LIBRARY
from loci.markdown.nouns import DateSource, DocumentDate
from loci.markdown.tags import with_ancestors
from loci.mcp.answers import ShortenedResult, as_text
from loci.mcp.tool import BUDGET
from loci.search.ranking import Chunk, Explanation, Hit, Ranking, Stage
from loci.search.scoring import words_in
from loci.search.snippet import ELLIPSIS, snippet

_JSON = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"))
ROOM = 8 * 1024
"""Bytes of an answer, whatever the limit, so that it need not be read in two."""
ROOM_EXPLAINED = BUDGET
"""Bytes of an answer with explanations, which are for people."""
FOR_POINTER = 320
"""Bytes for the pointer in an answer whose whole is kept: the id of the whole, or why it could not be kept."""
FOR_PASSAGES = 2048
"""Bytes that whole passages have before there is a line for everything."""
PASSAGE = 1000
"""The most of a passage, in characters and in bytes: the embedder reads as much. If tables are cut to 600, 81 % of the
rows that answer are shown; whole, 95 %."""
FILLED_BYTES = 900
"""The most bytes of a passage with its neighbours: in Chinese as much text as `FILLED_UP` characters in English."""
LINE = 80
"""Bytes of the passage of a later result."""
SHORTEST = 160
"""Bytes. No passage is shown in less room."""
LONGER_LINES = 8
"""Bytes by which `lines` gets longer if a passage is filled up."""
NAME_OF_THE_LIST = len('"passages":[],')
LONGEST_SAID = 1000
"""Bytes of a question that the answer repeats."""
LONGEST_REASON, LONGEST_REMARK, LONGEST_NOTE = 3000, 800, 300
"""Bytes of the reason for an empty answer, of a language model's remark on the question, and of a stage's note."""
BY_TAGS = Explanation(None, None, 1, None, None, None, None, None, None)
FEWEST = 8
"""Characters. A shorter part of a text says nothing."""

LONGEST_TITLE, LONGEST_HEADINGS, LONGEST_PATH = 160, 200, 400
"""Bytes as JSON. Of longer headings and paths the end is shown; `id` names the document all the same."""
LONGEST_CONTEXT, LONGEST_QUOTATION = 600, 1000
"""Bytes of a language model's remark on a passage, and of its quotation."""
WIDEST_GAP = 3
"""Lines from the end of a passage to the next. If there are more, a text that is in neither stands between them."""

Fits = Callable[[str], bool]
"""True if there is room for this text."""


class PassageView(BaseModel):
    text: str
    lines: str
    heading: str | None = None


class SearchResult(BaseModel):
    id: str = Field(description="for read_node_content")
    score: float = Field(description="0 to 1: how well it fits; the scale is the same for every query")
    preview: str = Field(description="the document's title")
    source: str = Field(description="what ranked it: bm25, vector, hybrid, or vector+rerank")
    snippet: str = Field(description="the passage that fits best, word for word; in later results a line of it")
    context: str | None = Field(default=None, description="why it fits, if a language model is configured")
    path: str
    heading: str | None = Field(default=None, description="the headings above the passage, if not just the title")
    lines: str = Field(description="the lines of the passage, such as 10-20")
    date: str | None = Field(default=None, description="YYYY-MM-DD")
    date_from: DateSource | None = Field(default=None, description="what says the date; file: only its last change")
    passages: list[PassageView] | None = Field(
        default=None, description="further passages of it that fit about as well"
    )
    explain: Explanation | None = None


class Metadata(BaseModel):
    query: str
    sonar_enabled: bool = Field(description="whether a language model read the results")
    intent: str | None = None
    analysis: str | None = None
    stages: list[Stage] | None = Field(default=None, description="those that failed; all with explain")
    reason: str | None = Field(default=None, description="why there are no results")
    undated: int | None = Field(
        default=None,
        description="of a search in a time: how many of all documents have no date but that of their last change",
    )
    left_out: int | None = Field(default=None, description="results for which there was no room here")


class SearchResults(BaseModel):
    results: list[SearchResult]
    metadata: Metadata


def search_results(found: FoundDocuments, query: str, *, explain: bool, undated: int | None = None) -> CallToolResult:
    """The answer to the query. If something had to be cut, it has the whole answer, too, to be kept."""
    return _tool_result(found, _metadata(found.ranking, query, explain, undated), explain=explain)


def render_results(found: FoundDocuments, query: str, *, explain: bool, room: int | None = None) -> SearchResults:
    """The answer to the query, as the tool gives it, or in this many bytes."""
    return _fit_results(found, _metadata(found.ranking, query, explain, None), room, explain=explain)[0]


def tagged_results(wanted: Sequence[str], found: Sequence[TaggedDocument], *, is_empty: bool) -> CallToolResult:
    """The documents as results, each with its beginning."""
    hits = [_tagged(one, wanted) for one in found]
    documents = {one.document.id: one.document for one in found}
    reason = None if hits else EMPTY_LIBRARY if is_empty else "No document has these tags"
    metadata = Metadata(query=beginning(", ".join(wanted), LONGEST_SAID), sonar_enabled=False, reason=reason)
    found_documents = FoundDocuments(Ranking((), tuple(hits), (), reason), documents, tuple(hits))
    return _tool_result(found_documents, metadata, explain=False)


def _tool_result(found: FoundDocuments, metadata: Metadata, *, explain: bool) -> CallToolResult:
    shown, rows = _fit_results(found, metadata, None, explain=explain)
    structured = shown.model_dump(mode="json", exclude_none=not explain)
    content = [TextContent(type="text", text=as_text(structured))]
    if not rows:
        return CallToolResult(content=[*content], structured_content=structured)
    for row in rows:
        own = [one.chunk for one in found.passages if one.chunk.document == row.id]
        row.passages = [further_passage(one) for one in own[1:]] or None
    whole = SearchResults(results=rows, metadata=metadata).model_dump_json(exclude_none=not explain)
    return ShortenedResult(content=[*content], structured_content=structured, whole=whole)


def _fit_results(
    found: FoundDocuments, metadata: Metadata, room: int | None, *, explain: bool
) -> tuple[SearchResults, list[SearchResult]]:
    """The results for which there is room; and if those are not all, every row with its whole best passage."""
    hits = found.ranking.hits
    dates = {id: document.dated for id, document in found.documents.items()}
    words = found.ranking.words
    rows = [result_of(hit, words, dates.get(hit.chunk.document), explain=explain) for hit in hits]
    empty = SearchResults(results=[], metadata=metadata.model_copy(update={"left_out": len(rows)}))
    answer = _AnswerRoom(
        (room or (ROOM_EXPLAINED if explain else ROOM))
        - FOR_POINTER
        - json_size(empty.model_dump(mode="json", exclude_none=not explain)),
        words,
        found.around,
        with_nulls=explain,
    )
    answer.put([row.model_copy() for row in rows])
    answer.show(found.passages)
    left_out = len(rows) - len(answer.rows) or None
    is_whole = not left_out and all(hit.context is None and hit.chunk.id in answer.whole for hit in hits)
    metadata = metadata.model_copy(update={"left_out": left_out})
    return SearchResults(results=list(answer.rows.values()), metadata=metadata), [] if is_whole else rows


def _metadata(ranking: Ranking, query: str, explain: bool, undated: int | None) -> Metadata:
    stages = [replace(one, note=beginning(one.note, LONGEST_NOTE)) for one in ranking.stages if explain or one.failed]
    return Metadata(
        query=beginning(query, LONGEST_SAID),
        sonar_enabled=any(one.stage == "language_model" and one.ran for one in ranking.stages),
        intent=_short(ranking.intent, LONGEST_REMARK),
        analysis=_short(ranking.analysis, LONGEST_REMARK),
        stages=stages or None,
        reason=_short(ranking.reason, LONGEST_REASON),
        undated=undated,
    )


def _short(text: str | None, most: int) -> str | None:
    return None if text is None else beginning(text, most)


def _tagged(found: TaggedDocument, wanted: Sequence[str]) -> Hit:
    document = found.document
    nothing = Chunk(f"{document.id}#0", document.id, document.path, document.title, (), 0, 0, "", "", "")
    chunk = found.beginning or nothing
    share = round(len(set(wanted) & set(with_ancestors(document.tags))) / len(wanted), 4)
    return Hit(chunk, share, "tags", chunk.text, BY_TAGS)


@dataclass(slots=True)
class _AnswerRoom:
    """The room of an answer, given out by rank: the bytes that are left, and the rows that were put in."""

    left: int
    words: Sequence[str]
    """The words of the question: a passage that is too long is cut to the part that has most of them."""
    around: Mapping[str, Chunk]
    """Passages beside the best ones, by id."""
    with_nulls: bool
    """True if the answer has explanations: then it has every field, and its rows may take all the room."""
    rows: dict[str, SearchResult] = field(default_factory=dict[str, SearchResult])
    whole: set[str] = field(default_factory=set[str])
    """Ids of the passages that are shown whole."""

    def put(self, rows: Sequence[SearchResult]) -> None:
        """Put in a line of each document, or a model's quotation, as long as there is room for passages, too."""
        for row in rows:
            if row.context is None:
                row.snippet = beginning(row.snippet, LINE)
                if not self.with_nulls:
                    row.heading = None  # `lines` leads to it
            cost = self._size(row) + 1
            if cost > self.left - (FOR_PASSAGES if self.rows and not self.with_nulls else 0):
                break
            self.left -= cost
            self.rows[row.id] = row

    def show(self, passages: Sequence[Hit]) -> None:
        """Show these passages whole, best first, as long as there is room, and the best line of the others."""
        begun = {id for id, row in self.rows.items() if row.context is not None}
        for hit in passages:
            row = self.rows.get(hit.chunk.document)
            if row is None or hit.chunk.id in self.whole:
                continue
            if not (self._show_further(row, hit) if row.id in begun else self._show_best(row, hit)):
                break
            begun.add(row.id)
        for hit in passages:
            row = self.rows.get(hit.chunk.document)
            if row is not None and row.id not in begun:
                begun.add(row.id)
                # Only the words that it has: it takes time to look for each.
                words = words_in(self.words, hit.chunk)
                row.snippet = excerpt(self._best_part(hit), words, LINE, json_size(row.snippet))

    def _show_best(self, row: SearchResult, hit: Hit) -> bool:
        heading = heading_of(hit.chunk)
        room = self.left + json_size(row.snippet)
        if heading and not row.heading:
            room -= json_size({"heading": heading})
        view = self._view(hit, room, is_best=True)
        if view is None:
            return False
        self.left = room - json_size(view.text)
        row.snippet, row.lines, row.heading = view.text, view.lines, heading
        return True

    def _show_further(self, row: SearchResult, hit: Hit) -> bool:
        bare = further_passage(hit.chunk).model_copy(update={"text": ""})
        if bare.heading == row.heading:
            bare.heading = None
        room = self.left - self._size(bare) - 1 - (0 if row.passages else NAME_OF_THE_LIST)
        view = self._view(hit, room, is_best=False)
        if view is None:
            return False
        self.left = room - json_size(view.text)
        view.heading = bare.heading
        row.passages = [*(row.passages or ()), view]
        return True

    def _view(self, hit: Hit, room: int, *, is_best: bool) -> PassageView | None:
        """The passage, filled up, or the part of it that fits; None if there is too little room."""
        most = min(PASSAGE, room - LONGER_LINES)

        def fits(text: str) -> bool:
            return len(text) <= FILLED_UP and json_size(text) <= min(FILLED_BYTES, most)

        if json_size(hit.chunk.text.strip()) <= most:
            shown = filled(hit.chunk, self.around, fits, self.whole)
            self.whole.update(one.id for one in shown.chunks)
            return PassageView(text=shown.text, lines=shown.lines)
        if most < SHORTEST:
            return None
        text = self._best_part(hit) if is_best else hit.snippet
        return PassageView(text=excerpt(text, self.words, PASSAGE, most), lines=lines_of(hit.chunk))

    def _best_part(self, hit: Hit) -> str:
        return snippet(hit.snippet, self.words, PASSAGE)

    def _size(self, view: BaseModel) -> int:
        return len(view.model_dump_json(exclude_none=not self.with_nulls).encode())


@dataclass(frozen=True, slots=True)
class Filled:
    """Neighbouring passages of a document, as they stand in it."""

    chunks: tuple[Chunk, ...]

    @property
    def text(self) -> str:
        parts = [self.chunks[0].text.strip()]
        for one, other in pairwise(self.chunks):
            parts += ["\n" * (other.first_line - one.last_line), other.text.strip()]
        return "".join(parts)

    @property
    def lines(self) -> str:
        """The lines in the document, such as 10-20."""
        return f"{self.chunks[0].first_line}-{self.chunks[-1].last_line}"


def filled(chunk: Chunk, around: Mapping[str, Chunk], fits: Fits, without: Collection[str] = ()) -> Filled:
    """The passage with as many of its neighbours as fit, from both sides in turns. The one after it comes first.

    The neighbours have the same headings. Passages in `without` are not taken: they are shown elsewhere.
    """
    found = Filled((chunk,))
    sides = [1, -1]
    while sides:
        side = sides.pop(0)
        longer = _longer(found, side, around, without)
        if longer is not None and fits(longer.text):
            found = longer
            sides.append(side)
    return found


def _longer(found: Filled, side: int, around: Mapping[str, Chunk], without: Collection[str]) -> Filled | None:
    """The passages with the next one on this side, if that one can be joined to them."""
    last = found.chunks[-1 if side > 0 else 0]
    document, _, number = last.id.rpartition("#")
    other = around.get(f"{document}#{int(number) + side}")
    if other is None or other.id in without or other.heading != last.heading:
        return None
    chunks = (*found.chunks, other) if side > 0 else (other, *found.chunks)
    upper, lower = chunks[-2:] if side > 0 else chunks[:2]
    return Filled(chunks) if 1 <= lower.first_line - upper.last_line <= WIDEST_GAP else None


def result_of(hit: Hit, words: Sequence[str], dated: DocumentDate | None, *, explain: bool) -> SearchResult:
    """The result, with the whole of its best passage, or with the part of it that a language model quotes."""
    text = hit.chunk.text.strip()
    if hit.context is not None:
        text = beginning(snippet(hit.snippet, words, PASSAGE), LONGEST_QUOTATION)
    return SearchResult(
        id=hit.chunk.document,
        score=hit.score,
        preview=beginning(hit.chunk.title, LONGEST_TITLE),
        source=hit.source,
        snippet=text,
        context=hit.context and beginning(hit.context, LONGEST_CONTEXT),
        path=ending(hit.chunk.path, LONGEST_PATH),
        heading=heading_of(hit.chunk),
        lines=lines_of(hit.chunk),
        date=dated and dated.day,
        date_from=dated and dated.source,
        explain=hit.why if explain else None,
    )


def further_passage(chunk: Chunk) -> PassageView:
    """A further passage of a document, whole."""
    return PassageView(text=chunk.text.strip(), lines=lines_of(chunk), heading=heading_of(chunk))


def heading_of(chunk: Chunk) -> str | None:
    """The headings above the passage; None if that is only the title, which the result has already."""
    return None if chunk.heading in ((), (chunk.title,)) else ending(" > ".join(chunk.heading), LONGEST_HEADINGS)


def lines_of(chunk: Chunk) -> str:
    return f"{chunk.first_line}-{chunk.last_line}"


def noted_list(values: Sequence[BaseModel | str], note: str | None) -> CallToolResult:
    """The list; the note is a second block of text."""
    plain = [one if isinstance(one, str) else one.model_dump(mode="json") for one in values]
    content = [TextContent(type="text", text=text) for text in (as_text(plain), note) if text]
    return CallToolResult(content=[*content], structured_content={"result": plain})


def json_size(value: Any) -> int:
    """Bytes as JSON; of a text without its quotation marks."""
    written = len(_JSON.encode(value).encode("utf-8", "replace"))
    return written - 2 if isinstance(value, str) else written


def beginning(text: str, most: int) -> str:
    """The beginning of the text, in at most `most` bytes."""
    return _longest(text, most, lambda count: text[:count] + ELLIPSIS)


def ending(text: str, most: int) -> str:
    """The end of the text, in at most `most` bytes."""
    return _longest(text, most, lambda count: ELLIPSIS + text[len(text) - count :])


def excerpt(text: str, words: Collection[str], room: int, most: int) -> str:
    """The part of the text with most of the words, in at most `room` characters and `most` bytes."""
    room = min(len(text), room, len(text) * most // max(1, json_size(text)))
    return "" if room < FEWEST else beginning(snippet(text, words, room), most)


def _longest(text: str, most: int, cut: Callable[[int], str]) -> str:
    if json_size(text) <= most:
        return text
    low, high = 0, min(len(text), most)
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if json_size(cut(middle)) <= most else (low, middle - 1)
    return cut(low)
