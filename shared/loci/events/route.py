"""`GET /events`: an owner's events, as they happen."""

import time
from collections.abc import AsyncGenerator
from contextlib import ExitStack
from dataclasses import replace
from typing import Final

from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.types import Receive, Scope, Send

from loci.core.errors import LociError, Refused
from loci.core.identity import Caller
from loci.events.api import parsed_kinds
from loci.events.event import Place
from loci.events.module import EventsHost, Visitors
from loci.events.stream import Asked, Stream
from loci.events.streams import TOO_MANY
from loci.mcp.http.address import Addresses
from loci.mcp.http.refusal import Refusal, check_single, closing, problem_of
from loci.mcp.threads import on_thread

HEADERS: Final = {
    "Cache-Control": "no-store",
    "X-Accel-Buffering": "no",  # nginx would keep events until it has many
    "X-Content-Type-Options": "nosniff",
}


class EventsRoute:
    """An ASGI application."""

    def __init__(self, app: EventsHost, visitors: Visitors, *, is_open: bool) -> None:
        self._app = app
        self._visitors = visitors
        self._addresses = Addresses(app.settings, is_open=is_open)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        with ExitStack() as opened:
            await self._serve(scope, receive, send, opened)

    async def _serve(self, scope: Scope, receive: Receive, send: Send, opened: ExitStack) -> None:
        request, origin = Request(scope, receive), None
        try:
            check_single(scope)
            origin = self._addresses.check(request.headers, has_pages=True)
            answer = await self._answer(request, origin, opened)
        except (Refusal, LociError) as error:
            answer = self._refused(error)
        for name, value in _cross_origin(origin).items():
            answer.headers[name] = value
        if answer.status_code >= 400:
            for name, value in closing(scope):
                answer.headers[name.decode()] = value.decode()
        await answer(scope, receive, send)

    async def _answer(self, request: Request, origin: str | None, opened: ExitStack) -> Response:
        if request.method == "OPTIONS" and origin is not None:
            wanted = request.headers.get("access-control-request-headers", "")
            allowed = {"Access-Control-Allow-Methods": "GET", "Access-Control-Allow-Headers": wanted}
            return Response(status_code=204, headers={**allowed, "Access-Control-Max-Age": "600"})
        if request.method != "GET":
            raise Refusal(405, "Events are read with GET", headers={"Allow": "GET"})
        caller, _ = await self._visitors.caller(request)
        asked, events = _asked(request, caller), await on_thread(lambda: self._app.events)
        waker = opened.enter_context(events.streams.opened(caller.owner))
        stream = Stream(events, asked, waker, lambda: self._is_still(request, caller))
        await stream.begin()
        return StreamingResponse(self._told(stream, caller), headers=HEADERS, media_type="text/event-stream")

    async def _told(self, stream: Stream, caller: Caller) -> AsyncGenerator[str]:
        began, size = time.perf_counter(), 0
        try:
            async for text in stream.texts():
                size += len(text)
                yield text
        finally:
            ms = (time.perf_counter() - began) * 1000
            self._app.telemetry.call(
                tool="events", door="page", owner=caller.owner.key, ms=ms, outcome="ok", code="", asked=0, answered=size
            )

    async def _is_still(self, request: Request, caller: Caller) -> bool:
        """True if the credential is still good, and names the same owner."""
        try:
            return (await self._visitors.caller(request))[0].owner == caller.owner
        except Refusal as refusal:
            return refusal.status == 503
        except LociError:
            return True  # the store cannot say so now

    def _refused(self, error: Refusal | LociError) -> Response:
        problem = problem_of(error)
        if isinstance(error, LociError) and error.code == TOO_MANY:
            problem = replace(problem, status=429, message=str(error), headers={"Retry-After": "60"})
        self._app.telemetry.refused(path="/events", status=problem.status, reason=problem.reason or problem.message)
        return JSONResponse(problem.body, problem.status, problem.headers)


def _asked(request: Request, caller: Caller) -> Asked:
    """Read the wishes of a request. Raises `Refused` if they cannot be met."""
    query = request.query_params
    after = request.headers.get("last-event-id") or query.get("after") or None
    place = None if after is None else Place.of(after)
    if after is not None and place is None:
        raise Refused(f"{after[:40]!r} is no id of an event", "Leave it out to begin now", code="BAD_EVENT_ID")
    last = query.get("last", "0")
    if not (last.isascii() and last.isdecimal() and len(last) < 6):
        raise Refused("`last` is no number of events", "Give one, such as last=20", code="BAD_COUNT")
    return Asked(
        caller.owner,
        parsed_kinds(query.get("kinds")),
        place,
        int(last),
        # Behind API Gateway an answer is sent when it has ended.
        is_brief="aws.event" in request.scope,
    )


def _cross_origin(origin: str | None) -> dict[str, str]:
    if origin is None:
        return {}
    return {
        "Access-Control-Allow-Origin": origin,
        "Access-Control-Expose-Headers": "WWW-Authenticate",
        "Vary": "Origin",
    }
