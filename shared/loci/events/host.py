"""The product and its visitors, as the streams of events see them."""

from typing import Protocol

from starlette.requests import Request

from loci.core.identity import Caller
from loci.events.api import Events
from loci.mcp.module import Host


class EventsHost(Host, Protocol):
    """The server's side, and the events themselves."""

    @property
    def events(self) -> Events: ...


class Visitors(Protocol):
    """Tells who asks: by a credential in the request, or by the cookie of a browser that signed in."""

    async def caller(self, request: Request) -> tuple[Caller, bool]: ...
