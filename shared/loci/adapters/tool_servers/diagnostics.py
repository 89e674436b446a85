"""Diagnostics of tool servers: how far a request has come, what a server said last, and the errors in words."""

import asyncio
import time
from collections.abc import Callable
from contextvars import ContextVar
from dataclasses import dataclass, field
from pathlib import PurePath
from typing import TYPE_CHECKING, Any, Literal, cast

from loci.core.errors import LociError
from loci.core.json import JsonObject
from loci.core.redaction import Redaction
from loci.core.server_questions import ASKS, ServerAsks, ServerQuestion, question_of
from loci.gateway.ports import ProgramFailed, ToolServerError
from loci.gateway.tool_server import Program, ToolServer

if TYPE_CHECKING:
    from loci.adapters.tool_servers.child_process import ChildProcess

AGAIN = "Try again. If it fails again, check the connection to the server and its settings"
CHECK = f"Look first if the call has done something. {AGAIN}"
QUESTIONS = ("elicitation/create", "sampling/createMessage", "roots/list")
MOST_QUOTED = 5
BROUGHT_BY = {
    **dict.fromkeys(("npx", "npm", "node"), "Install Node.js, which has it: https://nodejs.org"),
    **dict.fromkeys(("uvx", "uv"), "Install uv, which has it: https://docs.astral.sh/uv"),
    "docker": "Install Docker: https://docs.docker.com/get-docker",
}
"""How to get the programs that most servers start with."""
ANSWER_SECONDS = 300.0
"""Seconds for which a call waits at a server that asks in the middle of it."""


@dataclass(slots=True)
class PendingRequest:
    """Shared by the caller's thread, the connection and, through the context, the transport."""

    seconds: float
    is_call: bool = False
    """True for a call: once it is sent, it may have done something."""
    stage: Literal["connecting", "waiting", "asked"] = "connecting"
    trouble: ToolServerError | None = None
    """A failure on the way, which the official client does not pass on."""
    asked_at: float = 0.0
    until: float = field(init=False)
    _timer: asyncio.TimerHandle | None = None
    _expire: Callable[[], None] = lambda: None

    def __post_init__(self) -> None:
        self.until = time.monotonic() + self.seconds

    def mark_sent(self) -> None:
        self.stage, self.asked_at = "asked", time.monotonic()

    def limit(self, expire: Callable[[], None]) -> None:
        """Call this function when the time is over."""
        self._expire = expire
        self._timer = asyncio.get_running_loop().call_later(self.seconds_left, expire)

    def stop(self) -> None:
        """Let the time go by: the request has ended, or waits for a person."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def again(self, other: "PendingRequest") -> None:
        """Go on in the time of another request."""
        self.until = other.until
        other.stage, other.is_call, other.asked_at = self.stage, self.is_call, self.asked_at
        self.limit(self._expire)

    @property
    def seconds_left(self) -> float:
        return max(0.0, self.until - time.monotonic())

    @property
    def seconds_to_hear(self) -> float:
        """The seconds until the connection is broken if it is silent: a person may be asked during a call."""
        return self.seconds_left + (ANSWER_SECONDS if self.is_call else 0.0)


PENDING_REQUEST: ContextVar[PendingRequest | None] = ContextVar("pending", default=None)
"""The request in whose context the client sends."""


def server_failed(server: ToolServer, what: str, resolution: str | None = None) -> ToolServerError:
    """The error of a server that failed, or could not be reached."""
    return ToolServerError(f"The tool server {server.name} failed: {what}", resolution or AGAIN)


def program_failed(server: ToolServer, program: Program, why: str | OSError) -> ProgramFailed:
    """The error of a program that ended, or that could not be started."""
    if isinstance(why, str):
        return ProgramFailed(f"The tool server {server.name} failed: {why}", AGAIN)
    name = PurePath(program.command).name
    advice = BROUGHT_BY.get(name, "Install it, or give its whole path")
    where = f" in {program.folder}" if program.folder else ""
    if why.filename == program.folder:
        advice = "Correct its folder"
    what = f"its program {program.command} could not be started{where} ({why.strerror})"
    return ProgramFailed(f"The tool server {server.name} failed: {what}", advice)


def after_sending(error: ToolServerError) -> ToolServerError:
    """The same failure of a call that was sent: it may have done something."""
    if error.resolution != AGAIN:
        return error
    return ToolServerError(error.what, CHECK, code=error.code, details=error.details)


def input_required(server: ToolServer, answer: JsonObject) -> ToolServerError:
    """The error if a result asks for more input (`input_required`, since 2026-07-28)."""
    wanted = answer.get("inputRequests")
    requests = list(cast("dict[str, Any]", wanted).values()) if isinstance(wanted, dict) else []
    said = ", ".join(_question(one, server.redaction()) for one in requests[:MOST_QUOTED]) or "it does not say what"
    what = f"it asks for what nobody can give here: {said}"
    return server_failed(server, what, "Call it again with all that it needs in the arguments, or use another tool")


def asks_by_result(server: ToolServer, answer: JsonObject) -> LociError:
    """The questions in a result that asks for more input, or the error if a person cannot answer all of them."""
    wanted = answer.get("inputRequests")
    requests = cast("dict[str, Any]", wanted) if isinstance(wanted, dict) else {}
    questions: list[ServerQuestion] = []
    for key, one in requests.items():
        match one:
            case {"method": method, "params": params} if method == ASKS and (asked := question_of(key, params)):
                questions.append(asked)
            case _:
                return input_required(server, answer)
    state = answer.get("requestState")
    if not questions or not isinstance(state, str | None):
        return input_required(server, answer)
    return ServerAsks(server.name, questions, state=state)


def _question(request: object, redaction: Redaction) -> str:
    fields = cast("dict[str, Any]", request) if isinstance(request, dict) else {}
    params = fields.get("params")
    said = cast("dict[str, Any]", params).get("message") if isinstance(params, dict) else None
    method = fields.get("method")
    known = method if method in QUESTIONS else "something"
    return f"{known} {quoted(said, redaction)}" if isinstance(said, str) and said else str(known)


def circuit_open(server: ToolServer, failures: int, seconds: float, last: str) -> ToolServerError:
    """The error while the circuit is open: the server failed too often, and is not asked for a while."""
    return ToolServerError(
        f"{last}. It has failed {failures} times in a row, and nothing was asked this time",
        f"The next try is possible in {max(1, round(seconds))} s. Check the settings of {server.name} until then",
        details={"retry_after_seconds": max(1, round(seconds))},
    )


def cancelled_call(server: ToolServer, pending: PendingRequest) -> ToolServerError:
    """The error of a call that was cancelled."""
    told = "It was told that nobody waits any more" if pending.stage == "asked" else "Nothing was asked"
    what = f"The call of the tool server {server.name} was given up. {told}"
    return ToolServerError(what, CHECK if pending.stage == "asked" else AGAIN, code="GIVEN_UP")


def start_advice(server: ToolServer, seconds: float) -> str:
    """Advice for a server that did not start, or could not be reached."""
    look = f"`loci tools test {server.name}` tries it"
    if isinstance(server.reach, Program):
        first = f"Run {server.reach.command} once in a terminal: npx, uvx and docker download at the first start"
        return f"{first}, which may take longer than {seconds:.0f} s. Then {look}"
    return f"Check its address, and that it runs. {look}"


def _slow_start(server: ToolServer) -> str:
    if isinstance(server.reach, Program):
        first = "Its start goes on: the first of npx, uvx or docker downloads it. Call again in a minute"
        return f"{first}. If it is always slow, raise `seconds` in the entry of {server.name}"
    return f"Try again, or raise `seconds` in the entry of {server.name}; `loci tools test {server.name}` shows more"


def timed_out(server: ToolServer, pending: PendingRequest) -> ToolServerError:
    """The error of a request that took too long."""
    seconds = max(0.1, round(pending.seconds, 1))  # a little of it goes before it is asked
    match pending.stage:
        case "connecting":
            what, resolution = f"is not connected after {seconds:g} s", f"Nothing was asked. {_slow_start(server)}"
        case "waiting":
            what = f"is busy with other calls, and had no time for this one in {seconds:g} s"
            resolution = "The call was not made. Try again in a moment"
        case "asked":
            what = f"gave no answer in {seconds:g} s. It was told that nobody waits any more"
            first = "Look first if the call has done something, then try" if pending.is_call else "Try"
            resolution = f"{first} again with more time"
    return ToolServerError(f"The tool server {server.name} {what}", resolution)


LARGEST_ANSWER = 10_000_000
"""The largest message of a server, in bytes."""
BURST, A_SECOND = 10_000, 500
"""The messages that a server may send at once, and in the long run in a second. With more it floods Loci."""
LONGEST_QUOTE, LONGEST_READ = 300, 10_000


class ServerActivity:
    """The last activity of a server: written by the transport, read when something goes wrong."""

    def __init__(self) -> None:
        self.at = 0.0
        """The time of the last message."""
        self.child: ChildProcess | None = None
        """The process of the server, if it is a program: the end of its standard error is known."""
        self.not_started: OSError | None = None
        """The reason why its program did not start."""
        self._allowance = float(BURST)
        self._trouble = ""

    def message(self) -> bool:
        """Count a message, and return False if there are too many."""
        now = time.monotonic()
        self._allowance = min(BURST, self._allowance + (now - self.at) * A_SECOND) - 1
        self.at = now
        if self._allowance < 0:
            self.trouble("it sends too many messages")
            return False
        return True

    def trouble(self, what: str) -> None:
        """Keep the trouble in Loci's own words, such as “it sends too many messages”."""
        self._trouble = self._trouble or what

    def end(self, redaction: Redaction, late: str = "") -> str:
        """The reason why the connection ended, in one printable line; empty if unknown. `late`: why Loci ended it."""
        if self._trouble or self.child is None:
            return self._trouble or late
        code, said = self.child.exit_code(), quoted(self.child.stderr_tail(), redaction)
        ended = "" if code is None else f"it was ended by signal {-code}" if code < 0 else f"it ended with code {code}"
        return ": ".join(part for part in (late or ended, said) if part)


def quoted(text: str, redaction: Redaction) -> str:
    """The end of a server's message as a short, printable line in quotes; empty if the message is empty.

    Secrets are blanked first: half of a secret would not be found.
    """
    end = redaction.text(text)[-LONGEST_READ:]
    line = " ".join("".join(one if one.isprintable() else " " for one in end).split())
    if len(line) > LONGEST_QUOTE:
        line = f"…{line[-LONGEST_QUOTE:]}"
    return f"“{line}”" if line else ""
