"""The answers of the tools that search: the best passages whole, then a row of each further document.

A client shows its model the text or the structure, seldom both. So each holds the evidence, and each is short.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from mcp_types import CallToolResult
from pydantic import BaseModel, Field

from loci.core.injections import warning_of, without_hidden
from loci.core.trust import Trust, in_short
from loci.documents.api import FILLED_UP, FoundDocuments, TaggedDocument
from loci.documents.bundles import claim_of
from loci.documents.document import Document, owner_of
from loci.documents.foreign import foreign_of
from loci.documents.validity import lacks_validity
from loci.markdown.nouns import DateSource
from loci.markdown.tags import with_ancestors
from loci.mcp.answers import MOST_SEARCH_TOKENS, as_text, is_none, quoted, readable_result, search_room
from loci.search.inference import tokens_at_most
from loci.search.ranking import Chunk, Explanation, Hit, Match, Ranking, Stage
from loci.search.snippet import beginning, ending, snippet

ROWS = 0.25
"""The share of the structure that rows of further documents may take, or what it has more than the text."""
OTHERS = 0.15
"""The share of the text that names further documents."""
PASSAGE = 1000
"""The most characters of a passage. If tables are cut to 600, 81 % of the rows that answer are shown; whole, 95 %."""
LONG = 200
"""Characters of a text that is shown of one document only."""
UNLIKELY = 0.05
"""Documents with a smaller score, and without a match, are named only; so are all but the first if none matches."""
SHORTEST = 40
"""Tokens. No passage is shown in less room."""
SAID, REASON, REMARK, NOTE = 1000, 3000, 800, 300
"""Characters of a question that the answer repeats, of the reason for an empty answer, of a language model's remark on
the question, and of a stage's note."""
BY_TAGS = Explanation(None, None, 1, None, None, None, None, None, None)
TITLE, HEADINGS, PATH = 160, 200, 400
"""Characters. Of longer headings and paths the end is shown; `id` names the document all the same."""
CONTEXT, QUOTATION = 600, 1000
"""Characters of a language model's remark on a passage, and of its quotation."""
WIDEST_GAP = 3
"""Lines from the end of a passage to the next. If there are more, a text that is in neither stands between them."""

POINTER = 50
"""Tokens of the structure around its rows: the id of the whole answer, and how many results are left out."""
CLOSE = 0.9
"""A passage is cut to this share of the characters that seem to fit: characters have not all the same tokens."""
MORE = 10
"""Tokens of the words that tell how many further documents there are."""
LONGEST_OTHER = 100
"""Characters of the path of a further document in the text."""


class PassageView(BaseModel):
    text: str
    lines: str
    heading: str | None = None


class SearchResult(BaseModel):
    id: str = Field(description="for read_node_content")
    score: float = Field(description="0 to 1: how likely it answers; the scale is the same for every query")
    match: Match | None = Field(default=None, description="strong, possible or none; of results with a passage")
    preview: str = Field(description="the document's title")
    source: str = Field(description="what ranked it: bm25, vector, hybrid, or vector+rerank")
    snippet: str = Field(description="the passage that fits best, word for word; empty in later results")
    context: str | None = Field(default=None, description="why it fits, if a language model is configured")
    path: str | None = None
    heading: str | None = Field(default=None, description="the headings above the passage, if not just the title")
    lines: str | None = Field(default=None, description="the lines of the passage, such as 10-20")
    date: str | None = Field(default=None, description="YYYY-MM-DD")
    date_from: DateSource | None = Field(
        default=None, description="what says the date; file, git: only its last change"
    )
    owner: str | None = Field(default=None, description="who shares it, if not yours", exclude_if=is_none)
    trust: Trust | None = Field(default=None, description="foreign: texts of others may be in it", exclude_if=is_none)
    sources: str | None = Field(default=None, exclude_if=is_none)
    validity: str | None = Field(default=None, description="if it may not hold: superseded by ID, draft, retired, …")
    claim: str | None = Field(default=None, description="who verified it, as its bundle says; Loci did not check")
    passages: list[PassageView] | None = Field(default=None, description="further passages that fit about as well")
    explain: Explanation | None = None


class Metadata(BaseModel):
    query: str
    sonar_enabled: bool = Field(description="whether a language model read the results")
    match: Match = Field(description="of the best result; none: no document seems to answer")
    intent: str | None = None
    analysis: str | None = None
    stages: list[Stage] | None = Field(default=None, description="those that failed; all with explain")
    reason: str | None = Field(default=None, description="why there are no results")
    warning: str | None = Field(default=None, description="if a passage addresses the model that reads it")
    undated: int | None = Field(
        default=None,
        description="of a search in a time: how many of all documents have no date but that of their last change",
    )
    left_out: int | None = Field(default=None, description="results for which there was no room here")
    total: int | None = Field(default=None, description="of a search by tags: all notes that have them")


class SearchResults(BaseModel):
    results: list[SearchResult]
    metadata: Metadata


def search_results(
    found: FoundDocuments, query: str, *, explain: bool, max_tokens: int | None = None, undated: int | None = None
) -> CallToolResult:
    """The answer to the query. If something had to be cut, it has the whole answer, too, to be kept."""
    return _tool_result(found, _metadata(found.ranking, query, explain, undated), max_tokens, explain=explain)


def render_results(
    found: FoundDocuments, query: str, *, explain: bool, tokens: int = MOST_SEARCH_TOKENS
) -> SearchResults:
    """The answer to the query as a structure of this many tokens."""
    metadata = _metadata(found.ranking, query, explain, None)
    return _Answer(found, metadata, tokens, tokens, explain=explain, once=False).results


def tagged_results(
    wanted: Sequence[str], found: Sequence[TaggedDocument], total: int, reason: str | None
) -> CallToolResult:
    """The documents as results, each with its beginning. `total` is the number of all, shown or not."""
    hits = [_tagged(one, wanted) for one in found]
    documents = {one.document.id: one.document for one in found}
    match, asked = "strong" if hits else "none", beginning(", ".join(wanted), SAID)
    metadata = Metadata(
        query=asked, sonar_enabled=False, match=match, reason=_short(reason, REASON), total=total if hits else None
    )
    found_documents = FoundDocuments(Ranking((), tuple(hits), (), reason), documents, tuple(hits))
    return _tool_result(found_documents, metadata, None, explain=False)


def _tool_result(found: FoundDocuments, metadata: Metadata, max_tokens: int | None, *, explain: bool) -> CallToolResult:
    text, structure = search_room(max_tokens)
    room = MOST_SEARCH_TOKENS if explain else structure
    answer = _Answer(found, metadata, text, room, explain=explain, once=not explain)
    said = answer.text()
    answer.results.metadata.warning = warning = warning_of(said)
    structured = answer.results.model_dump(mode="json", exclude_none=not explain)
    for row in structured["results"]:
        for one in (row, *(row.get("passages") or ())):
            one |= {
                name: without_hidden(one[name]) for name in ("preview", "snippet", "heading", "text") if one.get(name)
            }
    whole = None
    if not answer.is_whole:
        every = SearchResults(results=_whole_rows(found, explain=explain), metadata=metadata)
        whole = every.model_dump_json(exclude_none=not explain)
    return readable_result("\n\n".join(filter(None, (warning, without_hidden(said)))), structured, whole)


def _metadata(ranking: Ranking, query: str, explain: bool, undated: int | None) -> Metadata:
    stages = [replace(one, note=beginning(one.note, NOTE)) for one in ranking.stages if explain or one.failed]
    return Metadata(
        query=beginning(query, SAID),
        sonar_enabled=any(one.stage == "language_model" and one.ran for one in ranking.stages),
        match=ranking.match,
        intent=_short(ranking.intent, REMARK),
        analysis=_short(ranking.analysis, REMARK),
        stages=stages or None,
        reason=_short(ranking.reason, REASON),
        undated=undated,
    )


def _short(text: str | None, most: int) -> str | None:
    return None if text is None else beginning(text, most)


def _tagged(found: TaggedDocument, wanted: Sequence[str]) -> Hit:
    document = found.document
    nothing = Chunk(f"{document.id}#0", document.id, document.path, document.title, (), 0, 0, "", "", "")
    chunk = found.beginning or nothing
    share = round(len(set(wanted) & set(with_ancestors(document.tags))) / len(wanted), 4)
    return Hit(chunk, share, "tags", chunk.text, BY_TAGS, match="strong")


@dataclass(slots=True)
class _Shown:
    """A passage in an answer, filled up with its neighbours."""

    hit: Hit
    text: str
    lines: str
    chunks: tuple[Chunk, ...] = ()
    """The passages in the text; empty if it is only a part of one."""
    cost: int = 0
    """Tokens of the text."""

    @property
    def view(self) -> PassageView:
        return PassageView(text=self.text, lines=self.lines, heading=heading_of(self.hit.chunk))


class _Answer:
    """An answer in two forms of limited size: the passages that are shown, best first, and rows of all documents."""

    def __init__(
        self,
        found: FoundDocuments,
        metadata: Metadata,
        text_tokens: int,
        structure_tokens: int,
        *,
        explain: bool,
        once: bool,
    ) -> None:
        self._found, self._explain, self._once = found, explain, once
        self._in_time = metadata.undated is not None or any(hit.why is BY_TAGS for hit in found.ranking.hits)
        self._bare: dict[str, tuple[SearchResult, int]] = {}
        self._shown: dict[str, list[_Shown]] = {}
        self._in_use: set[str] = set()
        self._structure = structure_tokens - POINTER - self._size(metadata)
        self._lines = _lines_about(metadata)
        every = text_tokens - sum(tokens_at_most(line) + 1 for line in self._lines)
        self._others = int(every * OTHERS)
        self._text = every - self._others
        self._hits = self._listed(text_tokens)
        left_out = len(found.ranking.hits) - len(self._hits)
        self._show({hit.chunk.document for hit in self._hits})
        self.results = SearchResults(
            results=[self._row(hit) for hit in self._hits],
            metadata=metadata.model_copy(update={"left_out": left_out or None}),
        )

    @property
    def is_whole(self) -> bool:
        """True if the best passage of each document is shown whole."""
        return all(hit.chunk.id in self._in_use for hit in self._found.ranking.hits)

    def _listed(self, text_tokens: int) -> list[Hit]:
        """The documents that have a row: all that fit into the part of the structure that is for rows."""
        room = self._structure
        if not self._explain:
            room = max(int(room * ROWS), room - text_tokens)
        listed: list[Hit] = []
        for hit in self._found.ranking.hits:
            row = self._bare_row(hit)
            cost = self._size(row) + 1
            if cost > room and listed:
                break
            self._bare[hit.chunk.document] = row, cost
            room, self._structure = room - cost, self._structure - cost
            listed.append(hit)
        return listed

    def _show(self, listed: Collection[str]) -> None:
        """Choose the passages by rank, as long as there is room, and fill them up with their neighbours."""
        long_ones: set[str] = set()
        for hit in self._found.passages:
            is_unlikely = hit.match == "none" and (self._found.ranking.match == "none" or hit.score < UNLIKELY)
            if self._shown and is_unlikely and not self._in_time:
                continue
            if hit.chunk.document not in listed or hit.chunk.id in self._in_use or hit.chunk.text in long_ones:
                continue  # a long text that stands in several documents is shown once
            if not self._show_one(hit):
                break
            if self._once and len(hit.chunk.text) > LONG:
                long_ones.add(hit.chunk.text)

    def _show_one(self, hit: Hit) -> bool:
        """Show the passage, or the part of it for which there is room; False if there is too little."""
        document = hit.chunk.document
        is_first = document not in self._shown
        empty = _Shown(hit, "", lines_of(hit.chunk))
        text = self._text - tokens_at_most(self._heading(empty, is_first=is_first))
        structure = self._structure - self._size(self._full_row(hit, [empty]) if is_first else empty.view)
        structure += self._bare[document][1] if is_first else 0
        room = min(text, structure)
        whole = hit.chunk.text.strip() if hit.context is None else beginning(hit.snippet, QUOTATION)
        cost = _cost(whole)
        if len(whole) > PASSAGE or cost > room:
            if room < SHORTEST and self._shown:
                return False
            characters = min(PASSAGE, max(SHORTEST, int(len(whole) * room / cost * CLOSE)))
            part = snippet(whole, self._found.ranking.words, characters)
            shown = _Shown(hit, part, empty.lines, cost=_cost(part))
        else:
            is_quoted = hit.context is not None
            shown = _Shown(hit, whole, empty.lines, () if is_quoted else (hit.chunk,), cost)
            self._in_use.update(() if is_quoted else (hit.chunk.id,))
        self._text, self._structure = text - shown.cost, structure - shown.cost
        self._shown.setdefault(document, []).append(shown)
        while shown.chunks and self._extend(shown):
            pass
        return True

    def _extend(self, shown: _Shown) -> bool:
        """Add a neighbour of the passage, if one fits, from both sides in turns: the one after it comes first."""
        for side in (1, -1) if len(shown.chunks) % 2 else (-1, 1):
            longer = neighbour(shown.chunks, side, self._found.around, self._in_use)
            text = joined(longer) if longer else ""
            if not longer or len(text) > FILLED_UP:
                continue
            cost = _cost(text)
            more = cost - shown.cost
            if more <= min(self._text, self._structure):
                self._text, self._structure = self._text - more, self._structure - more
                self._in_use.update(one.id for one in longer)
                shown.chunks, shown.text, shown.cost = longer, text, cost
                shown.lines = f"{longer[0].first_line}-{longer[-1].last_line}"
                return True
        return False

    def text(self) -> str:
        """The shown passages under their documents, best first, and the paths of further documents."""
        blocks = list(self._lines)
        for hit in self._hits:
            shown = self._shown.get(hit.chunk.document, ())
            parts = [self._heading(one, is_first=at == 0) + quoted(one.text) for at, one in enumerate(shown)]
            blocks += ["\n".join(parts)] if parts else []
        others = [hit for hit in self._found.ranking.hits if hit.chunk.document not in self._shown]
        return "\n\n".join([*blocks, *([_named(others, self._text + self._others)] if others else [])])

    def _heading(self, shown: _Shown, *, is_first: bool) -> str:
        """The line above a passage: of the first one of a document with the facts about the document."""
        hit, heading = shown.hit, heading_of(shown.hit.chunk)
        if not is_first:
            return f"lines {shown.lines}" + (f", {heading}" if heading else "") + ":\n"
        row = self._full_row(hit, [shown])
        facts = [f"**{row.validity}**"] if row.validity else []
        facts += [f"**foreign**: {row.sources}"] if row.trust else []
        facts += [f"{row.path}, lines {shown.lines}"]
        facts += [] if self._in_time and hit.match == "none" else [f"{hit.score:.2f} {hit.match}"]
        facts += [row.date] if row.date and row.date_from != "file" else []
        facts += [row.claim] if row.claim else []
        under = (heading or "").removeprefix(f"{hit.chunk.title} > ")
        remark = f"\n{row.context}" if row.context else ""
        return f"**{row.preview}** ({'; '.join(facts)})" + (f" {under}" if under else "") + remark + "\n"

    def _row(self, hit: Hit) -> SearchResult:
        shown = self._shown.get(hit.chunk.document)
        return self._full_row(hit, shown) if shown else self._bare[hit.chunk.document][0]

    def _bare_row(self, hit: Hit) -> SearchResult:
        """The row of a document without a passage: with explanations as any row, else as short as it can be."""
        if self._explain:
            return self._full_row(hit, [_Shown(hit, "", lines_of(hit.chunk))])
        chunk, document = hit.chunk, self._found.documents.get(hit.chunk.document)
        dated = document.dated if document and self._in_time else None
        row = SearchResult(
            id=chunk.document,
            score=hit.score,
            preview=beginning(chunk.title, TITLE),
            source=hit.source,
            snippet="",
            owner=owner_of(document),
            validity=validity_of(self._found, hit.chunk.document),
            date=dated and dated.day,
            date_from=dated and dated.source,
        )
        return with_trust(row, document, [_Shown(hit, "", lines_of(chunk))])

    def _full_row(self, hit: Hit, shown: Sequence[_Shown]) -> SearchResult:
        document = self._found.documents.get(hit.chunk.document)
        return row_of(hit, shown, document, validity_of(self._found, hit.chunk.document), explain=self._explain)

    def _size(self, view: BaseModel) -> int:
        return tokens_at_most(view.model_dump_json(exclude_none=not self._explain))


def _cost(text: str) -> int:
    """The tokens of a passage in either form, whichever has more."""
    return max(tokens_at_most(quoted(text)), tokens_at_most(as_text({"": text})))


def _lines_about(metadata: Metadata) -> list[str]:
    """The lines above the passages: what a reader must know of the whole answer."""
    failed = [
        one.note if one.stage == "index" else f"The search did without {one.stage}: {one.note}"
        for one in metadata.stages or ()
        if one.failed
    ]
    lines = [metadata.intent, metadata.analysis, metadata.reason, *failed]
    if metadata.match == "none" and not metadata.reason:
        lines.append("No document seems to answer this. The nearest:")
    if metadata.total:
        lines.append(f"All notes with these tags: {metadata.total}.")
    if metadata.undated:
        lines.append(f"Of all documents {metadata.undated} have no date but the day of their last change.")
    return [line for line in lines if line]


def _named(others: Sequence[Hit], room: int) -> str:
    """A line with the paths of further documents, as many as there is room for, and the number of the others."""
    line, rest = "Also: ", len(others)
    cost = tokens_at_most(line)
    for hit in others:
        one = f"{ending(hit.chunk.path, LONGEST_OTHER)}, "
        cost += tokens_at_most(one)
        if cost + MORE > room:
            break
        line, rest = line + one, rest - 1
    return line[:-2] if not rest else f"{line}and {rest} more" if rest < len(others) else f"{rest} more documents fit"


def joined(chunks: Sequence[Chunk]) -> str:
    """Neighbouring passages as they stand in their document."""
    parts = [chunks[0].text.strip()]
    for one, other in pairwise(chunks):
        parts += ["\n" * (other.first_line - one.last_line), other.text.strip()]
    return "".join(parts)


def neighbour(
    chunks: Sequence[Chunk], side: int, around: Mapping[str, Chunk], without: Collection[str]
) -> tuple[Chunk, ...] | None:
    """The passages with the next one on this side (1: after, -1: before), if it has the same headings and is near.

    Passages in `without` are not taken: they are shown elsewhere.
    """
    last = chunks[-1 if side > 0 else 0]
    document, _, number = last.id.rpartition("#")
    other = around.get(f"{document}#{int(number) + side}")
    if other is None or other.id in without or other.heading != last.heading:
        return None
    longer = (*chunks, other) if side > 0 else (other, *chunks)
    upper, lower = longer[-2:] if side > 0 else longer[:2]
    return longer if 1 <= lower.first_line - upper.last_line <= WIDEST_GAP else None


def row_of(
    hit: Hit, shown: Sequence[_Shown], document: Document | None, validity: str | None, *, explain: bool
) -> SearchResult:
    """The result with the passages that are shown of it."""
    first, heading = shown[0], heading_of(shown[0].hit.chunk)
    dated = document and document.dated
    further = [one.view for one in shown[1:]]
    for view in further:
        view.heading = None if view.heading == heading else view.heading
    row = SearchResult(
        id=hit.chunk.document,
        score=hit.score,
        match=hit.match,
        preview=beginning(hit.chunk.title, TITLE),
        source=hit.source,
        snippet=first.text,
        context=hit.context and beginning(hit.context, CONTEXT),
        path=ending(hit.chunk.path, PATH),
        heading=heading,
        lines=first.lines,
        date=dated and dated.day,
        date_from=dated and dated.source,
        owner=owner_of(document),
        validity=validity,
        claim=document and claim_of(document),
        passages=further or None,
        explain=hit.why if explain else None,
    )
    return with_trust(row, document, shown)


def with_trust(row: SearchResult, document: Document | None, shown: Sequence[_Shown]) -> SearchResult:
    """The row, with a mark if texts of others may be in one of its passages."""
    if document is None or not (document.trust or document.properties):
        return row
    for one in shown:
        first, _, last = one.lines.partition("-")
        if sources := foreign_of(document, int(first), int(last)):
            row.trust, row.sources = "foreign", in_short(sources)
            break
    return row


def _whole_rows(found: FoundDocuments, *, explain: bool) -> list[SearchResult]:
    """A row of each document with all its passages whole."""
    rows: list[SearchResult] = []
    for hit in found.ranking.hits:
        own = [one for one in found.passages if one.chunk.document == hit.chunk.document] or [hit]
        document = found.documents.get(hit.chunk.document)
        shown = [_Shown(one, one.chunk.text.strip(), lines_of(one.chunk)) for one in own]
        validity = validity_of(found, hit.chunk.document)
        rows.append(row_of(hit, shown, document, validity, explain=explain))
    return rows


def validity_of(found: FoundDocuments, id: str) -> str | None:
    """The reason why the document may not hold on the day of the search; None if it holds."""
    if newer := found.superseded.get(id):
        return f"superseded by {newer.id}"
    document = found.documents.get(id)
    return lacks_validity(document, found.day) if document and found.day else None


def heading_of(chunk: Chunk) -> str | None:
    """The headings above the passage; None if that is only the title, which the result has already."""
    return None if chunk.heading in ((), (chunk.title,)) else ending(" > ".join(chunk.heading), HEADINGS)


def lines_of(chunk: Chunk) -> str:
    return f"{chunk.first_line}-{chunk.last_line}"
