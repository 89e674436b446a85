"""`/ui/tools`: tool servers, what was called, and a form that calls a tool."""

import json
from collections.abc import Sequence
from typing import Annotated, Any, Final, TypeVar

from pydantic import BaseModel, Field, ValidationError
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from loci.core.errors import LociError, Refused
from loci.core.identity import Owner
from loci.core.json import JsonObject
from loci.mcp.threads import UPSTREAM
from loci.web.first_rows import ROOM
from loci.web.host import PagesHost
from loci.web.page import HtmlPage
from loci.web.proofs import HEADER, Proofs
from loci.web.shell import PageKind, shell_page
from loci.web.tool_facts import calls_facts, servers_facts, tool_facts, tools_facts
from loci.web.visit import Visit
from loci.web.visitors import Visitors

PAGE: Final = PageKind(
    "tools", ("/proof", "form", "result", "tool", "servers", "main"), ("content.css", "reader.css", "pin.css")
)
LARGEST_CALL: Final = 256 * 1024
LARGEST_RESULT: Final = 1_000_000
"""Characters of a result as JSON. Of a larger one the page shows the beginning."""
T = TypeVar("T", bound=BaseModel)


class Call(BaseModel):
    """A call that somebody makes on the page."""

    tool: Annotated[str, Field(min_length=1, max_length=300)]
    arguments: dict[str, Any] = {}
    approved: Annotated[bool, Field(strict=True)] = False
    """True: they saw that a person must approve it, and do."""


class Asked(BaseModel):
    """A server that is asked for its tools."""

    server: Annotated[str, Field(min_length=1, max_length=40)]


class Accepted(BaseModel):
    """A change of a tool that a person accepts."""

    server: Annotated[str, Field(min_length=1, max_length=40)]
    tool: Annotated[str, Field(min_length=1, max_length=300)]
    version: Annotated[str, Field(max_length=64)]
    """The version of the tool that the person saw."""


class ToolRoutes:
    """The page of tools."""

    def __init__(self, app: PagesHost, visitors: Visitors, proofs: Proofs) -> None:
        self._app = app
        self._visitors = visitors
        self._proofs = proofs

    def routes(self) -> Sequence[Route]:
        return [
            Route("/ui/tools", self._visitors.page("tools", self._page), methods=["GET"]),
            Route("/ui/tools/servers", self._servers, methods=["GET"]),
            Route("/ui/tools/servers/{name}", self._tools, methods=["GET"]),
            Route("/ui/tools/calls", self._calls, methods=["GET"]),
            Route("/ui/tools/tool", self._tool, methods=["GET"]),
            Route("/ui/tools/ask", self._ask, methods=["POST"]),
            Route("/ui/tools/accept", self._accept, methods=["POST"]),
            Route("/ui/tools/call", self._call, methods=["POST"]),
        ]

    async def _page(self, visit: Visit) -> Response:
        def page() -> HtmlPage:
            return shell_page(PAGE, visit, servers_facts(self._app.tools, visit.caller.owner, ROOM))

        return await self._visitors.shown(visit, page, "ui_tools")

    async def _servers(self, request: Request) -> Response:
        return await self._visitors.answer(request, lambda owner: servers_facts(self._app.tools, owner), "ui_tools")

    async def _tools(self, request: Request) -> Response:
        name = request.path_params["name"]
        return await self._visitors.answer(
            request, lambda owner: tools_facts(self._app.tools, owner, name), "ui_server"
        )

    async def _calls(self, request: Request) -> Response:
        return await self._visitors.answer(request, lambda owner: calls_facts(self._app.tools, owner), "ui_calls")

    async def _tool(self, request: Request) -> Response:
        id = request.query_params.get("id", "")
        # A server that nobody asked yet is asked now.
        return await self._visitors.answer(
            request, lambda owner: tool_facts(self._app.tools, owner, id), "ui_tool", UPSTREAM
        )

    async def _ask(self, request: Request) -> Response:
        """Ask a server for its tools now; its record says how that ended."""
        visit = await self._visitors.visit(request)
        asked = _read(Asked, await visit.sent(LARGEST_CALL))

        def ask(owner: Owner) -> JsonObject:
            self._app.tools.get(owner, asked.server)
            try:
                self._app.tools.ask(owner, asked.server)
            except LociError as error:
                return {**servers_facts(self._app.tools, owner), "failed": _failure(error)}
            return servers_facts(self._app.tools, owner)

        return await self._visitors.answer(request, ask, "ui_ask_server", UPSTREAM)

    async def _accept(self, request: Request) -> Response:
        """Accept how a server has changed a tool. Only a person may."""
        visit = await self._visitors.visit(request)
        accepted = _read(Accepted, await visit.sent(LARGEST_CALL))

        def accept(owner: Owner) -> JsonObject:
            if not self._proofs.answerer(visit, request.headers.get(HEADER, "")).is_person:
                raise self._proofs.needed(visit)
            self._app.tools.accept(owner, accepted.server, {accepted.tool: accepted.version})
            return servers_facts(self._app.tools, owner)

        return await self._visitors.answer(request, accept, "ui_accept_tool")

    async def _call(self, request: Request) -> Response:
        """Call a tool the one way that every call goes. A tool that fails has an answer, too."""
        visit = await self._visitors.visit(request)
        call = _read(Call, await visit.sent(LARGEST_CALL))

        def called(_: Owner) -> JsonObject:
            if call.approved and not self._proofs.answerer(visit, request.headers.get(HEADER, "")).is_person:
                raise self._proofs.needed(visit)
            tools, approved = self._app.tools, call.approved
            try:
                result = tools.call(visit.caller, "page", call.tool, call.arguments, approved=approved, asking="page")
            except LociError as error:
                return {"failed": _failure(error)}
            text = json.dumps(result, ensure_ascii=False)
            return {"result": result} if len(text) <= LARGEST_RESULT else {"beginning": text[:LARGEST_RESULT]}

        return await self._visitors.answer(request, called, "ui_call_tool", UPSTREAM)


def _read(kind: type[T], body: bytes) -> T:
    try:
        return kind.model_validate_json(body)
    except ValidationError:
        raise Refused("This is no call of a tool", "Load the page again", code="BAD_CALL") from None


def _failure(error: LociError) -> JsonObject:
    return {"code": error.code, "message": error.what, "resolution": error.resolution}
