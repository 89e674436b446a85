"""Events, as the server offers them."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from starlette.types import ASGIApp

from loci.mcp.module import Module, ModuleRoute

if TYPE_CHECKING:
    from loci.events.host import EventsHost, Visitors

PATHS = ("/events", "/ui/events")
"""The second one is for pages: the cookie of a browser that signed in is valid below `/ui`."""


def events_module(app: "EventsHost", visitors: "Callable[[bool], Visitors]") -> Module:
    """The streams. `visitors(True)`: callers without a credential are the local person."""

    def streams(is_open: bool) -> ASGIApp:
        from loci.events.route import EventsRoute

        return EventsRoute(app, visitors(is_open), is_open=is_open)

    return Module(name="events", routes=[ModuleRoute(path, streams) for path in PATHS])
