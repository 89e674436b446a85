"""`/ui/graph`: the picture of an owner's documents, and the same as a file."""

import json
from collections.abc import Sequence
from typing import Final

from starlette.requests import Request
from starlette.routing import Route

from loci.core.errors import LociError
from loci.core.identity import Owner
from loci.core.json import Json, JsonObject
from loci.documents.api import Documents
from loci.documents.document import Document
from loci.documents.graph.picture import MAX_DOCUMENTS, Picture
from loci.mcp.threads import SEARCHES
from loci.web.facts import drawn
from loci.web.module import PagesHost
from loci.web.page import HtmlPage, PageKind, embedded, shell_page
from loci.web.visit import Visit
from loci.web.visitors import Visitors

PROGRAMS: Final = ("data", "forces", "camera", "labels", "draw", "panel", "search", "legend", "pointer", "keys", "main")
PAGE: Final = PageKind("graph", ("/elements", *PROGRAMS))
MOST_IN_PAGE: Final = 50
"""Documents. The picture of more comes when the page is painted."""
SMALL_PAGE: Final = 60_000
"""Bytes of a page with its documents."""
LARGEST_PICTURE: Final = 4_000_000
"""Bytes. The answer of a Lambda function may have 6 MB, and each quotation mark counts twice in it."""
LONGEST_EXCERPT: Final = 6_000
"""Characters of a document's elements in a page that is a file."""
LONGEST_EXCERPTS: Final = 12_000_000
"""Characters of those of all documents."""


class GraphRoutes:
    """The page of the graph."""

    def __init__(self, app: PagesHost, visitors: Visitors) -> None:
        self._app = app
        self._visitors = visitors

    def routes(self) -> Sequence[Route]:
        return [
            Route("/ui/graph", self._visitors.html_page("graph", self._page)),
            Route("/ui/graph/picture", self._visitors.facts(self._picture, "ui_picture", SEARCHES)),
        ]

    def _page(self, visit: Visit) -> HtmlPage:
        return served_page(self._app.documents, visit.caller.owner, visit)

    def _picture(self, owner: Owner, _: Request) -> JsonObject:
        return served_picture(self._app.documents, owner)


def served_page(documents: Documents, owner: Owner, visit: Visit | None) -> HtmlPage:
    """Return the page that a server sends: without texts. If the library is not small, the page asks for it."""
    if not documents.is_more_than(owner, MOST_IN_PAGE):
        page = shell_page(PAGE, visit, drawn(documents.picture(owner).picture(), None))
        if len(page.html.encode()) <= SMALL_PAGE:
            return page
    return shell_page(PAGE, visit, {"served": True, "isLater": True})


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
    """Return the page as a file: it holds the beginning of each text, as elements."""
    room = min(LONGEST_EXCERPT, LONGEST_EXCERPTS // max(len(shown.documents), 1))
    texts = {one.id: _beginning(documents, owner, one, room) for one in shown.documents}
    return graph_file(drawn(shown, texts), title)


def graph_file(shown: JsonObject, title: str) -> HtmlPage:
    """Return the page of a drawn picture, which asks nobody for anything."""
    return shell_page(PAGE, None, shown, title=title, connects=[])


def _beginning(documents: Documents, owner: Owner, document: Document, room: int) -> list[Json]:
    """Return the first elements of a document; the first one is there even if it is too long."""
    try:
        elements = documents.readable(owner, document.id).elements
    except LociError as error:  # if one file is gone, the others are still shown
        return [str(error)]
    shown: list[Json] = []
    for one in elements:
        room -= len(json.dumps(one, ensure_ascii=False))
        if room < 0 and shown:
            return [*shown, "…"]
        shown.append(one)
    return shown
