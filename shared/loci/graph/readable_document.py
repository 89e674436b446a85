"""Documents as a page shows them: their text as elements, with links that lead to documents, and the links to them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from loci.core.json import Json
from loci.documents.document import Document, DocumentText
from loci.graph.graph import Graph
from loci.graph.neighbourhood import DocumentLink, seen_from
from loci.markdown.front_matter import read_front_matter
from loci.markdown.nouns import BOM, Mention
from loci.markdown.outline import is_plain_text
from loci.markdown.readable import LONGEST, plain, readable

MOST_BACKLINKS: Final = 200


@dataclass(frozen=True, slots=True)
class ReadableDocument:
    """A document to be read by a person."""

    document: Document
    front_matter: str
    elements: Sequence[Json]
    """The elements, as `markdown.readable` makes them."""
    first: int
    """The character with which they begin."""
    next: int | None
    """The first character of the next part; None if this is the last."""
    backlinks: Sequence[DocumentLink]
    """The first of the links that lead to it. Similar documents do not count."""
    linked_by: int
    """The number of these links."""


def readable_document(read: DocumentText, graph: Graph, stored: Document, first: int = 0) -> ReadableDocument:
    """The document from this character on. `stored`: its record, if the graph shows documents under other names."""
    document = read.document
    text = read.text.removeprefix(BOM).replace("\r\n", "\n").replace("\r", "\n").replace("\0", "\ufffd")
    shown, following = _part(text, first)

    def resolved(mention: Mention) -> str | None:
        found = graph.source.names.resolve(stored.written_at or stored.path, mention)
        target = graph.documents.get(found.document) if found else None
        return target and target.id

    lines = shown.split("\n")
    matter = 0 if first else read_front_matter(lines).lines
    links = graph.incoming.get(stored.id, ())
    return ReadableDocument(
        document=document,
        front_matter="\n".join(lines[1 : matter - 1]),
        elements=plain(shown) if is_plain_text(document.path, lines) else readable(lines[matter:], resolved),
        first=first,
        next=following,
        backlinks=[seen_from(graph.documents, one, "incoming", one.source) for one in links[:MOST_BACKLINKS]],
        linked_by=len(links),
    )


def _part(text: str, first: int) -> tuple[str, int | None]:
    """The part of the text that is shown at once, and where the rest begins. It ends with a paragraph or a line."""
    end = first + LONGEST
    if end >= len(text):
        return text[first:], None
    for sign in ("\n\n", "\n"):
        if (cut := text.rfind(sign, first + LONGEST // 2, end)) > 0:
            return text[first:cut], cut + len(sign)
    return text[first:end], end
