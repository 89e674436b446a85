"""The protocol over a program that Loci starts on this machine: its pipes, its standard error, and its end."""

import asyncio
import json
import os
import signal
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress

import anyio
from anyio.abc import ObjectReceiveStream, ObjectSendStream
from mcp.shared.message import SessionMessage
from mcp_types import JSONRPCMessage, jsonrpc_message_adapter

from loci.adapters.tool_servers.diagnostics import LARGEST_ANSWER, ServerActivity
from loci.core.json import read_whole
from loci.core.settings import INSIDE
from loci.gateway.tool_server import Program

END_SECONDS = 0.5
"""Seconds in which a program should end after its output has ended."""
INHERITED = ("HOME", "LANG", "LC_ALL", "LOGNAME", "SHELL", "TERM", "TMPDIR", "TZ", "USER")
"""The variables of this process' environment that a server may need. None of Loci's or of AWS: they are secrets."""
STDERR_TAIL = 256 * 1024
"""The bytes of standard error that are kept: a secret in them must be whole, however it is written."""
ERRORS_AT_ONCE, ERRORS_A_SECOND = 64 * 1024, 8_000_000
"""The bytes that are read of its standard error: at once, and in a second."""
GRACE_SECONDS = 2.0
"""The time to end by itself once its input is closed, and again after it was told to terminate."""
LOOK_SECONDS = 0.02
LAST_LOOK_SECONDS = 0.05
"""The time to read the last words of a program, which may still be in the pipe after its end."""


class _Pipes(asyncio.subprocess.SubprocessStreamProtocol):
    """Reports the program's end at once, and ends its output then, even if a grandchild holds the pipes open."""

    def __init__(self) -> None:
        super().__init__(limit=LARGEST_ANSWER, loop=asyncio.get_running_loop())
        self.ended = asyncio.Event()
        self._output: asyncio.BaseTransport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)
        if isinstance(transport, asyncio.SubprocessTransport):
            self._output = transport.get_pipe_transport(1)

    def process_exited(self) -> None:
        self.ended.set()
        if self._output is not None:
            asyncio.get_running_loop().call_later(LAST_LOOK_SECONDS, self._output.close)
        super().process_exited()


class ChildProcess:
    """A program in a process group of its own, so that what it starts ends with it."""

    def __init__(self, transport: asyncio.SubprocessTransport, protocol: _Pipes) -> None:
        self._transport = transport
        self.ended = protocol.ended
        process = asyncio.subprocess.Process(transport, protocol, asyncio.get_running_loop())
        if process.stdin is None or process.stdout is None or process.stderr is None:
            raise RuntimeError("The program was started without pipes")
        self._input, self.output, self._errors = process.stdin, process.stdout, process.stderr
        self._said = b""
        self._listener = asyncio.create_task(self._listen())

    @classmethod
    async def start(cls, program: Program) -> "ChildProcess":
        """Start it. Raises `OSError` or `ValueError` if that is not possible."""
        loop = asyncio.get_running_loop()
        transport, protocol = await loop.subprocess_exec(
            _Pipes,
            program.command,
            *program.args,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            env=environment(program),
            cwd=program.folder,
            start_new_session=True,
        )
        return cls(transport, protocol)

    async def write(self, line: bytes) -> None:
        self._input.write(line)
        await self._input.drain()

    def stderr_tail(self) -> str:
        """The end of what it wrote to its standard error."""
        return self._said.decode(errors="replace")

    def exit_code(self) -> int | None:
        return self._transport.get_returncode()

    async def end(self) -> None:
        """Close its input, then terminate it, then kill it, with all that it has started."""
        try:
            self._input.close()
            await self.await_end(GRACE_SECONDS)
            if self._signal(signal.SIGTERM):
                await self._await_group(GRACE_SECONDS)
        finally:
            self._signal(signal.SIGKILL)
            self._listener.cancel()
        await self.await_end(GRACE_SECONDS)
        self._transport.close()

    async def await_end(self, seconds: float) -> None:
        """Wait so long at most."""
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self.ended.wait()

    async def _await_group(self, seconds: float) -> None:
        for _ in range(round(seconds / LOOK_SECONDS)):
            if not self._signal(0):
                return
            await asyncio.sleep(LOOK_SECONDS)

    def _signal(self, number: int) -> bool:
        """Send the signal to the whole group; False if nobody is left in it."""
        try:
            os.killpg(self._transport.get_pid(), number)
        except ProcessLookupError:
            return False
        except PermissionError:  # macOS says so of a group of zombies
            return number == 0 and not self.ended.is_set()
        return True

    async def _listen(self) -> None:
        """Read its standard error, and keep the end. A full pipe would stop it; a flood is read slowly."""
        while chunk := await self._errors.read(ERRORS_AT_ONCE):
            self._said = (self._said + chunk)[-STDERR_TAIL:]
            await asyncio.sleep(len(chunk) / ERRORS_A_SECOND)


def environment(program: Program) -> dict[str, str]:
    """The environment of a server: a few harmless variables, the way to the network of this machine, and its own."""
    inherited = {name: os.environ[name] for name in INHERITED if name in os.environ}
    return inherited | dict(program.network) | dict(program.env) | {INSIDE: "1"}


@asynccontextmanager
async def stdio_transport(
    program: Program, activity: ServerActivity
) -> AsyncGenerator[tuple["ProgramOutput", "ProgramInput"]]:
    """Start the program, and end it with the connection."""
    try:
        child = activity.child = await ChildProcess.start(program)
    except OSError as error:
        activity.not_started = error
        raise
    try:
        yield ProgramOutput(child, activity), ProgramInput(child)
    finally:
        with anyio.CancelScope(shield=True):
            await child.end()


class ProgramOutput(ObjectReceiveStream[SessionMessage | Exception]):
    """The messages of the program. Lines that are no messages are passed over."""

    def __init__(self, child: ChildProcess, activity: ServerActivity) -> None:
        self._child = child
        self._activity = activity

    async def receive(self) -> SessionMessage:
        while line := await self._line():
            try:
                return SessionMessage(_message(line))
            except ValueError:
                if not self._activity.message():
                    break
        raise anyio.EndOfStream

    async def aclose(self) -> None:
        """Do nothing: the pipe is closed with the program."""

    async def _line(self) -> bytes:
        try:
            line = await self._child.output.readline()
        except ValueError:
            self._activity.trouble(f"it sent a message of more than {LARGEST_ANSWER // 1_000_000} MB")
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


class ProgramInput(ObjectSendStream[SessionMessage]):
    """Sends the client's messages to the program."""

    def __init__(self, child: ChildProcess) -> None:
        self._child = child

    async def send(self, item: SessionMessage) -> None:
        content = item.message.model_dump_json(by_alias=True, exclude_unset=True)
        try:
            await self._child.write(content.encode() + b"\n")
        except (OSError, RuntimeError):
            raise anyio.BrokenResourceError from None

    async def aclose(self) -> None:
        """Do nothing: the pipe is closed with the program."""
