"""Cuts a text into passages: each under its headings, with its lines, and no longer than the embedder reads."""

import hashlib
import math
import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Literal

from loci.search.ranking import Chunk
from loci.search.words import index_words

LONGEST = 254
"""The most tokens of a passage with its headings. all-MiniLM-L6-v2 reads 256, and two of these mark the ends."""
SHORT = 160
"""Tokens. A shorter passage is found by its neighbours' words, too: a turn of a talk seldom names its subject."""
FEW = 3
"""Passages under one heading that are about one thing: the words of their neighbours find them, too, however long."""
LONGEST_HEADING = 160
"""Characters. There is always room left for text."""
# Longer than a passage in any language. Longer blocks are cut before their tokens are counted, to bound memory.
WINDOW = 4096
BATCH = 1_000_000
# No tokenizer makes too many tokens of so few characters.
SMALLEST = 16
FILL = 0.9
SENTENCE = re.compile(r"(?<=[.!?…])[\"')\]*_]*\s+|(?<=[。！？])|\n\s*\n")  # noqa: RUF001
LINE = re.compile(r"\n")
SPACE = re.compile(r"\s+")

Count = Callable[[Sequence[str]], list[int]]
"""Returns the number of tokens of each text."""
Span = tuple[int, int]
Room = dict[tuple[tuple[str, ...], Span | None], int]
"""The tokens that there are for a text under these headings, with the text at that place above it."""


@dataclass(frozen=True, slots=True)
class Block:
    """A paragraph, a list item, a table, …: stays in one passage if it fits."""

    start: int
    end: int
    heading: tuple[str, ...]
    kind: Literal["prose", "lines", "turn"] = "prose"
    """Decides the cuts: prose after a sentence, lines (a table, code) after a line.
    A turn of a conversation is a passage of its own."""
    after: Span | None = None
    """The place of the message that the block's message answers; empty if it answers none. None: in no message."""
    header: Span | None = None
    """The place of the header of a table: the rows that are cut off below it are embedded and found with it, too."""

    @property
    def context(self) -> Span | None:
        """The place of the text that is embedded above the block, outside it."""
        is_below = self.header is not None and self.start > self.header[1]
        return self.header if is_below and self.after is None else self.after


@dataclass(frozen=True, slots=True)
class Passage:
    """Blocks that a search finds together."""

    start: int
    end: int
    heading: tuple[str, ...]
    tokens: int
    """The number of its tokens, without its headings."""
    is_turn: bool = False
    after: Span | None = None
    context: Span | None = None
    """The place of the text that is embedded with it: of the message that is answered, or of a table's header."""


def passages(
    text: str, blocks: Sequence[Block], count: Count, longest: int = LONGEST, most: int | None = None
) -> list[Passage]:
    """Cut the blocks that are too long, then join neighbours under one heading as long as they fit.

    The text behind the first `most` passages is not looked at.
    """
    room: Room = {}
    return list(islice(_packed(_sized(text, blocks, count, longest, room), room), most))


def chunks(
    document: str,
    path: str,
    title: str,
    text: str,
    found: Sequence[Passage],
    name_words: Sequence[str] = (),
    language: str | None = None,
) -> list[Chunk]:
    """The passages as chunks for the index, numbered from 0. The first one is found by the `name_words`, too."""
    starts = [0, *(match.end() for match in LINE.finditer(text))]
    own = [index_words(text[one.start : one.end], language) for one in found]
    under = Counter(one.heading for one in found)
    above = {heading: index_words(" ".join(heading), language) for heading in under}
    return [
        Chunk(
            id=f"{document}#{number}",
            document=document,
            path=path,
            title=title,
            heading=one.heading,
            first_line=bisect_right(starts, one.start),
            last_line=bisect_right(starts, max(one.start, one.end - 1)),
            text=text[one.start : one.end],
            hash=hashlib.sha256(
                embedded_text(one.heading, text[one.start : one.end], context_of(text, one.context)).encode()
            ).hexdigest(),
            words=" ".join(
                [
                    *above[one.heading],
                    *(index_words(context_of(text, one.context), language) if one.after is None else ()),
                    *_words(found, own, number, under[one.heading]),
                    *(() if number else name_words),
                ]
            ),
            context=context_of(text, one.context),
        )
        for number, one in enumerate(found)
    ]


def embedded_text(heading: tuple[str, ...], text: str, context: str = "") -> str:
    """The text that is embedded and hashed for a passage: its headings, its context and the passage."""
    return "\n".join(one for one in (heading_line(heading), context, text) if one)


def context_of(text: str, place: Span | None) -> str:
    """The text at that place as it is embedded above a passage: an answer seldom says again what was asked."""
    return "" if place is None else " ".join(text[slice(*place)].split())[:LONGEST_HEADING]


def heading_line(heading: tuple[str, ...]) -> str:
    """The headings in one line. If they are very long: the end, which is nearest to the text."""
    return " > ".join(heading)[-LONGEST_HEADING:]


def _words(found: Sequence[Passage], own: Sequence[list[str]], at: int, under: int) -> Iterator[str]:
    """The words of one of the passages `under` a heading, and of its neighbours there if it alone says little.

    The words of a turn come twice, because its neighbours are of other people.
    """
    yield from own[at]
    is_turn, is_short = found[at].is_turn or found[at].after is not None, found[at].tokens < SHORT
    if not is_short and (is_turn or under > FEW):
        return
    beside = [other for other in (at - 1, at + 1) if 0 <= other < len(found)]
    # Each message may have a speaker's heading of its own.
    is_message = found[at].after is not None
    near = [one for one in beside if found[one].heading == found[at].heading or (is_message and found[one].after)]
    if near and is_turn:
        yield from own[at]
    for other in near:
        yield from own[other]


def _sized(text: str, blocks: Sequence[Block], count: Count, longest: int, room: Room) -> Iterator[tuple[Block, int]]:
    """Pieces of the blocks that fit, with their tokens. Learns how much room there is under each heading."""
    for pieces in _batches(piece for block in blocks for piece in _cut(text, block, WINDOW)):
        contexts = ((one.heading, place) for one in pieces for place in (one.context, one.after or one.header))
        paths = [path for path in dict.fromkeys(contexts) if path not in room]
        above = (embedded_text(heading, "", context_of(text, place)) for heading, place in paths)
        sizes = count([*above, *(text[one.start : one.end] for one in pieces)])
        room |= {path: max(longest // 4, longest - size) for path, size in zip(paths, sizes, strict=False)}
        yield from _fitting(text, list(zip(pieces, sizes[len(paths) :], strict=True)), room, count)


def _batches(pieces: Iterator[Block]) -> Iterator[list[Block]]:
    """All together, unless the document is as long as a book."""
    batch: list[Block] = []
    held = 0
    for one in pieces:
        batch.append(one)
        held += one.end - one.start + SMALLEST
        if held >= BATCH:
            yield batch
            batch, held = [], 0
    if batch:
        yield batch


def _packed(pieces: Iterator[tuple[Block, int]], room: Room) -> Iterator[Passage]:
    last: Passage | None = None
    for block, size in pieces:
        is_turn = block.kind == "turn"
        is_near = last is not None and (last.heading, last.after) == (block.heading, block.after)
        may_grow = is_near and not is_turn
        if (
            last is not None
            and may_grow
            and not last.is_turn
            and last.tokens + size <= room[last.heading, last.context]
        ):
            last = replace(last, end=block.end, tokens=last.tokens + size)
        else:
            if last is not None:
                yield last
            last = Passage(block.start, block.end, block.heading, size, is_turn, block.after, block.context)
    if last is not None:
        yield last


def _fitting(text: str, counted: list[tuple[Block, int]], room: Room, count: Count) -> list[tuple[Block, int]]:
    """Cut the pieces again until each fits its room."""
    while any(_is_too_long(block, size, room) for block, size in counted):
        cut = [_shorter(text, block, size, room) for block, size in counted]
        sizes = iter(count([text[one.start : one.end] for pieces in cut if pieces for one in pieces]))
        counted = [
            pair
            for (block, size), pieces in zip(counted, cut, strict=True)
            for pair in ([(one, next(sizes)) for one in pieces] if pieces else [(block, size)])
        ]
    return counted


def _shorter(text: str, block: Block, size: int, room: Room) -> list[Block]:
    """Pieces of the block that will probably fit; none if the block itself fits."""
    if not _is_too_long(block, size, room):
        return []
    most = room[block.heading, block.context]
    return list(_cut(text, block, math.ceil((block.end - block.start) * FILL * most / size)))


def _is_too_long(block: Block, size: int, room: Room) -> bool:
    return size > room[block.heading, block.context] and block.end - block.start > SMALLEST


def _cut(text: str, block: Block, longest: int) -> Iterator[Block]:
    """Pieces of at most `longest` characters, cut at the best boundaries, without the space between them."""
    longest = max(SMALLEST, longest)
    finer = (SENTENCE, SPACE) if block.kind != "lines" else (LINE, SPACE)
    start = block.start
    while block.end - start > longest:
        end, next_start = _boundary(text, start + longest // 2, start + longest, finer)
        yield replace(block, start=start, end=end)
        start = next_start
    if start < block.end:
        yield replace(block, start=start)


def _boundary(text: str, low: int, high: int, finer: Sequence[re.Pattern[str]]) -> tuple[int, int]:
    """The end of a piece and the start of the next: at the last boundary of the coarsest kind that occurs."""
    for kind in finer:
        found = list(kind.finditer(text, low, high))
        if found:
            return found[-1].start(), found[-1].end()
    return high, high
