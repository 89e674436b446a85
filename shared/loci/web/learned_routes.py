"""`/ui/learned`: code that worked, with how often it does; somebody may delete it."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from loci.core.identity import Owner
from loci.core.json import JsonObject
from loci.web.host import PagesHost
from loci.web.learned_facts import capability_facts, first_facts, list_facts
from loci.web.page import HtmlPage
from loci.web.queries import number_in
from loci.web.shell import PageKind, shell_page
from loci.web.visit import Visit
from loci.web.visitors import Visitors

if TYPE_CHECKING:
    from loci.tools.capabilities.capability import Capability

PAGE: Final = PageKind("learned", ("/sure", "main"), ("content.css", "reader.css", "sure.css"))
LARGEST_DELETION: Final = 1024


class LearnedRoutes:
    """The page of what was learned."""

    def __init__(self, app: PagesHost, visitors: Visitors) -> None:
        self._app = app
        self._visitors = visitors

    def routes(self) -> Sequence[Route]:
        return [
            Route("/ui/learned", self._visitors.page("learned", self._page), methods=["GET"]),
            Route("/ui/learned/list", self._list, methods=["GET"]),
            Route("/ui/learned/{id}", self._one, methods=["GET"]),
            Route("/ui/learned/{id}/delete", self._delete, methods=["POST"]),
        ]

    async def _page(self, visit: Visit) -> Response:
        def page() -> HtmlPage:
            return shell_page(PAGE, visit, first_facts(self._known(visit.caller.owner)))

        return await self._visitors.shown(visit, page, "ui_learned")

    async def _list(self, request: Request) -> Response:
        first = number_in(request, "from") or 0
        return await self._visitors.answer(request, lambda owner: list_facts(self._known(owner), first), "ui_learned")

    async def _one(self, request: Request) -> Response:
        id = request.path_params["id"]

        def facts(owner: Owner) -> JsonObject:
            return capability_facts(self._app.tools.capabilities.get(owner, id))

        return await self._visitors.answer(request, facts, "ui_capability")

    async def _delete(self, request: Request) -> Response:
        await (await self._visitors.visit(request)).sent(LARGEST_DELETION)
        id = request.path_params["id"]

        def delete(owner: Owner) -> JsonObject:
            gone = self._app.tools.capabilities.delete(owner, id)
            return {"deleted": gone.id, **list_facts(self._known(owner))}

        return await self._visitors.answer(request, delete, "ui_delete_capability")

    def _known(self, owner: Owner) -> "Sequence[Capability]":
        return self._app.tools.capabilities.all(owner)
