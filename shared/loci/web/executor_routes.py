"""`/ui/executors`: what lives of the Python executors, what is kept of them, and how one is ended."""

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from loci.core.errors import Unavailable
from loci.core.identity import Owner
from loci.core.json import Json, JsonObject, iso
from loci.mcp.threads import WRITES
from loci.web.host import PagesHost
from loci.web.page import HtmlPage
from loci.web.shell import PageKind, shell_page
from loci.web.visit import Visit
from loci.web.visitors import Visitors

if TYPE_CHECKING:
    from loci.code.python import LivingExecutor

PAGE: Final = PageKind("executors", ("/sure", "main"), ("content.css", "sure.css"))
LARGEST_END: Final = 1024
MOST_NAMES: Final = 30
LONGEST_NAME: Final = 60


class ExecutorRoutes:
    """The page of executors."""

    def __init__(self, app: PagesHost, visitors: Visitors) -> None:
        self._app = app
        self._visitors = visitors

    def routes(self) -> Sequence[Route]:
        return [
            Route("/ui/executors", self._visitors.page("executors", self._page), methods=["GET"]),
            Route("/ui/executors/list", self._list, methods=["GET"]),
            Route("/ui/executors/{id}/end", self._end, methods=["POST"]),
        ]

    async def _page(self, visit: Visit) -> Response:
        def page() -> HtmlPage:
            return shell_page(PAGE, visit, self._all(visit.caller.owner))

        return await self._visitors.shown(visit, page, "ui_executors")

    async def _list(self, request: Request) -> Response:
        return await self._visitors.answer(request, self._all, "ui_executors", WRITES)

    async def _end(self, request: Request) -> Response:
        await (await self._visitors.visit(request)).sent(LARGEST_END)
        id = request.path_params["id"]

        def end(owner: Owner) -> JsonObject:
            self._app.code.end_executor(owner, id)
            return {"ended": id, **self._all(owner)}

        return await self._visitors.answer(request, end, "ui_end_executor", WRITES)

    def _all(self, owner: Owner) -> JsonObject:
        try:
            found = self._app.code.executors(owner)
        except Unavailable as error:
            return {"executors": [], "why": str(error)}
        return {"executors": [_facts(one) for one in found], "why": None}


def _facts(one: "LivingExecutor") -> JsonObject:
    now, memory = one.now, one.now.memory_mb
    return {
        "id": one.id,
        "state": now.state,
        "created": None if one.created_at is None else iso(one.created_at),
        "used": iso(one.used_at),
        "memory_mb": round(memory, 1) if memory is not None and math.isfinite(memory) else None,
        "variables": _names(now.variables),
        "variable_count": len(now.variables),
        "unsaved": _names(now.unsaved),
        "saved_bytes": now.saved_bytes,
    }


def _names(names: Sequence[str]) -> list[Json]:
    """The first of the names: code has chosen them."""
    return [one[:LONGEST_NAME] for one in names[:MOST_NAMES]]
