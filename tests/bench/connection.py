"""A client of one connection that is kept open, as light as can be: the servers are what is measured."""

import asyncio
import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from tests.bench.calls import is_result


class Connection:
    """HTTP/1.1, one request after another."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer

    async def call(self, raw: bytes) -> float:
        """Send the call; the seconds until its whole answer was here. ValueError where that is no result."""
        seconds, _ = await self.answer(raw)
        return seconds

    async def answer(self, raw: bytes) -> tuple[float, str]:
        """The same, with the answer's body."""
        began = time.perf_counter()
        self._writer.write(raw)
        head = (await self._reader.readuntil(b"\r\n\r\n")).decode("latin-1").lower()
        body = (await self._body(head)).decode()
        seconds = time.perf_counter() - began
        if not is_result(int(head.split(" ", 2)[1]), body):
            raise ValueError(f"no result: {head}{body}")
        return seconds, body

    async def _body(self, head: str) -> bytes:
        _, found, length = head.partition("content-length:")
        if found:
            return await self._reader.readexactly(int(length.split("\r\n", 1)[0]))
        body = b""
        while size := int(await self._reader.readline(), 16):
            body += (await self._reader.readexactly(size + 2))[:-2]
        await self._reader.readline()
        return body


@asynccontextmanager
async def connected(port: int) -> AsyncGenerator[Connection]:
    """A connection to the server at this port of the loopback."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        yield Connection(reader, writer)
    finally:
        writer.close()
