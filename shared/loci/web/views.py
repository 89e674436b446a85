"""What an owner sees: the picture of their documents, its page, and the texts that it shows."""

from functools import partial
from typing import Final

from loci.core.errors import LociError
from loci.core.identity import Owner
from loci.documents.api import DocumentsHost
from loci.documents.document import Document
from loci.documents.graph.gaps import gaps
from loci.documents.graph.graph import Graph
from loci.documents.graph.labels import label_of, terms_of
from loci.web.facts import drawn
from loci.web.page import HtmlPage, graph_page
from loci.web.picture import MOST_DOCUMENTS, MOST_GAPS, Picture, picture, threshold

LARGEST_PAGE: Final = 4_000_000
"""Bytes. A function's answer may have 6 MB, in which every quotation mark counts twice."""
LONGEST_TEXT: Final = 200_000
LONGEST_EXCERPT: Final = 4_000
LONGEST_EXCERPTS: Final = 12_000_000
"""Characters of all texts in a file."""


def picture_for(app: DocumentsHost, owner: Owner, *, with_gaps: bool = True) -> Picture:
    """The owner's documents as they are now."""
    return _pictures(app, owner, with_gaps=with_gaps)(most=MOST_DOCUMENTS)


def _pictures(app: DocumentsHost, owner: Owner, *, with_gaps: bool) -> partial[Picture]:
    """The same with any number of documents: comparing all pairs for the gaps takes longer than the drawing."""
    graph = app.documents.graphs.of(owner)
    groups = _clusters(app, owner, graph)
    if not with_gaps:
        return partial(picture, graph, (), groups)
    alike = app.documents.likeness.of(owner)
    found = gaps(graph, alike, MOST_GAPS, threshold(alike.by))
    return partial(picture, graph, found, groups, compared_by=alike.by)


def _clusters(app: DocumentsHost, owner: Owner, graph: Graph) -> dict[str, tuple[str, str]]:
    """Each document's cluster as its group; who is alone is in none."""
    found = [one for one in app.documents.clusters.of(owner, "louvain").clusters if len(one.documents) > 1]
    terms = terms_of(app.documents.index, owner, graph, found)
    return {
        id: (cluster.id, label_of(cluster, words))
        for cluster, words in zip(found, terms, strict=True)
        for id in cluster.documents
    }


def served_page(app: DocumentsHost, owner: Owner, *, signed_in: bool) -> HtmlPage:
    """The page as a server sends it: without texts, and with as many documents as fit into an answer."""
    pictures = _pictures(app, owner, with_gaps=True)
    most = MOST_DOCUMENTS
    while True:
        shown = drawn(pictures(most=most), None)
        page = graph_page({**shown, "signedIn": signed_in}, "Loci")
        if len(page.html.encode()) <= LARGEST_PAGE or most < 2:
            return page
        most //= 2


def page_of(app: DocumentsHost, owner: Owner, shown: Picture, title: str) -> HtmlPage:
    """The page as a file: the beginning of each text is in it."""
    room = min(LONGEST_EXCERPT, LONGEST_EXCERPTS // max(len(shown.documents), 1))
    texts = {one.id: excerpt(_text(app, owner, one), room) for one in shown.documents}
    return graph_page(drawn(shown, texts), title)


def excerpt(text: str, room: int) -> str:
    """The text, or so many characters of it, to the end of a line."""
    if len(text) <= room:
        return text
    return f"{text[:room].rpartition(chr(10))[0] or text[:room]}\n\n…"


def _text(app: DocumentsHost, owner: Owner, document: Document) -> str:
    try:
        return app.documents.library.read(owner, document.id).text
    except LociError as error:  # one file that is gone leaves the others
        return str(error)
