"""The answers of the tools that search: the best passages in `ROOM`, and the whole of them to be kept."""

import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace

from mcp_types import CallToolResult, TextContent

from loci.documents.api import TaggedDocument
from loci.documents.content.tags_and_dates import with_ancestors
from loci.documents.finding import FoundDocuments
from loci.documents.tools.answer_room import FOR_PASSAGES, FOR_POINTER, PASSAGE, ROOM, ROOM_EXPLAINED, AnswerRoom
from loci.documents.tools.json_size import beginning, json_size
from loci.documents.tools.result_views import Metadata, SearchResult, SearchResults, further_passage, result_of
from loci.documents.unknown_names import EMPTY_LIBRARY
from loci.mcp.answer_budget import ShortenedResult
from loci.mcp.tool import as_text
from loci.search.ranking import Chunk, Explanation, Hit, Ranking
from loci.search.snippet import snippet
from loci.search.words import query_words

LONGEST_SAID = 1000
"""Bytes of a question that are said again."""
LONGEST_REASON, LONGEST_REMARK, LONGEST_NOTE = 3000, 800, 300
"""Bytes of the reason why nothing is found, of what a language model says of the question, and of a stage's note."""
BY_TAGS = Explanation(None, None, 1, None, None, None, None, None, None)


@dataclass(frozen=True, slots=True)
class _Answer:
    """An answer in its room, and all that was found."""

    shown: SearchResults
    whole: SearchResults
    with_nulls: bool
    is_whole: bool
    """True if all that was found is shown."""

    def result(self) -> CallToolResult:
        structured = self.structured()
        content = [TextContent(type="text", text=as_text(structured))]
        if self.is_whole:
            return CallToolResult(content=[*content], structured_content=structured)
        kept = self.whole.model_dump_json(exclude_none=not self.with_nulls)
        return ShortenedResult(content=[*content], structured_content=structured, whole=kept)

    def structured(self) -> dict[str, object]:
        return self.shown.model_dump(mode="json", exclude_none=not self.with_nulls)


def search_results(found: FoundDocuments, query: str, *, explain: bool, undated: int | None = None) -> CallToolResult:
    """The answer to the query. If something had to be cut, it brings all of it to be kept."""
    room = ROOM_EXPLAINED if explain else ROOM
    return _answer(found, _metadata(found.ranking, query, explain, undated), room, explain=explain).result()


def results_json(found: FoundDocuments, query: str, *, explain: bool) -> dict[str, object]:
    """The answer to the query, as the tool gives it."""
    room = ROOM_EXPLAINED if explain else ROOM
    return _answer(found, _metadata(found.ranking, query, explain, None), room, explain=explain).structured()


def all_results(found: FoundDocuments, query: str, *, explain: bool) -> SearchResults:
    """The answer to the query as the tool would give it if it had room for everything."""
    return _answer(found, _metadata(found.ranking, query, explain, None), sys.maxsize, explain=explain).shown


def tagged_results(wanted: Sequence[str], found: Sequence[TaggedDocument], *, is_empty: bool) -> CallToolResult:
    """The documents as results, each with its beginning."""
    hits = [_tagged(one, wanted) for one in found]
    documents = {one.document.id: one.document for one in found}
    reason = None if hits else EMPTY_LIBRARY if is_empty else "No document has these tags"
    metadata = Metadata(query=_said(", ".join(wanted)), sonar_enabled=False, reason=reason)
    ranking = Ranking("", tuple(hits), (), reason)
    return _answer(FoundDocuments(ranking, documents), metadata, ROOM, explain=False).result()


def _answer(found: FoundDocuments, metadata: Metadata, room: int, *, explain: bool) -> _Answer:
    hits = found.ranking.hits
    rows = [result_of(hit, found.documents.get(hit.chunk.document), explain=explain) for hit in hits]
    whole = SearchResults(results=[_with_further(row, found) for row in rows], metadata=metadata)
    empty = SearchResults(results=[], metadata=metadata.model_copy(update={"left_out": len(rows)}))
    given = AnswerRoom(
        room - FOR_POINTER - json_size(empty.model_dump(mode="json", exclude_none=not explain)),
        query_words(found.ranking.query),
        found.around,
        with_nulls=explain,
    )
    given.put([row.model_copy() for row in rows], 0 if explain else FOR_PASSAGES)
    given.show(found.best_first())
    shown = list(given.rows.values())
    left_out = len(rows) - len(shown) or None
    return _Answer(
        SearchResults(results=shown, metadata=metadata.model_copy(update={"left_out": left_out})),
        whole,
        with_nulls=explain,
        is_whole=left_out is None and all(hit.context is None and given.is_whole(hit) for hit in hits),
    )


def _with_further(row: SearchResult, found: FoundDocuments) -> SearchResult:
    further = [further_passage(one.chunk) for one in found.further.get(row.id, ())]
    return row.model_copy(update={"passages": further}) if further else row


def _metadata(ranking: Ranking, query: str, explain: bool, undated: int | None) -> Metadata:
    stages = [replace(one, note=beginning(one.note, LONGEST_NOTE)) for one in ranking.stages if explain or one.failed]
    return Metadata(
        query=_said(query),
        sonar_enabled=any(one.stage == "language_model" and one.ran for one in ranking.stages),
        intent=_short(ranking.intent, LONGEST_REMARK),
        analysis=_short(ranking.analysis, LONGEST_REMARK),
        stages=stages or None,
        reason=_short(ranking.reason, LONGEST_REASON),
        undated=undated,
    )


def _short(text: str | None, most: int) -> str | None:
    return None if text is None else beginning(text, most)


def _said(query: str) -> str:
    return beginning(query, LONGEST_SAID)


def _tagged(found: TaggedDocument, wanted: Sequence[str]) -> Hit:
    document = found.document
    nothing = Chunk(f"{document.id}#0", document.id, document.path, document.title, (), 0, 0, "", "", "")
    chunk = found.beginning or nothing
    share = round(len(set(wanted) & set(with_ancestors(document.tags))) / len(wanted), 4)
    return Hit(chunk, share, "tags", snippet(chunk.text, (), PASSAGE), BY_TAGS)
