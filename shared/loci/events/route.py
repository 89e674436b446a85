"""`GET /events`: an owner's events, as they happen."""

import json
import time
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import ExitStack
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, Protocol

from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.types import Receive, Scope, Send

from loci.core.errors import LociError, Refused
from loci.core.identity import Caller, Owner
from loci.events.api import LOOK_SECONDS, TOO_MANY, Events, Waker, parsed_kinds, visible_events
from loci.events.event import Event, EventBatch, EventPosition
from loci.mcp.http.address import Addresses, check_single
from loci.mcp.http.refusal import Refusal, closing, error_answer
from loci.mcp.threads import FOLLOWED, on_thread, on_thread_of

if TYPE_CHECKING:
    from loci.app import App

RETRY_MS: Final = 1000
"""Milliseconds after which a client asks again."""
PAUSE_MS: Final = 3000
"""The same behind API Gateway, after an event. Each answer without one makes the pause longer."""
LONGER: Final = 1.5
LONGEST_PAUSE_MS: Final = 30_000
MOST_QUIET: Final = 6
"""The number of answers without an event after which the pause grows no more."""
QUIET_MARK: Final = "~"
"""In an id behind API Gateway: before the number of answers without an event."""
BEAT_SECONDS: Final = 15.0
"""Seconds between two signs of life, and two checks of the credential."""
HEADERS: Final = {
    "Cache-Control": "no-store",
    "X-Accel-Buffering": "no",  # nginx would keep events until it has many
    "X-Content-Type-Options": "nosniff",
}


@dataclass(frozen=True, slots=True)
class EventRequest:
    """The parameters of a request for events."""

    owner: Owner
    kinds: frozenset[str]
    after: EventPosition | None
    last: int
    quiet: int
    """The number of answers without an event before this request, which the client's id has kept."""


async def event_stream(
    events: Events, asked: EventRequest, place: EventPosition, waker: Waker, is_allowed: Callable[[], Awaitable[bool]]
) -> AsyncGenerator[str]:
    """The parts of the answer from this place on, each of whole events."""
    # Before older events no id is known yet: with one, a reader who comes back would miss them.
    is_late = asked.after is None and asked.last > 0
    yield f"retry: {RETRY_MS}\n\n" if is_late else f"retry: {RETRY_MS}\nid: {place.id}\n\n"
    beat = time.monotonic() + BEAT_SECONDS
    told_place = place
    while not events.streams.is_over:
        # Before anything is read: a slow reader may have taken long for what came before.
        if time.monotonic() >= beat:
            if not await is_allowed():
                return
            beat = time.monotonic() + BEAT_SECONDS
            yield ":\n\n" if told_place == place else f"id: {place.id}\n\n"
            told_place = place
            continue
        try:
            read = await on_thread_of(FOLLOWED, events.log.after, asked.owner, place)
        except LociError:  # the store fails just now: the next look may succeed
            read = EventBatch((), place)
        place = read.place
        if found := visible_events(read, asked.kinds, time.time()):
            yield "".join(as_text(at, event) for at, event in found)
            told_place = found[-1][0] or told_place
        if not read.is_more:
            await waker.wait(max(0.0, min(LOOK_SECONDS, beat - time.monotonic())))
    if told_place != place:  # the events after the last sent one are of other kinds
        yield f"id: {place.id}\n\n"


async def events_now(events: Events, asked: EventRequest, place: EventPosition) -> AsyncGenerator[str]:
    """The answer behind API Gateway: what there is, and when to ask again. Waiting would cost a function's time."""
    found = list[tuple[EventPosition | None, Event]]()
    is_more = True
    while is_more and not found:
        try:
            read = await on_thread_of(FOLLOWED, events.log.after, asked.owner, place)
        except LociError:  # the store fails just now: the next request may succeed
            break
        found, place, is_more = visible_events(read, asked.kinds, time.time()), read.place, read.is_more
    quiet = 0 if found else min(asked.quiet + 1, MOST_QUIET)
    yield f"retry: {min(round(PAUSE_MS * LONGER**quiet), LONGEST_PAUSE_MS)}\n\n"
    yield "".join(as_text(at, event) for at, event in found)
    yield f"id: {place.id}{QUIET_MARK}{quiet}\n\n"


def as_text(place: EventPosition | None, event: Event) -> str:
    """The event on the wire. JSON in ASCII has no line break, so nothing in it can begin another field."""
    id = "" if place is None else f"id: {place.id}\n"
    return f"{id}event: {event.kind}\ndata: {json.dumps(event.as_json(), separators=(',', ':'))}\n\n"


class CallerFinder(Protocol):
    """Finds the caller of a request: by a credential, or by the cookie of a browser that signed in."""

    async def caller(self, request: Request) -> tuple[Caller, bool]: ...


class EventsRoute:
    """An ASGI application."""

    def __init__(self, app: "App", visitors: CallerFinder, *, is_open: bool) -> None:
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
        asked, events = _parsed_request(request, caller), await on_thread(lambda: self._app.events)
        # Behind API Gateway an answer is sent when it has ended.
        is_brief = "aws.event" in request.scope
        waker = None if is_brief else opened.enter_context(events.streams.open(caller.owner))
        place = asked.after
        if place is None:
            place = await on_thread_of(FOLLOWED, events.start_position, asked.owner, asked.last, asked.kinds)
        if waker is None:
            parts = events_now(events, asked, place)
        else:
            parts = event_stream(events, asked, place, waker, lambda: self._is_still(request, caller))
        return StreamingResponse(self._logged(parts, caller), headers=HEADERS, media_type="text/event-stream")

    async def _logged(self, parts: AsyncGenerator[str], caller: Caller) -> AsyncGenerator[str]:
        began, size = time.perf_counter(), 0
        try:
            async for text in parts:
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
        problem = error_answer(error)
        if isinstance(error, LociError) and error.code == TOO_MANY:
            problem = replace(problem, status=429, message=str(error), headers={"Retry-After": "60"})
        self._app.telemetry.refused(path="/events", status=problem.status, reason=problem.reason or problem.message)
        return JSONResponse(problem.body, problem.status, problem.headers)


def _parsed_request(request: Request, caller: Caller) -> EventRequest:
    """Read the parameters of a request. Raises `Refused` if one is wrong."""
    query = request.query_params
    after = request.headers.get("last-event-id") or query.get("after") or None
    id, _, quiet = (after or "").partition(QUIET_MARK)
    place = EventPosition.parse(id)
    if after is not None and (place is None or quiet not in ("", *map(str, range(MOST_QUIET + 1)))):
        raise Refused(f"{after[:40]!r} is no id of an event", "Leave it out to begin now", code="BAD_EVENT_ID")
    last = query.get("last", "0")
    if not (last.isascii() and last.isdecimal() and len(last) < 6):
        raise Refused("`last` is no number of events", "Give one, such as last=20", code="BAD_COUNT")
    return EventRequest(
        caller.owner,
        parsed_kinds(query.get("kinds")),
        place,
        int(last),
        int(quiet or "0"),
    )


def _cross_origin(origin: str | None) -> dict[str, str]:
    if origin is None:
        return {}
    return {
        "Access-Control-Allow-Origin": origin,
        "Access-Control-Expose-Headers": "WWW-Authenticate",
        "Vary": "Origin",
    }
