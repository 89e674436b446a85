"""`/ui/connections`: the clients that a person has let in by consent, and how they end one."""

import time
from collections.abc import Sequence

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from loci.mcp.auth.grants import grants_of
from loci.mcp.threads import WRITES, on_thread_of
from loci.web import answers
from loci.web.connections_page import connections_page
from loci.web.host import PagesHost
from loci.web.page import HtmlPage
from loci.web.queries import number_in
from loci.web.visit import Visit
from loci.web.visitors import Visitors


class ConnectionRoutes:
    """The page of connections."""

    def __init__(self, app: PagesHost, visitors: Visitors) -> None:
        self._settings = app.settings
        self._grants = grants_of(app)
        self._visitors = visitors

    def routes(self) -> Sequence[Route]:
        return [
            Route("/ui/connections", self._visitors.page("connections", self._page), methods=["GET"]),
            Route("/ui/connections", self._end, methods=["POST"]),
        ]

    async def _page(self, visit: Visit) -> Response:
        first = number_in(visit.request, "from") or 0

        def page() -> HtmlPage:
            return connections_page(self._settings, visit, self._grants.of(visit.caller.owner), first)

        return await self._visitors.shown(visit, page, "ui_connections")

    async def _end(self, request: Request) -> Response:
        visit, id = await self._visitors.visit(request), request.query_params.get("id", "")
        await visit.posted()
        owner, began = visit.caller.owner, time.perf_counter()

        def end() -> HtmlPage:
            ended = self._grants.revoke(id, owner)
            return connections_page(self._settings, visit, self._grants.of(owner), ended=ended)

        page = await on_thread_of(WRITES, end)
        self._visitors.tell("ui_end_connection", visit.caller, began, len(page.html))
        return answers.html(page)
