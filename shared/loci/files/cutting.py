"""Cuts a reading into passages: running text as documents are cut, tables by rows, each piece under its header."""

import hashlib
from collections.abc import Iterator, Sequence
from itertools import groupby, islice

from loci.files.locators import Locator, Piece, place_of, sheet_label
from loci.files.reading import Reading, Section, TableSection, TextSection
from loci.files.table_cutting import table_pieces
from loci.files.text_cutting import text_pieces
from loci.search.passages import LONGEST, Count, embedded_text
from loci.search.ranking import Chunk
from loci.search.words import index_words

MOST_PASSAGES = 20_000


def cut(document: str, name: str, reading: Reading, count: Count, longest: int = LONGEST) -> list[Chunk]:
    """The passages of a file as chunks for the index, numbered from 0. The path of each ends with its place."""
    return cut_with_remark(document, name, reading, count, longest)[0]


def cut_with_remark(
    document: str, name: str, reading: Reading, count: Count, longest: int = LONGEST
) -> tuple[list[Chunk], tuple[str, ...]]:
    """The same, and a remark if the file has more passages than it may."""
    longest -= min(count([_stem(name)])[0], longest // 2)
    every = (piece for group in _groups(reading.sections) for piece in _pieces(group, count, longest))
    pieces = [*islice(every, MOST_PASSAGES + 1)]
    chunks = [_chunk(document, name, number, piece) for number, piece in enumerate(pieces[:MOST_PASSAGES])]
    if len(pieces) <= MOST_PASSAGES:
        return chunks, ()
    last = place_of(chunks[-1]).label
    return chunks, (f"Searches find only the first {MOST_PASSAGES:,} passages, up to {last}: split the file",)


def _groups(sections: Sequence[Section]) -> Iterator[Sequence[Section]]:
    """Paragraphs of one page or slide together, and each table by itself."""
    for _, group in groupby(enumerate(sections), key=lambda one: _place(*one)):
        yield [section for _, section in group]


def _place(number: int, section: Section) -> tuple[int | None, ...]:
    return (section.page, section.slide) if isinstance(section, TextSection) else (None, None, number)


def _pieces(group: Sequence[Section], count: Count, longest: int) -> Iterator[Piece]:
    texts = [one for one in group if isinstance(one, TextSection)]
    yield from text_pieces(texts, count, longest, MOST_PASSAGES + 1)
    for one in group:
        if isinstance(one, TableSection):
            yield from table_pieces(one, count, longest)


def _stem(name: str) -> str:
    return name.rpartition(".")[0] or name


def _labels(where: Locator) -> list[str]:
    return [] if where.sheet is None else [sheet_label(where.sheet)]


def _chunk(document: str, name: str, number: int, piece: Piece) -> Chunk:
    above = [name, *piece.heading]
    # A row says little without the name of its file: the models read it above the passage, too.
    heading = (_stem(name), *piece.heading)
    return Chunk(
        id=f"{document}#{number}",
        document=document,
        path=f"{name}#{piece.where.fragment}",
        title=name,
        heading=heading,
        first_line=piece.where.lines[0] if piece.where.lines else 0,
        last_line=piece.where.lines[1] if piece.where.lines else 0,
        text=piece.text,
        hash=hashlib.sha256(embedded_text(heading, piece.text).encode()).hexdigest(),
        words=" ".join([*index_words(" ".join(above)), *index_words(piece.text), *_labels(piece.where)]),
    )
