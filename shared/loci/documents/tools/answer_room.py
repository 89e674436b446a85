"""The room of an answer, given out by rank: the best passages whole and filled up, then a line of each document."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from pydantic import BaseModel

from loci.documents.tools.json_size import excerpt, json_size
from loci.documents.tools.result_views import PassageView, SearchResult, further_passage, lines_of
from loci.mcp.tool import BUDGET
from loci.search.filling import FILLED_UP, filled
from loci.search.ranking import Chunk, Hit
from loci.search.search import words_in

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


@dataclass(slots=True)
class AnswerRoom:
    """The room that is left, and what has been put into it."""

    left: int
    words: Sequence[str]
    """Those of the question: a passage that must be cut is cut to them."""
    around: Mapping[str, Chunk]
    """Passages beside the best ones, by id."""
    with_nulls: bool
    rows: dict[str, SearchResult] = field(default_factory=dict[str, SearchResult])
    _least: dict[str, int] = field(default_factory=dict[str, int])
    """Bytes of the text of each row if there is no room for the whole."""
    _headings: dict[str, str] = field(default_factory=dict[str, str])
    """Of the rows: there is no room for them beside a line, from which `lines` leads on."""
    _shown: set[str] = field(default_factory=set[str])
    """Ids of the passages that are shown whole."""

    def put(self, rows: Sequence[SearchResult], for_passages: int) -> None:
        """Put in as many rows as leave this room for passages, each with a line, or with what a model quoted of it."""
        room = self.left - for_passages
        for row in rows:
            if row.heading is not None and row.context is None and not self.with_nulls:
                self._headings[row.id], row.heading = row.heading, None
            text = json_size(row.snippet)
            least = text if row.context is not None else min(LINE, text)
            cost = self._size(row) - text + least + 1
            if cost > (room if self.rows else self.left):
                break
            room -= cost
            self.left -= cost
            self.rows[row.id], self._least[row.id] = row, least

    def show(self, passages: Sequence[Hit]) -> None:
        """Show these passages whole, as far as there is room, and a line of the others. Best first."""
        begun = {id for id, row in self.rows.items() if row.context is not None}
        for hit in passages:
            row = self.rows.get(hit.chunk.document)
            if row is None or hit.chunk.id in self._shown:
                continue
            if not (self._show_further(row, hit) if row.id in begun else self._show_best(row, hit)):
                break
            begun.add(row.id)
        for hit in passages:
            row = self.rows.get(hit.chunk.document)
            if row is not None and row.id not in begun:
                begun.add(row.id)
                # Only the words that it has: it takes time to look for each.
                row.snippet = excerpt(hit.snippet, words_in(self.words, hit.chunk), LINE, self._least[row.id])

    def is_whole(self, hit: Hit) -> bool:
        """True if all of its passage is shown."""
        return hit.chunk.id in self._shown

    def _show_best(self, row: SearchResult, hit: Hit) -> bool:
        heading = self._headings.get(row.id)
        room = self.left + self._least[row.id] - (json_size({"heading": heading}) if heading else 0)
        view = self._view(hit, room)
        if view is None:
            return False
        self.left = room - json_size(view.text)
        row.snippet, row.lines, row.heading = view.text, view.lines, heading or row.heading
        return True

    def _show_further(self, row: SearchResult, hit: Hit) -> bool:
        empty = further_passage(hit.chunk).model_copy(update={"text": ""})
        if empty.heading == row.heading:
            empty.heading = None
        cost = self._size(empty) + 1 + (0 if row.passages else NAME_OF_THE_LIST)
        view = self._view(hit, self.left - cost)
        if view is None:
            return False
        view.heading = empty.heading
        self.left -= cost + json_size(view.text)
        row.passages = [*(row.passages or ()), view]
        return True

    def _view(self, hit: Hit, room: int) -> PassageView | None:
        """The passage, filled up; or the part of it that fits; None if there is too little room even for that."""
        most = min(PASSAGE, room - LONGER_LINES)

        def fits(text: str) -> bool:
            return len(text) <= FILLED_UP and json_size(text) <= min(FILLED_BYTES, most)

        if json_size(hit.chunk.text.strip()) <= most:
            shown = filled(hit.chunk, self.around, fits, self._shown)
            self._shown.update(one.id for one in shown.chunks)
            return PassageView(text=shown.text, lines=shown.lines)
        if most < SHORTEST:
            return None
        return PassageView(text=excerpt(hit.snippet, self.words, PASSAGE, most), lines=lines_of(hit.chunk))

    def _size(self, view: BaseModel) -> int:
        return len(view.model_dump_json(exclude_none=not self.with_nulls).encode())
