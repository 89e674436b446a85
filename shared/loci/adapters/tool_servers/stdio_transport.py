"""The protocol over a program's standard input and output, as a transport of the official client."""

import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from types import TracebackType
from typing import Self

import anyio
from mcp.shared.message import SessionMessage
from mcp_types import JSONRPCMessage, jsonrpc_message_adapter

from loci.adapters.tool_servers.child_process import ChildProcess
from loci.adapters.tool_servers.heard import Heard
from loci.adapters.tool_servers.limits import LARGEST_ANSWER
from loci.core.json import read_whole
from loci.tools.tool_server import Program

END_SECONDS = 0.5
"""The end of a program follows that of its output."""


@asynccontextmanager
async def stdio_transport(program: Program, heard: Heard) -> AsyncGenerator[tuple["Output", "Input"]]:
    """Start the program, and end it with the connection."""
    child = await ChildProcess.start(program, LARGEST_ANSWER)
    heard.of(child)
    try:
        yield Output(child, heard), Input(child)
    finally:
        with anyio.CancelScope(shield=True):
            await child.end()


class Output:
    """The messages of the program. Lines that are no messages are passed over."""

    def __init__(self, child: ChildProcess, heard: Heard) -> None:
        self._child = child
        self._heard = heard

    async def receive(self) -> SessionMessage:
        while line := await self._line():
            try:
                return SessionMessage(_message(line))
            except ValueError:
                if not self._heard.message():
                    break
        raise anyio.EndOfStream

    async def aclose(self) -> None:
        """Do nothing: the pipe is closed with the program."""

    async def _line(self) -> bytes:
        try:
            line = await self._child.output.readline()
        except ValueError:
            self._heard.trouble(f"it sent a message of more than {LARGEST_ANSWER // 1_000_000} MB")
            return b""
        if not line:
            await self._child.await_end(END_SECONDS)
        return line


def _message(line: bytes) -> JSONRPCMessage:
    """The message. A server that cuts texts may write half a character, which the client does not read."""
    try:
        return jsonrpc_message_adapter.validate_json(line, by_name=False)
    except ValueError:
        if b"\\ud" not in line.lower():
            raise
        return jsonrpc_message_adapter.validate_json(json.dumps(read_whole(line.decode())), by_name=False)


class Input:
    """Sends the client's messages to the program."""

    def __init__(self, child: ChildProcess) -> None:
        self._child = child

    async def send(self, item: SessionMessage, /) -> None:
        content = item.message.model_dump_json(by_alias=True, exclude_unset=True)
        try:
            await self._child.write(content.encode() + b"\n")
        except (OSError, RuntimeError):
            raise anyio.BrokenResourceError from None

    async def aclose(self) -> None:
        """Do nothing: the pipe is closed with the program."""

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc_val: BaseException | None,
        exc_tb: TracebackType | None,
    ) -> None:
        await self.aclose()
