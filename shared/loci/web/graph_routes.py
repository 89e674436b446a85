"""`/ui/graph`, and the picture and the texts that it asks for."""

import time
from collections.abc import Sequence

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from loci.mcp.threads import SEARCHES, on_thread
from loci.web import answers
from loci.web.host import PagesHost
from loci.web.shell import bar
from loci.web.views import LONGEST_TEXT, excerpt, served_page, served_picture
from loci.web.visit import Visit
from loci.web.visitors import Visitors


class GraphRoutes:
    """The page of the graph."""

    def __init__(self, app: PagesHost, visitors: Visitors) -> None:
        self._app = app
        self._visitors = visitors

    def routes(self) -> Sequence[Route]:
        return [
            Route("/ui/graph", self._visitors.page("graph", self._page)),
            Route("/ui/graph/picture", self._picture),
            Route("/ui/documents/{id}", self._document),
        ]

    async def _page(self, visit: Visit) -> Response:
        began = time.perf_counter()
        page = await on_thread(served_page, self._app.documents, visit.caller.owner, bar("graph", visit))
        self._visitors.tell("ui_graph", visit.caller, began, len(page.html))
        return answers.html(page)

    async def _picture(self, request: Request) -> Response:
        return await self._visitors.answer(
            request, lambda owner: served_picture(self._app.documents, owner), "ui_picture", SEARCHES
        )

    async def _document(self, request: Request) -> Response:
        caller, _ = await self._visitors.caller(request)
        began = time.perf_counter()
        read = await on_thread(self._app.documents.read, caller.owner, request.path_params["id"], remember=False)
        text = excerpt(read.text, LONGEST_TEXT)
        self._visitors.tell("ui_document", caller, began, len(text))
        return answers.json({"id": read.document.id, "path": read.document.path, "text": text})
