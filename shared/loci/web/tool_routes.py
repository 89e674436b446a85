"""`/ui/tools`: tool servers with their rules, what was called, and code that was learned."""

from collections.abc import Iterable, Sequence
from typing import Annotated, Final

from pydantic import BaseModel, Field
from starlette.requests import Request
from starlette.routing import Route

from loci.core.errors import LociError
from loci.core.identity import Owner
from loci.core.json import JsonObject
from loci.mcp.threads import THREADS, UPSTREAM
from loci.web.host import PagesHost
from loci.web.lists import first_rows, list_route
from loci.web.page import HtmlPage, PageKind, shell_page
from loci.web.persons import PIN_NEEDED, Persons
from loci.web.tool_facts import calls, capability_facts, capability_row, servers, tool_facts, tools_facts
from loci.web.visit import Nothing, Visit
from loci.web.visitors import Visitors

PAGE: Final = PageKind("tools", ("/list", "/detail", "/form", "servers", "learned", "main"))


class Asked(BaseModel):
    """A server that is asked for its tools."""

    server: Annotated[str, Field(min_length=1, max_length=40)]


class Accepted(Asked):
    """A change of a tool that a person accepts."""

    tool: Annotated[str, Field(min_length=1, max_length=300)]
    version: Annotated[str, Field(max_length=64)]
    """The version of the tool that the person saw."""
    value: Annotated[str, Field(max_length=200)] = ""
    """Their PIN, where it is asked for."""


class ToolRoutes:
    """The page of tools."""

    def __init__(self, app: PagesHost, visitors: Visitors, persons: Persons) -> None:
        self._app = app
        self._visitors = visitors
        self._persons = persons

    def routes(self) -> Sequence[Route]:
        visitors = self._visitors
        return [
            Route("/ui/tools", visitors.html_page("tools", self._page), methods=["GET"]),
            list_route(visitors, "/ui/tools/servers", self._servers, "ui_tools"),
            list_route(visitors, "/ui/tools/calls", self._calls, "ui_calls"),
            list_route(visitors, "/ui/tools/learned", self._learned, "ui_learned"),
            Route("/ui/tools/servers/{name}", visitors.facts(self._tools, "ui_server"), methods=["GET"]),
            # A server that nobody asked yet is asked now.
            Route("/ui/tools/tool", visitors.facts(self._tool, "ui_tool", UPSTREAM), methods=["GET"]),
            Route("/ui/tools/ask", visitors.change(Asked, self._ask, "ui_ask_server", UPSTREAM), methods=["POST"]),
            Route("/ui/tools/accept", visitors.change(Accepted, self._accept, "ui_accept", THREADS), methods=["POST"]),
            Route("/ui/tools/learned/{id}", visitors.facts(self._capability, "ui_capability"), methods=["GET"]),
            Route(
                "/ui/tools/learned/{id}/delete",
                visitors.change(Nothing, self._delete, "ui_delete_capability"),
                methods=["POST"],
            ),
        ]

    def _page(self, visit: Visit) -> HtmlPage:
        owner, lacks = visit.caller.owner, self._persons.lacking(visit.caller)
        lists = {"servers": self._servers, "calls": self._calls, "learned": self._learned}
        facts: JsonObject = {name: first_rows(rows, owner, len(lists)) for name, rows in lists.items()}
        return shell_page(PAGE, visit, {**facts, "asksPin": lacks is not None and lacks.code == PIN_NEEDED})

    def _servers(self, owner: Owner) -> tuple[Iterable[JsonObject], int]:
        return servers(self._app.tools, owner)

    def _calls(self, owner: Owner) -> tuple[Iterable[JsonObject], int]:
        return calls(self._app.tools, owner)

    def _learned(self, owner: Owner) -> tuple[Iterable[JsonObject], int]:
        known = sorted(self._app.tools.capabilities.all(owner), key=lambda one: (-one.best.used_at, one.id))
        return map(capability_row, known), len(known)

    def _tools(self, owner: Owner, request: Request) -> JsonObject:
        return tools_facts(self._app.tools, owner, request.path_params["name"])

    def _tool(self, owner: Owner, request: Request) -> JsonObject:
        return tool_facts(self._app.tools, owner, request.query_params.get("id", ""))

    def _ask(self, visit: Visit, sent: Asked) -> JsonObject:
        """Ask a server for its tools now; its record says how that ended."""
        owner = visit.caller.owner
        self._app.tools.get(owner, sent.server)
        try:
            self._app.tools.ask(owner, sent.server)
        except LociError as error:
            return {"failed": error.what}
        return {"failed": None}

    def _accept(self, visit: Visit, sent: Accepted) -> JsonObject:
        """Accept how a server has changed a tool. Only a person may."""
        by, lacks = self._persons.answerer(visit.caller, sent.value), self._persons.lacking(visit.caller)
        if lacks and not by.is_person:
            raise lacks
        self._app.tools.accept(visit.caller.owner, sent.server, {sent.tool: sent.version})
        return {"accepted": sent.tool}

    def _capability(self, owner: Owner, request: Request) -> JsonObject:
        return capability_facts(self._app.tools.capabilities.get(owner, request.path_params["id"]))

    def _delete(self, visit: Visit, _: Nothing) -> JsonObject:
        return {"deleted": self._app.tools.capabilities.delete(visit.caller.owner, visit.request.path_params["id"]).id}
