"""`/ui/settings`: clients that were let in, shared folders, living Python executors, and what `loci doctor` says."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Final
from urllib.parse import urlsplit

from pydantic import BaseModel, Field
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from loci.app import App
from loci.auth.grants import Grant, grants_of
from loci.auth.oauth_clients import home_of
from loci.core.errors import Unavailable
from loci.core.identity import LOCAL, Owner
from loci.core.json import Json, JsonObject, iso
from loci.core.scopes import SCOPES
from loci.core.seen import visible
from loci.core.settings import Settings
from loci.mcp.threads import SEARCHES, WRITES
from loci.web.browser_auth import BrowserAuth, Nothing, Visit, first_rows, list_route
from loci.web.page import HtmlPage, PageKind, shell_page
from loci.web.question_routes import PIN_NEEDED, Persons

if TYPE_CHECKING:
    from loci.code.python import LivingExecutor

PAGE: Final = PageKind("settings", ("/list", "/form", "main"))
MOST_NAMES: Final = 30
LONGEST_NAME: Final = 60
LONGEST_FINDING: Final = 2_000
MOST_FINDINGS: Final = 500


class ShareRequest(BaseModel):
    """A folder that a person shares."""

    folder: Annotated[str, Field(min_length=1, max_length=1_000)]
    receiver: Annotated[str, Field(min_length=1, max_length=1_100)]
    value: Annotated[str, Field(max_length=200)] = ""
    """The PIN of the person, where it is asked for."""


class SettingsRoutes:
    """The page of settings."""

    def __init__(self, app: App, visitors: BrowserAuth, persons: Persons) -> None:
        self._app = app
        self._grants = grants_of(app)
        self._visitors = visitors
        self._persons = persons

    def routes(self) -> Sequence[Route]:
        visitors = self._visitors
        end_grant = visitors.change(Nothing, self._end_connection, "ui_end_connection")
        end_executor = visitors.change(Nothing, self._end_executor, "ui_end_executor")
        share = visitors.change(ShareRequest, self._share, "ui_share")
        end_share = visitors.change(Nothing, self._end_share, "ui_end_share")
        return [
            Route("/ui/settings", visitors.html_page("settings", self._page), methods=["GET"]),
            list_route(visitors, "/ui/settings/connections", self._connections, "ui_connections"),
            list_route(visitors, "/ui/settings/shares", self._shares, "ui_shares"),
            Route("/ui/settings/shares", share, methods=["POST"]),
            Route("/ui/settings/shares/{id}/end", end_share, methods=["POST"]),
            list_route(visitors, "/ui/settings/executors", self._executors, "ui_executors", WRITES),
            # The page asks for it when it is there: it may take seconds.
            Route("/ui/settings/health", self._health, methods=["GET"]),
            Route("/ui/settings/connections/{id}/end", end_grant, methods=["POST"]),
            Route("/ui/settings/executors/{id}/end", end_executor, methods=["POST"]),
        ]

    def _page(self, visit: Visit) -> HtmlPage:
        owner, facts = visit.caller.owner, dict[str, Json]()
        facts["connections"] = first_rows(self._connections, owner, 3)
        facts["shares"] = first_rows(self._shares, owner, 3)
        lacks = self._persons.lacking(visit.caller)
        facts["asksPin"] = lacks is not None and lacks.code == PIN_NEEDED
        facts["lacks"] = None if lacks is None or lacks.code == PIN_NEEDED else str(lacks)
        facts["how"] = _how_clients_come(self._app.settings)
        try:
            facts["executors"] = first_rows(self._executors, owner, 3)
        except Unavailable as error:
            facts |= {"executors": {"rows": [], "total": 0}, "why": str(error)}
        return shell_page(PAGE, visit, facts)

    def _connections(self, owner: Owner) -> tuple[Iterable[JsonObject], int]:
        grants = self._grants.of(owner)
        return map(_connection, grants), len(grants)

    def _end_connection(self, visit: Visit, _: Nothing) -> JsonObject:
        ended = self._grants.revoke(visit.request.path_params["id"], visit.caller.owner)
        return {"ended": ended.id}

    def _shares(self, owner: Owner) -> tuple[Iterable[JsonObject], int]:
        shares = self._app.sharing.shares
        given: list[JsonObject] = [
            {"id": one.id, "folder": visible(one.folder), "with": visible(one.receiver_name), "since": one.since}
            for one in shares.given(owner)
        ]
        received: list[JsonObject] = [
            {"id": one.id, "folder": visible(one.place), "by": visible(one.giver_name), "since": one.since}
            for one in shares.received(owner)
        ]
        return [*given, *received], len(given) + len(received)

    def _share(self, visit: Visit, sent: ShareRequest) -> JsonObject:
        """Share a folder. Only a person may."""
        self._persons.check(visit.caller, sent.value)
        made = self._app.sharing.give(visit.caller.owner, sent.folder, sent.receiver)
        return {"shared": made.id}

    def _end_share(self, visit: Visit, _: Nothing) -> JsonObject:
        return {"ended": self._app.sharing.end(visit.caller.owner, visit.request.path_params["id"]).id}

    def _executors(self, owner: Owner) -> tuple[Iterable[JsonObject], int]:
        found = self._app.code.executors(owner)
        return map(_executor, found), len(found)

    def _end_executor(self, visit: Visit, _: Nothing) -> JsonObject:
        self._app.code.end_executor(visit.caller.owner, visit.request.path_params["id"])
        return {"ended": visit.request.path_params["id"]}

    async def _health(self, request: Request) -> Response:
        """All that the doctor finds for the person at this machine; for others, what concerns them."""
        caller, _ = await self._visitors.caller(request)
        # A person who needs no credential may read the data folder, too.
        whole = caller.owner == LOCAL and caller.proof == "local"

        def found(owner: Owner, _: Request) -> JsonObject:
            findings = list(self._app.examined(owner, whole=whole))
            rows: list[Json] = [
                {
                    **asdict(one),
                    "what": one.what[:LONGEST_FINDING],
                    "advice": one.advice and one.advice[:LONGEST_FINDING],
                }
                for one in findings[:MOST_FINDINGS]
            ]
            return {"whole": whole, "rows": rows, "total": len(findings)}

        return await self._visitors.facts(found, "ui_health", SEARCHES)(request)


def _connection(one: Grant) -> JsonObject:
    """A client that the person let in. It chose its name and its addresses."""
    return {
        "id": one.id,
        "name": visible(one.client_name),
        "home": (home := home_of(one.client)) and visible(home),
        "place": visible(one.place),
        "may": [SCOPES[scope] for scope in one.scopes],
        "created": one.created,
        "used": iso(one.renewed),
        "until": iso(one.until),
        "asksAgain": one.by.issuer is not None,
    }


def _how_clients_come(settings: Settings) -> str:
    """How a connection comes about here, for a person who has none."""
    if settings.oauth == "built-in":
        return (
            "You have let no client in. To connect one that runs on your machine: loci connect. Into others, such as"
            f" Claude or ChatGPT, paste {settings.base_url}/mcp: they ask you here what they may do."
        )
    if settings.oidc_issuer:
        where = visible(urlsplit(settings.oidc_issuer).netloc)
        return f"Clients get their tokens from {where}, and not by a consent here: it is where you end their access."
    return "No client connects by consent here: clients start Loci themselves, or come with an API key if it needs one."


def _executor(one: "LivingExecutor") -> JsonObject:
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
