"""`/ui/search`: the page that searches documents and files, and the JSON that it asks for."""

from collections.abc import Sequence
from typing import Final

from starlette.requests import Request
from starlette.routing import Route

from loci.app import App
from loci.core.errors import Refused
from loci.core.identity import Owner
from loci.core.json import JsonObject
from loci.documents.tools.search_results import PASSAGE, render_results
from loci.graph.neighbourhood import DocumentLink
from loci.graph.readable_document import ReadableDocument
from loci.mcp.threads import SEARCHES
from loci.web.browser_auth import BrowserAuth, Visit, number_in
from loci.web.page import HtmlPage, PageKind, shell_page

PAGE: Final = PageKind(
    "search", ("/list", "/detail", "/files/passage", "/files/reader", "/elements", "document", "why", "results", "main")
)
FOUND: Final = 20
"""Documents in the answer to a question."""
LONGEST_QUESTION: Final = 10_000


class SearchRoutes:
    """The page that searches. In files, the page of files searches for it."""

    def __init__(self, app: App, visitors: BrowserAuth) -> None:
        self._app = app
        self._visitors = visitors

    def routes(self) -> Sequence[Route]:
        visitors = self._visitors
        return [
            Route("/ui/search", visitors.html_page("search", self._page)),
            # A search keeps a core busy, and so does the rendering of a document.
            Route("/ui/search/documents", visitors.facts(self._search, "ui_search_documents", SEARCHES)),
            Route("/ui/search/documents/{id}", visitors.facts(self._document, "ui_readable_document", SEARCHES)),
        ]

    def _page(self, visit: Visit) -> HtmlPage:
        return shell_page(PAGE, visit, {})

    def _search(self, owner: Owner, request: Request) -> JsonObject:
        question = request.query_params.get("q", "")
        if not question.strip() or len(question) > LONGEST_QUESTION:
            raise Refused("The question is empty, or too long", "Write some words", code="EMPTY_QUERY")
        answer = self._app.documents.search(owner, question, limit=FOUND, room=PASSAGE)
        return render_results(answer, question, explain=True).model_dump(mode="json")

    def _document(self, owner: Owner, request: Request) -> JsonObject:
        first = number_in(request, "from") or 0
        return _readable(self._app.graph.readable(owner, request.path_params["id"], first))


def _readable(read: ReadableDocument) -> JsonObject:
    """The document with the fields that tools give it, its elements, and the links that lead to it."""
    document = read.document
    return {
        "id": document.id,
        "path": document.path,
        "title": document.title,
        "tags": [*document.tags],
        "date": document.dated and document.dated.day,
        "date_from": document.dated and document.dated.source,
        "front_matter": read.front_matter,
        "elements": [*read.elements],
        "next": read.next,
        "backlinks": [_backlink(one) for one in read.backlinks],
        "linked_by": read.linked_by,
    }


def _backlink(link: DocumentLink) -> JsonObject:
    other = link.other
    return {
        "id": other and other.id,
        "title": link.title,
        "path": other and other.path,
        "type": link.relation,
        "line": link.line,
        "evidence": link.evidence,
    }
