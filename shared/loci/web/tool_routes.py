"""`/ui/tools`: tool servers with their rules, what was called, and code that was learned."""

import time
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from queue import Empty, SimpleQueue
from statistics import median
from typing import TYPE_CHECKING, Annotated, Final

from pydantic import BaseModel, Field
from starlette.requests import Request
from starlette.routing import Route

from loci.app import App
from loci.core.errors import LociError, Refused, Unavailable
from loci.core.identity import Owner
from loci.core.json import JsonObject, iso
from loci.mcp.threads import SEARCHES, THREADS, UPSTREAM
from loci.sandbox.supervisor.daemon_threads import DAEMON_THREADS
from loci.web.browser_auth import BrowserAuth, Nothing, Visit, first_rows, list_route
from loci.web.page import HtmlPage, PageKind, shell_page
from loci.web.question_routes import PIN_NEEDED, Persons, tool_words

if TYPE_CHECKING:
    from loci.gateway.api import Overview
    from loci.gateway.call_history import LoggedCall
    from loci.gateway.capabilities.capability import Capability, Version
    from loci.gateway.capabilities.matching import FoundCapability
    from loci.gateway.configuration import ConfiguredServer
    from loci.gateway.policy import AnyTool


OWN: Final = "loci"
"""Stands for Loci's own tools where a server is named."""
CALLS: Final = 40
MOST_TOOLS: Final = 1_000
"""The most tools in one answer."""
TOOLS_IN_LIST: Final = 3
LONGEST_LINE: Final = 160
LONGEST_FAILURE: Final = 1_000
MOST_PATTERNS: Final = 50
HOURS: Final = 24
DAY: Final = HOURS * 3600.0
FOUND: Final = 20
"""The tools that a search shows."""
LOGIN_PATIENCE: Final = 30
"""Seconds in which a server's issuer must have said where a person logs in."""
Patterns = Annotated[list[Annotated[str, Field(min_length=1, max_length=200)]], Field(max_length=MOST_PATTERNS)]
PAGE: Final = PageKind(
    "tools", ("/list", "/detail", "/form", "/drawn", "/chart", "servers", "server", "learned", "main")
)


class ToolListRequest(BaseModel):
    """A server that is asked for its tools."""

    server: Annotated[str, Field(min_length=1, max_length=40)]


class Decided(ToolListRequest):
    """A decision about a server that only a person may take."""

    value: Annotated[str, Field(max_length=200)] = ""
    """The PIN of the person, where it is asked for."""


class Accepted(Decided):
    """A change of a tool that a person accepts."""

    tool: Annotated[str, Field(min_length=1, max_length=300)]
    version: Annotated[str, Field(max_length=64)]
    """The version of the tool that the person saw."""


class RulesRequest(Decided):
    """Rules for a server that a person sets."""

    allow: Patterns
    deny: Patterns
    approve: Patterns
    disabled: bool


class ToolRoutes:
    """The page of tools."""

    def __init__(self, app: App, visitors: BrowserAuth, persons: Persons) -> None:
        self._app = app
        self._visitors = visitors
        self._persons = persons

    def routes(self) -> Sequence[Route]:
        visitors = self._visitors
        return [
            Route("/ui/tools", visitors.html_page("tools", self._page), methods=["GET"]),
            list_route(visitors, "/ui/tools/servers", self._servers, "ui_tools"),
            list_route(visitors, "/ui/tools/calls", self._calls, "ui_calls"),
            Route("/ui/tools/search", visitors.facts(self._search, "ui_search_tools", SEARCHES), methods=["GET"]),
            list_route(visitors, "/ui/tools/learned", self._learned, "ui_learned"),
            Route("/ui/tools/servers/{name}", visitors.facts(self._tools, "ui_server"), methods=["GET"]),
            # A server that nobody asked yet is asked now.
            Route("/ui/tools/tool", visitors.facts(self._tool, "ui_tool", UPSTREAM), methods=["GET"]),
            Route(
                "/ui/tools/ask",
                visitors.change(ToolListRequest, self._ask, "ui_ask_server", UPSTREAM),
                methods=["POST"],
            ),
            Route("/ui/tools/accept", visitors.change(Accepted, self._accept, "ui_accept", THREADS), methods=["POST"]),
            Route("/ui/tools/rules", visitors.change(RulesRequest, self._rule, "ui_rules", THREADS), methods=["POST"]),
            Route("/ui/tools/login", visitors.change(Decided, self._log_in, "ui_login", UPSTREAM), methods=["POST"]),
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
        return shell_page(
            PAGE,
            visit,
            {
                **facts,
                "isHere": visit.caller.proof == "local",
                "asksPin": lacks is not None and lacks.code == PIN_NEEDED,
            },
        )

    def _servers(self, owner: Owner) -> tuple[Iterable[JsonObject], int]:
        """The servers with their health and their calls of a day, Loci itself as the first."""
        seen, calls = self._app.tools.overview(owner), self._app.tools.last_calls(owner)
        own: JsonObject = {"name": OWN, "server": "Loci itself", **_counts(seen, seen.own), "denied": 0}
        return chain([own], (_server(seen, one, calls) for one in seen.servers)), len(seen.servers) + 1

    def _calls(self, owner: Owner) -> tuple[Iterable[JsonObject], int]:
        """The last calls, the newest first. They have neither arguments nor results."""
        found = self._app.tools.last_calls(owner, CALLS)
        rows: Iterable[JsonObject] = (
            {
                "id": f"{one.at}",
                "at": iso(one.at),
                "tool": one.tool,
                "server": one.server,
                "door": one.door,
                "who": one.who,
                "outcome": one.outcome,
                "ms": round(one.ms),
            }
            for one in found
        )
        return rows, len(found)

    def _learned(self, owner: Owner) -> tuple[Iterable[JsonObject], int]:
        known = sorted(self._app.tools.capabilities.all(owner), key=lambda one: (-one.best.used_at, one.id))
        return map(_capability_row, known), len(known)

    def _tools(self, owner: Owner, request: Request) -> JsonObject:
        """The tools of a server, or Loci's own."""
        seen, server = self._app.tools.overview(owner), request.path_params["name"]
        found = seen.own if server == OWN else self._app.tools.get(owner, server).tools
        return {"tools": [_row(seen, one) for one in found[:MOST_TOOLS]], "total": len(found)}

    def _tool(self, owner: Owner, request: Request) -> JsonObject:
        """A tool with what it says about itself."""
        tools, spelling = self._app.tools, request.query_params.get("id", "")
        tool, seen = tools.gateway.described(owner, spelling), tools.overview(owner)
        return {**_row(seen, tool), "says": tool_words(tools, owner, tool.id), "schema": tool.input_schema}

    def _ask(self, visit: Visit, sent: ToolListRequest) -> JsonObject:
        """Ask a server for its tools now; its record says how that ended."""
        owner = visit.caller.owner
        self._app.tools.get(owner, sent.server)
        try:
            self._app.tools.ask(owner, sent.server)
        except LociError as error:
            return {"failed": error.what}
        return {"failed": None}

    def _search(self, owner: Owner, request: Request) -> JsonObject:
        """The tools that an agent finds with these words."""
        query = request.query_params.get("q", "").strip()[:LONGEST_FAILURE]
        found = self._app.tools.search(owner, query, limit=FOUND).tools if query else ()
        seen = self._app.tools.overview(owner)
        tools: dict[str, AnyTool] = {
            tool.id: tool for some in (seen.own, *(one.tools for one in seen.servers)) for tool in some
        }
        return {"tools": [_row(seen, tools[one.tool.id]) for one in found if one.tool.id in tools]}

    def _rule(self, visit: Visit, sent: RulesRequest) -> JsonObject:
        """Change the rules for a server. Only a person may."""
        from loci.gateway.configuration import ServerRules

        self._persons.check(visit.caller, sent.value)
        rules = ServerRules.model_validate(sent.model_dump(include={*ServerRules.model_fields}))
        return {"server": self._app.tools.rule(visit.caller.owner, sent.server, rules).name}

    def _log_in(self, visit: Visit, sent: Decided) -> JsonObject:
        """Begin a login to a server, and say where the person goes on. The answer comes to a port of this machine."""
        from loci.gateway.login_callback import LoginCallback, login_address
        from loci.gateway.ports import Consent

        tools, owner, told = self._app.tools, visit.caller.owner, SimpleQueue[str | LociError]()
        if visit.caller.proof != "local":
            advice = f"Log in at a terminal there: loci tools login {sent.server}"
            raise Refused("Loci cannot reach this browser after the login", advice)
        self._persons.check(visit.caller, sent.value)
        oauth = tools.get(owner, sent.server).entry.oauth

        def begin() -> None:
            def ask(url: str, _issuer: str) -> Mapping[str, str]:
                callback.expect(url)
                told.put(login_address(url))
                return callback.answer()

            try:
                with LoginCallback(oauth.callback_port if oauth else None) as callback:
                    tools.log_in(owner, sent.server, Consent(callback.url, ask))
                tools.ask(owner, sent.server)
            except LociError as error:
                told.put(error)

        DAEMON_THREADS.start(begin)
        try:
            begun = told.get(timeout=LOGIN_PATIENCE)
        except Empty:
            raise Unavailable(f"{sent.server} has not said where to log in", "Try again") from None
        if isinstance(begun, LociError):
            raise begun
        return {"open": begun}

    def _accept(self, visit: Visit, sent: Accepted) -> JsonObject:
        """Accept how a server has changed a tool. Only a person may."""
        self._persons.check(visit.caller, sent.value)
        self._app.tools.accept(visit.caller.owner, sent.server, {sent.tool: sent.version})
        return {"accepted": sent.tool}

    def _capability(self, owner: Owner, request: Request) -> JsonObject:
        return _capability_facts(self._app.tools.capabilities.get(owner, request.path_params["id"]))

    def _delete(self, visit: Visit, _: Nothing) -> JsonObject:
        return {"deleted": self._app.tools.capabilities.delete(visit.caller.owner, visit.request.path_params["id"]).id}


def _server(seen: "Overview", server: "ConfiguredServer", calls: "Sequence[LoggedCall]") -> JsonObject:
    from loci.gateway.configuration import shown_entry

    entry, login = server.entry, seen.logins.get(server.name)
    of_it = login if login is not None and login.is_for(entry.url) else None
    return {
        "name": server.name,
        "server": shown_entry(entry),
        "failure": server.failure and server.failure[:LONGEST_FAILURE],
        "failed": None if server.failed_at is None else iso(server.failed_at),
        "listed": None if server.listed_at is None else iso(server.listed_at),
        "is_new": server.is_new,
        "disabled": entry.disabled,
        "day": _day(server.name, calls),
        "may_log_in": entry.url is not None and entry.type != "openapi" and not entry.has_authorization,
        "login": of_it and of_it.describe(server.name, time.time()),
        "allow": [*entry.allow[:MOST_PATTERNS]],
        "deny": [*entry.deny[:MOST_PATTERNS]],
        "approve": [*entry.approve[:MOST_PATTERNS]],
        **_counts(seen, server.tools),
    }


def _day(server: str, calls: "Sequence[LoggedCall]") -> JsonObject:
    """The calls of a server's tools in the last day, by the hours before now, as far as the log goes back."""
    now = time.time()
    of_it = [one for one in calls if one.server == server and now - one.at < DAY]
    worked, failed = [0] * HOURS, [0] * HOURS
    for one in of_it:
        hour = HOURS - 1 - max(0, int((now - one.at) / 3600))
        worked[hour] += one.outcome == "ok"
        failed[hour] += one.is_failed
    return {
        "calls": len(of_it),
        "failed": sum(failed),
        "p50": round(median(one.ms for one in of_it)) if of_it else None,
        "worked_by_hour": [*worked],
        "failed_by_hour": [*failed],
    }


def _counts(seen: "Overview", tools: "Sequence[AnyTool]") -> JsonObject:
    policies = [seen.policies[one.id] for one in tools if one.id in seen.policies]
    return {
        "tools": len(tools),
        "denied": sum(one.denied is not None for one in policies),
        "to_approve": sum(one.approval is not None and one.denied is None for one in policies),
        "warned": sum(one.id in seen.warnings for one in tools),
    }


def _row(seen: "Overview", tool: "AnyTool") -> JsonObject:
    policy = seen.policies.get(tool.id)
    line = " ".join(tool.description.split())
    return {
        "id": tool.id,
        "call": seen.names.get(tool.id, tool.id),
        "title": tool.title,
        "line": line if len(line) <= LONGEST_LINE else f"{line[: LONGEST_LINE - 1]}…",
        "denied": policy and policy.denied,
        "approval": policy and policy.approval,
        "warning": seen.warnings.get(tool.id),
    }


def _capability_facts(found: "FoundCapability") -> JsonObject:
    """A capability with the code of a version, and what is known of all versions."""
    capability, shown = found.capability, found.version
    return {
        **_capability_row(capability),
        "other_intents": [*capability.other_intents],
        "code": found.stored.code,
        "needs": [*found.stored.needs],
        "tools_used": [*shown.tools],
        "version": shown.number,
        "versions": [
            {
                "id": f"{capability.id}.{one.number}",
                "number": one.number,
                "is_offered": one.number == capability.best.number,
                "learned": iso(one.learned_at),
                **_runs_of(one),
            }
            for one in reversed(capability.versions)
        ],
    }


def _capability_row(one: "Capability") -> JsonObject:
    """A capability as a row of a list."""
    return {
        "id": one.id,
        "intent": one.intent,
        "tools_used": [*one.best.tools[:TOOLS_IN_LIST]],
        "version_count": len(one.versions),
        **_runs_of(one.best),
    }


def _runs_of(one: "Version") -> JsonObject:
    return {
        "success_rate": round(one.success_rate, 3),
        "is_proven": one.is_proven,
        "worked": one.successes,
        "runs": one.successes + one.failures,
        "reuse_count": one.reuse_count,
        "used": iso(one.used_at),
    }
