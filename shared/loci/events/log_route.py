"""`GET /log`: an owner's log of calls, page by page."""

from loci.auth.json_route import Answer, JsonRoute, RouteRequest
from loci.core.identity import Caller, Owner
from loci.core.scopes import READS, check_scopes
from loci.events.event import EventPosition
from loci.mcp.http.refusal import Refusal
from loci.mcp.threads import on_thread


class LogRoute(JsonRoute):
    """The calls of the owner since a time, or after the end of an earlier page; or what they wrote."""

    path, methods, usage = "/log", ("GET",), "The log is read with GET"

    async def answer(self, caller: Caller, request: RouteRequest) -> Answer:
        check_scopes(caller, READS, "This")  # it shows what all clients did
        since, id = request.query("since") or "0", request.query("after")
        after = EventPosition.parse(id) if id else None
        if not (since.isascii() and since.isdecimal() and len(since) < 12) or (id and after is None):
            raise Refusal(400, "Give `since` as a Unix time, and `after` as the `next` of an answer")
        tool, writes = request.query("tool"), request.query("writes") in ("1", "true")
        return await on_thread(self._page, caller.owner, int(since), tool, after, writes)

    def _page(self, owner: Owner, since: int, tool: str | None, after: EventPosition | None, writes: bool) -> Answer:
        read = self._app.events.calls(owner, since, tool, after, writes=writes)
        return {"calls": [one.as_json() for _, one in read.events], "next": read.place.id if read.is_more else None}
