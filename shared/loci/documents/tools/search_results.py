"""The answers of the tools that search: the best passages whole and filled up, then a line of each document."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from mcp_types import CallToolResult, TextContent
from pydantic import BaseModel

from loci.documents.api import TaggedDocument
from loci.documents.finding import FoundDocuments
from loci.documents.tools.result_views import (
    Metadata,
    PassageView,
    SearchResult,
    SearchResults,
    beginning,
    excerpt,
    further_passage,
    heading_of,
    json_size,
    lines_of,
    result_of,
)
from loci.documents.unknown_names import EMPTY_LIBRARY
from loci.markdown.tags_and_dates import with_ancestors
from loci.mcp.answer_budget import ShortenedResult
from loci.mcp.tool import BUDGET, as_text
from loci.search.filling import FILLED_UP, filled
from loci.search.ranking import Chunk, Explanation, Hit, Ranking
from loci.search.search import words_in
from loci.search.snippet import snippet
from loci.search.words import query_words

ROOM = 8 * 1024
"""Bytes of an answer, whatever the limit, so that it need not be read in two."""
ROOM_EXPLAINED = BUDGET
"""The same of one with explanations, which are for people."""
FOR_POINTER = 320
"""Bytes for what is added to an answer that is kept: the id of the whole, or why it could not be kept."""
FOR_PASSAGES = 2048
"""Bytes that whole passages have before there is a line for everything."""
PASSAGE = 1000
"""The most of a passage, in characters and in bytes: the embedder reads as much. If tables are cut to 600, 81 % of the
rows that answer are shown; whole, 95 %."""
FILLED_BYTES = 900
"""The most of what is filled up: in Chinese that is as much text as the characters that it has in English."""
LINE = 80
"""Bytes of the passage of a later result."""
SHORTEST = 160
"""Bytes. If there is less room, no further passage is begun."""
LONGER_LINES = 8
"""Bytes, by which the lines of a passage get longer if it is filled up."""
NAME_OF_THE_LIST = len('"passages":[],')
LONGEST_SAID = 1000
"""Bytes of a question that are said again."""
LONGEST_REASON, LONGEST_REMARK, LONGEST_NOTE = 3000, 800, 300
"""Bytes of the reason why nothing is found, of what a language model says of the question, and of a stage's note."""
BY_TAGS = Explanation(None, None, 1, None, None, None, None, None, None)


def search_results(found: FoundDocuments, query: str, *, explain: bool, undated: int | None = None) -> CallToolResult:
    """The answer to the query. If something had to be cut, it brings all of it to be kept."""
    return _tool_result(found, _metadata(found.ranking, query, explain, undated), explain=explain)


def shown_results(found: FoundDocuments, query: str, *, explain: bool, room: int | None = None) -> SearchResults:
    """The answer to the query, as the tool gives it, or with this room."""
    return _shown(found, _metadata(found.ranking, query, explain, None), room, explain=explain)[0]


def tagged_results(wanted: Sequence[str], found: Sequence[TaggedDocument], *, is_empty: bool) -> CallToolResult:
    """The documents as results, each with its beginning."""
    hits = [_tagged(one, wanted) for one in found]
    documents = {one.document.id: one.document for one in found}
    reason = None if hits else EMPTY_LIBRARY if is_empty else "No document has these tags"
    metadata = Metadata(query=beginning(", ".join(wanted), LONGEST_SAID), sonar_enabled=False, reason=reason)
    return _tool_result(FoundDocuments(Ranking("", tuple(hits), (), reason), documents), metadata, explain=False)


def _tool_result(found: FoundDocuments, metadata: Metadata, *, explain: bool) -> CallToolResult:
    shown, rows = _shown(found, metadata, None, explain=explain)
    structured = shown.model_dump(mode="json", exclude_none=not explain)
    content = [TextContent(type="text", text=as_text(structured))]
    if not rows:
        return CallToolResult(content=[*content], structured_content=structured)
    for row in rows:
        row.passages = [further_passage(one.chunk) for one in found.further.get(row.id, ())] or None
    whole = SearchResults(results=rows, metadata=metadata).model_dump_json(exclude_none=not explain)
    return ShortenedResult(content=[*content], structured_content=structured, whole=whole)


def _shown(
    found: FoundDocuments, metadata: Metadata, room: int | None, *, explain: bool
) -> tuple[SearchResults, list[SearchResult]]:
    """As much of what was found as there is room for; and if that is not all, every row with its whole best passage."""
    hits = found.ranking.hits
    rows = [result_of(hit, found, explain=explain) for hit in hits]
    empty = SearchResults(results=[], metadata=metadata.model_copy(update={"left_out": len(rows)}))
    given = _AnswerRoom(
        (room or (ROOM_EXPLAINED if explain else ROOM))
        - FOR_POINTER
        - json_size(empty.model_dump(mode="json", exclude_none=not explain)),
        query_words(found.ranking.query),
        found.around,
        with_nulls=explain,
    )
    given.put([row.model_copy() for row in rows])
    given.show(found.best_first())
    left_out = len(rows) - len(given.rows) or None
    is_whole = not left_out and all(hit.context is None and hit.chunk.id in given.whole for hit in hits)
    metadata = metadata.model_copy(update={"left_out": left_out})
    return SearchResults(results=list(given.rows.values()), metadata=metadata), [] if is_whole else rows


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
    return Hit(chunk, share, "tags", snippet(chunk.text, (), PASSAGE), BY_TAGS)


@dataclass(slots=True)
class _AnswerRoom:
    """The room of an answer, given out by rank: what is left of it, and what has been put into it."""

    left: int
    words: Sequence[str]
    """Those of the question: a passage that must be cut is cut to them."""
    around: Mapping[str, Chunk]
    """Passages beside the best ones, by id."""
    with_nulls: bool
    """True if the answer explains itself: then it has every field, and its rows take all the room."""
    rows: dict[str, SearchResult] = field(default_factory=dict[str, SearchResult])
    whole: set[str] = field(default_factory=set[str])
    """Ids of the passages that are shown whole."""

    def put(self, rows: Sequence[SearchResult]) -> None:
        """Put in a line of each document, or what a model quoted of it, as long as there is room for passages, too."""
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
        """Show these passages whole, as far as there is room, and of the others the line that fits. Best first."""
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
                row.snippet = excerpt(hit.snippet, words_in(self.words, hit.chunk), LINE, json_size(row.snippet))

    def _show_best(self, row: SearchResult, hit: Hit) -> bool:
        heading = heading_of(hit.chunk)
        room = self.left + json_size(row.snippet)
        if heading and not row.heading:
            room -= json_size({"heading": heading})
        view = self._view(hit, room)
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
        view = self._view(hit, room)
        if view is None:
            return False
        self.left = room - json_size(view.text)
        view.heading = bare.heading
        row.passages = [*(row.passages or ()), view]
        return True

    def _view(self, hit: Hit, room: int) -> PassageView | None:
        """The passage, filled up; or the part of it that fits; None if there is too little room even for that."""
        most = min(PASSAGE, room - LONGER_LINES)

        def fits(text: str) -> bool:
            return len(text) <= FILLED_UP and json_size(text) <= min(FILLED_BYTES, most)

        if json_size(hit.chunk.text.strip()) <= most:
            shown = filled(hit.chunk, self.around, fits, self.whole)
            self.whole.update(one.id for one in shown.chunks)
            return PassageView(text=shown.text, lines=shown.lines)
        if most < SHORTEST:
            return None
        return PassageView(text=excerpt(hit.snippet, self.words, PASSAGE, most), lines=lines_of(hit.chunk))

    def _size(self, view: BaseModel) -> int:
        return len(view.model_dump_json(exclude_none=not self.with_nulls).encode())
