"""Cuts parsed documents into chunks, the passages that a search finds."""

from dataclasses import dataclass

from loci.documents.content.markdown import ParsedDocument
from loci.documents.document import DocumentDate, Problem
from loci.documents.document_links import WrittenLinks
from loci.documents.filtering import properties_of
from loci.search.passages import LONGEST, Count, chunks, passages
from loci.search.ranking import Chunk

MAX_CHUNKS = 20_000


@dataclass(frozen=True, slots=True)
class CutDocument:
    """All that Loci reads out of a text: it depends on nothing but the text and its path."""

    title: str
    tags: tuple[str, ...]
    date: DocumentDate | None
    lines: int
    problems: tuple[Problem, ...]
    said: WrittenLinks
    chunks: tuple[Chunk, ...]
    properties: tuple[str, ...] = ()


def cut(id: str, path: str, parsed: ParsedDocument, count: Count, longest: int = LONGEST) -> CutDocument:
    """Cut the document at that path into passages of at most `longest` tokens."""
    found = passages(parsed.text, parsed.blocks, count, longest, MAX_CHUNKS + 1)
    problems = parsed.problems
    if len(found) > MAX_CHUNKS:
        line = parsed.text.count("\n", 0, found[MAX_CHUNKS].start) + 1
        problems += (Problem(f"Only its first {MAX_CHUNKS:,} passages are searched: split it", line),)
    return CutDocument(
        title=parsed.title,
        tags=parsed.tags,
        date=parsed.date,
        lines=parsed.lines,
        problems=problems,
        said=parsed.said,
        chunks=tuple(chunks(id, path, parsed.title, parsed.text, found[:MAX_CHUNKS], parsed.beside)),
        properties=properties_of(parsed.front_matter),
    )
