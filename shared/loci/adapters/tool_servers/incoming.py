"""The messages of a server, counted."""

from collections.abc import Callable
from types import TracebackType
from typing import TYPE_CHECKING, Protocol, Self

import anyio

from loci.adapters.tool_servers.heard import Heard

if TYPE_CHECKING:
    from contextvars import Context

    from mcp.shared.message import SessionMessage


class Receiving(Protocol):
    async def receive(self) -> "SessionMessage | Exception": ...

    async def aclose(self) -> None: ...


class Incoming:
    """A stream of the official client that ends if the server floods it, and tells of its end."""

    def __init__(self, stream: Receiving, heard: Heard, ended: Callable[[], None]) -> None:
        self._stream = stream
        self._heard = heard
        self._ended = ended

    @property
    def last_context(self) -> "Context | None":
        return getattr(self._stream, "last_context", None)

    async def receive(self) -> "SessionMessage | Exception":
        try:
            message = await self._stream.receive()
        except (anyio.EndOfStream, anyio.ClosedResourceError):
            self._ended()
            raise
        if not self._heard.message():
            self._ended()
            raise anyio.EndOfStream
        return message

    async def aclose(self) -> None:
        await self._stream.aclose()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> "SessionMessage | Exception":
        try:
            return await self.receive()
        except anyio.EndOfStream:
            raise StopAsyncIteration from None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc_val: BaseException | None,
        exc_tb: TracebackType | None,
    ) -> None:
        await self.aclose()
