"""`/ui/search`: the page that searches documents and files, and the JSON that it asks for."""

import time
from collections.abc import Sequence
from typing import Final

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from loci.core.errors import Refused
from loci.core.identity import Owner
from loci.core.json import JsonObject
from loci.documents.tools.answer_room import PASSAGE
from loci.documents.tools.search_results import results_json
from loci.mcp.threads import SEARCHES
from loci.web import answers
from loci.web.document_facts import readable_facts
from loci.web.host import PagesHost
from loci.web.queries import number_in
from loci.web.shell import PageKind, shell_page
from loci.web.visit import Visit
from loci.web.visitors import Visitors

PAGE: Final = PageKind(
    "search",
    ("/files/passage", "/files/reader", "why", "results", "elements", "document", "main"),
    styles=("content.css", "reader.css"),
)
FOUND: Final = 20
"""Documents in the answer to a question."""
LONGEST_QUESTION: Final = 10_000


class SearchRoutes:
    """The page that searches. In files, the page of files searches for it."""

    def __init__(self, app: PagesHost, visitors: Visitors) -> None:
        self._app = app
        self._visitors = visitors

    def routes(self) -> Sequence[Route]:
        return [
            Route("/ui/search", self._visitors.page("search", self._page)),
            Route("/ui/search/documents", self._search),
            Route("/ui/search/documents/{id}", self._document),
        ]

    async def _page(self, visit: Visit) -> Response:
        began = time.perf_counter()
        made = shell_page(PAGE, visit, {})
        self._visitors.tell("ui_search", visit.caller, began, len(made.html))
        return answers.html(made)

    async def _search(self, request: Request) -> Response:
        question = request.query_params.get("q", "")
        if not question.strip() or len(question) > LONGEST_QUESTION:
            raise Refused("The question is empty, or too long", "Write some words", code="EMPTY_QUERY")

        def found(owner: Owner) -> object:
            answer = self._app.documents.search(owner, question, limit=FOUND, room=PASSAGE)
            return results_json(answer, question, explain=True)

        # This keeps a core busy, and so does the rendering below.
        return await self._visitors.answer(request, found, "ui_search_documents", SEARCHES)

    async def _document(self, request: Request) -> Response:
        id, first = request.path_params["id"], number_in(request, "from") or 0

        def facts(owner: Owner) -> JsonObject:
            return readable_facts(self._app.documents.readable(owner, id, first))

        return await self._visitors.answer(request, facts, "ui_readable_document", SEARCHES)
