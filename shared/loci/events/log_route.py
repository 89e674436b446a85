"""`GET /log`: an owner's log of calls, page by page."""

from typing import TYPE_CHECKING
from urllib.parse import parse_qs

from starlette.datastructures import Headers
from starlette.types import Receive, Scope, Send

from loci.auth.gate import Gate
from loci.core.identity import Owner
from loci.core.json import JsonObject
from loci.core.scopes import READS, check_scopes
from loci.events.event import EventPosition
from loci.mcp.http.address import Addresses, check_single
from loci.mcp.http.refusal import Refusal, answer_json
from loci.mcp.threads import on_thread

if TYPE_CHECKING:
    from loci.app import App


class LogRoute:
    """An ASGI application. The owner is derived from the credential."""

    def __init__(self, app: "App", *, is_open: bool) -> None:
        self._app = app
        self._gate = Gate(app, is_open=is_open)
        self._addresses = Addresses(app.settings, is_open=is_open)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:  # noqa: ARG002 (a GET has no body)
        await answer_json(scope, send, self._serve(scope), self._app.telemetry, "/log")

    async def _serve(self, scope: Scope) -> JsonObject:
        headers = Headers(scope=scope)
        check_single(scope)
        self._addresses.check(headers)
        if scope["method"] != "GET":
            raise Refusal(405, "The log is read with GET", headers={"Allow": "GET"})
        # What is good at the endpoint is good here: a token names that one.
        caller = await self._gate.recognise({**scope, "path": "/mcp"}, headers)
        check_scopes(caller, READS, "This")  # it shows what all clients did
        query = {name: values[0] for name, values in parse_qs(scope["query_string"].decode("latin-1")).items()}
        since, id = query.get("since", "0"), query.get("after")
        after = EventPosition.parse(id) if id else None
        if not (since.isascii() and since.isdecimal() and len(since) < 12) or (id and after is None):
            raise Refusal(400, "Give `since` as a Unix time, and `after` as the `next` of an answer")
        return await on_thread(self._page, caller.owner, int(since), query.get("tool"), after)

    def _page(self, owner: Owner, since: int, tool: str | None, after: EventPosition | None) -> JsonObject:
        read = self._app.events.calls(owner, since, tool, after)
        return {"calls": [one.as_json() for _, one in read.events], "next": read.place.id if read.is_more else None}
