"""Events, as the server offers them."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol

from starlette.requests import Request
from starlette.types import ASGIApp

from loci.core.identity import Caller
from loci.mcp.module import Host, Module, ModuleRoute

if TYPE_CHECKING:
    from loci.events.api import Events

PATHS = ("/events", "/ui/events")
"""The second one is for pages: the cookie of a browser that signed in is valid below `/ui`."""


class EventsHost(Host, Protocol):
    """The server's side, and the events themselves."""

    @property
    def events(self) -> "Events": ...


class Visitors(Protocol):
    """Tells who asks: by a credential in the request, or by the cookie of a browser that signed in."""

    async def caller(self, request: Request) -> tuple[Caller, bool]: ...


def events_module(app: EventsHost, visitors: Callable[[bool], Visitors]) -> Module:
    """The streams. `visitors(True)`: callers without a credential are the local person."""

    def streams(is_open: bool) -> ASGIApp:
        from loci.events.route import EventsRoute

        return EventsRoute(app, visitors(is_open), is_open=is_open)

    return Module(name="events", routes=[ModuleRoute(path, streams) for path in PATHS])
