"""The page with the picture of an owner's documents, and the texts that it shows."""

from typing import Final

from loci.core.errors import LociError
from loci.core.identity import Owner
from loci.core.json import JsonObject
from loci.documents.api import Documents
from loci.documents.document import BOM, Document
from loci.documents.graph.picture import MAX_DOCUMENTS, Picture
from loci.web.facts import drawn
from loci.web.page import HtmlPage, embedded, graph_page

MOST_IN_PAGE: Final = 50
"""Documents. The picture of more comes when the page is painted."""
SMALL_PAGE: Final = 60_000
"""Bytes of a page with its documents."""
LARGEST_PICTURE: Final = 4_000_000
"""Bytes. The answer of a Lambda function may have 6 MB, and each quotation mark counts twice in it."""
LONGEST_TEXT: Final = 200_000
LONGEST_EXCERPT: Final = 4_000
LONGEST_EXCERPTS: Final = 12_000_000
"""Characters of all texts in a page that is a file."""


def served_page(documents: Documents, owner: Owner, bar: str) -> HtmlPage:
    """Return the page that a server sends: without texts. If the library is not small, the page asks for it."""
    if not documents.is_more_than(owner, MOST_IN_PAGE):
        page = graph_page(drawn(documents.picture(owner).picture(), None), "Loci", bar=bar)
        if len(page.html.encode()) <= SMALL_PAGE:
            return page
    return graph_page({"served": True, "isLater": True}, "Loci", bar=bar)


def served_picture(documents: Documents, owner: Owner) -> JsonObject:
    """Return what such a page asks for, with as many documents as an answer can hold."""
    source = documents.picture(owner)
    limit = MAX_DOCUMENTS
    while True:
        shown = drawn(source.picture(limit), None)
        if len(embedded(shown).encode()) <= LARGEST_PICTURE or limit < 2:
            return shown
        limit //= 2


def page_of(documents: Documents, owner: Owner, shown: Picture, title: str) -> HtmlPage:
    """Return the page as a file: it holds the beginning of each text."""
    room = min(LONGEST_EXCERPT, LONGEST_EXCERPTS // max(len(shown.documents), 1))
    texts = {one.id: excerpt(_text(documents, owner, one), room) for one in shown.documents}
    return graph_page(drawn(shown, texts), title)


def excerpt(text: str, room: int) -> str:
    """Return at most so many characters of the text, cut at the end of a line; all line ends are LF."""
    text = text.removeprefix(BOM).replace("\r\n", "\n").replace("\r", "\n")
    if len(text) <= room:
        return text
    return f"{text[:room].rpartition(chr(10))[0] or text[:room]}\n\n…"


def _text(documents: Documents, owner: Owner, document: Document) -> str:
    try:
        return documents.read(owner, document.id, remember=False).text
    except LociError as error:  # if one file is gone, the others are still shown
        return str(error)
