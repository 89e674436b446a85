"""Structured logs and metrics, and calls, whose ends they tell. They hold names and sizes, never contents."""

import logging
import os
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal, TextIO

from aws_lambda_powertools.logging import Logger
from aws_lambda_powertools.metrics import Metrics, MetricUnit

from loci.core import tracing
from loci.core.errors import LociError
from loci.core.identity import Caller

Outcome = Literal["ok", "error", "bug"]
Door = Literal["mcp", "cli", "code", "workflow", "page"]
"""The door of a call: the protocol, `loci call`, code in a sandbox, a task of a workflow, or a page."""
HowAsked = Literal["here", "page", "wait"]
"""How a person is asked: by the door itself, on a page that the client shows, or wherever they look, while the call
waits."""
UNKNOWN = "unknown"
"""Stands for a name that no tool has: that is the caller's text."""


@dataclass(frozen=True, slots=True)
class Called:
    """A call that has ended."""

    tool: str
    caller: Caller
    door: Door
    ms: float
    outcome: Outcome
    code: str
    """The code of the error; empty if the call worked."""
    asked: int
    """Characters of the arguments."""
    answered: int
    counted_as: str | None = None
    """The id under which its use is counted; None if it says nothing about which tools are used together."""
    is_upstream: bool = False
    """True: the tool is another server's."""
    arguments: Mapping[str, object] = field(default_factory=dict[str, object], repr=False, compare=False)
    """The arguments, which may be secret: logs and events hold only their sizes."""


class _Stderr(logging.StreamHandler[TextIO]):
    """Writes to the current `sys.stderr`; stdout may carry the protocol."""

    def emit(self, record: logging.LogRecord) -> None:
        self.stream = sys.stderr
        super().emit(record)


class _Plain(logging.Formatter):
    """Formats a record as one line for people."""

    def format(self, record: logging.LogRecord) -> str:
        fields = getattr(record, "fields", {})
        details = " ".join(f"{name}={value}" for name, value in fields.items())
        line = (
            f"{self.formatTime(record, '%H:%M:%S')} {record.levelname.lower()} {record.getMessage()} {details}".rstrip()
        )
        return f"{line}\n{self.formatException(record.exc_info)}" if record.exc_info else line


class Telemetry:
    """The log of what Loci did: lines of JSON, or lines for people on a terminal."""

    def __init__(self, level: str = "INFO", *, plain: bool | None = None) -> None:
        function = os.environ.get("AWS_LAMBDA_FUNCTION_NAME")
        # Each name with each set of dimensions is a metric that costs money, so there is one dimension: the stage,
        # with which the names of its functions begin. The log has the tools.
        stage = function.rpartition("-")[0] or function if function else None
        self._metrics = Metrics(namespace="Loci", service=stage) if stage else None
        self._plain = _for_people() if plain or (plain is None and sys.stderr.isatty()) else None
        self._json = Logger(service="loci", level=level, logger_handler=_Stderr(), location=None)
        self._json.setLevel(level)  # otherwise Powertools keeps the level of the process's first app
        logging.getLogger("loci").propagate = False  # Lambda puts its own handler on the root logger
        if self._plain:
            self._plain.setLevel(level)
        setattr(logging, "logAsyncioTasks", False)  # noqa: B010 (Python 3.12 would put a task's name on each line)
        # The SDK's transport writes a line about each request.
        logging.getLogger("mcp").setLevel(logging.WARNING)
        if problem := tracing.start():
            (self._plain or self._json).warning(problem)

    def call(
        self, *, tool: str, door: str, owner: str, ms: float, outcome: Outcome, code: str, asked: int, answered: int
    ) -> None:
        """Log one tool call, and on Lambda send its metrics."""
        self._say(
            "call",
            tool=tool,
            door=door,
            owner=owner,
            ms=round(ms, 2),
            outcome=outcome,
            code=code,
            asked=asked,
            answered=answered,
        )
        if self._metrics is not None:
            self._metrics.add_metric("Duration", MetricUnit.Milliseconds, ms)
            self._metrics.add_metric("Errors", MetricUnit.Count, 0 if outcome == "ok" else 1)
            self._metrics.flush_metrics()

    def ran(self, *, owner: str, ms: float, outcome: str, tools: Mapping[str, int], denied: int) -> None:
        """Log one run of a caller's code: which tools it called and how often, never their arguments."""
        self._say("ran", owner=owner, ms=round(ms, 2), outcome=outcome, tools=dict(tools), denied=denied)

    def not_started(self, *, language: str, reason: str) -> None:
        """Log why a sandbox did not start: on AWS its own role may not write to a log."""
        self._say("sandbox did not start", language=language, reason=reason)

    def upload_seen(self, key: str, *, is_document: bool) -> None:
        """Log one upload, at debug level."""
        self._json.debug("upload seen", extra={"key": key, "is_document": is_document})

    def upload_failed(self, message: str, error: BaseException) -> None:
        """Log a queue message that failed. The queue repeats it, and puts it aside after the last try."""
        if isinstance(error, LociError):
            self._say("upload failed", message_id=message, code=error.code, reason=str(error))
        else:
            self._say("bug", error, where="ingest", message_id=message)

    def refused(self, *, path: str, status: int, reason: str) -> None:
        """Log a request that was refused before any tool ran. The path has no query string."""
        self._say("refused", path=path, status=status, reason=reason)

    def not_told(self, *, where: str, reason: str, tries: int) -> None:
        """Log a notice to a person that did not arrive. `where` is a host or a topic, never a whole address."""
        self._say("not told", where=where, reason=reason, tries=tries)

    def tolerated(self, what: str) -> None:
        """Log a client's mistake that Loci works around on purpose."""
        self._say("tolerated", what=what)

    def bug(self, where: str, error: BaseException) -> None:
        """Log an unexpected error with its traceback."""
        self._say("bug", error, where=where)

    def _say(self, message: str, error: BaseException | None = None, **fields: object) -> None:
        level = logging.INFO if error is None else logging.ERROR
        if self._plain:
            self._plain.log(level, message, exc_info=error, extra={"fields": fields})
        elif error is None:
            self._json.info(message, extra=fields)
        else:
            self._json.error(message, exc_info=error, extra=fields)


def _for_people() -> logging.Logger:
    logger = logging.getLogger("loci.terminal")
    handler = _Stderr()
    handler.setFormatter(_Plain())
    logger.handlers = [handler]
    logger.propagate = False
    return logger


class Calls:
    """Writes a line about each call to the log, and tells who counts."""

    def __init__(self, telemetry: Telemetry, count: Callable[[Called], None]) -> None:
        """`count` must not wait for anything: the call has not been answered yet."""
        self._telemetry = telemetry
        self._count = count

    def ended(self, called: Called) -> None:
        """The call has ended."""
        self._telemetry.call(
            tool=called.tool,
            door=called.door,
            owner=called.caller.owner.key,
            ms=called.ms,
            outcome=called.outcome,
            code=called.code,
            asked=called.asked,
            answered=called.answered,
        )
        tracing.ended(called)
        self._count(called)
