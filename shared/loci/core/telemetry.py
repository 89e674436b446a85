"""Structured logs and metrics: names and sizes, never contents."""

import logging
import os
import sys
from collections.abc import Mapping
from typing import Literal, TextIO

from aws_lambda_powertools.logging import Logger
from aws_lambda_powertools.metrics import Metrics, MetricUnit

from loci.core.errors import LociError

Outcome = Literal["ok", "error", "bug"]


class _Stderr(logging.StreamHandler[TextIO]):
    """Writes to what `sys.stderr` is at that moment; stdout may be the protocol's."""

    def emit(self, record: logging.LogRecord) -> None:
        self.stream = sys.stderr
        super().emit(record)


class _Plain(logging.Formatter):
    """A line for people."""

    def format(self, record: logging.LogRecord) -> str:
        fields = getattr(record, "fields", {})
        details = " ".join(f"{name}={value}" for name, value in fields.items())
        line = (
            f"{self.formatTime(record, '%H:%M:%S')} {record.levelname.lower()} {record.getMessage()} {details}".rstrip()
        )
        return f"{line}\n{self.formatException(record.exc_info)}" if record.exc_info else line


class Telemetry:
    """Where Loci says what it did: lines of JSON, or on a terminal lines for people."""

    def __init__(self, level: str = "INFO", *, plain: bool | None = None) -> None:
        function = os.environ.get("AWS_LAMBDA_FUNCTION_NAME")
        # The function's name says which stage it is: two may lie in one account.
        self._metrics = Metrics(namespace="Loci", service=function) if function else None
        self._plain = _for_people() if plain or (plain is None and sys.stderr.isatty()) else None
        self._json = Logger(service="loci", level=level, logger_handler=_Stderr(), location=None)
        self._json.setLevel(level)  # Powertools keeps a second app's logger at the first one's level
        logging.getLogger("loci").propagate = False  # Lambda has a handler of its own on the root
        if self._plain:
            self._plain.setLevel(level)
        setattr(logging, "logAsyncioTasks", False)  # noqa: B010 (Python 3.12 would put a task's name on each line)
        # The SDK's transport writes a line about each request.
        logging.getLogger("mcp").setLevel(logging.WARNING)

    def call(self, *, tool: str, owner: str, ms: float, outcome: Outcome, code: str, asked: int, answered: int) -> None:
        """One line about one tool call, and on Lambda its metrics."""
        self._say(
            "call", tool=tool, owner=owner, ms=round(ms, 2), outcome=outcome, code=code, asked=asked, answered=answered
        )
        if self._metrics is not None:
            self._metrics.add_dimension(name="tool", value=tool)
            self._metrics.add_metric("Duration", MetricUnit.Milliseconds, ms)
            self._metrics.add_metric("Errors", MetricUnit.Count, 0 if outcome == "ok" else 1)
            self._metrics.flush_metrics()

    def ran(self, *, owner: str, ms: float, outcome: str, tools: Mapping[str, int], denied: int) -> None:
        """One line about one run of a caller's code: which tools it called and how often, never with what."""
        self._say("ran", owner=owner, ms=round(ms, 2), outcome=outcome, tools=dict(tools), denied=denied)

    def looked_at(self, key: str, *, is_document: bool) -> None:
        """One line about an upload, where somebody wants to see them all."""
        self._json.debug("looked at", extra={"key": key, "is_document": is_document})

    def not_taken_in(self, message: str, error: BaseException) -> None:
        """One line about a message of the queue that comes again, and is put aside in the end."""
        if isinstance(error, LociError):
            self._say("not taken in", message_id=message, code=error.code, reason=str(error))
        else:
            self._say("bug", error, where="ingest", message_id=message)

    def refused(self, *, path: str, status: int, reason: str) -> None:
        """One line about a request that never became a call. The path comes without its query string."""
        self._say("refused", path=path, status=status, reason=reason)

    def tolerated(self, what: str) -> None:
        """A client's fault that Loci works around on purpose."""
        self._say("tolerated", what=what)

    def bug(self, where: str, error: BaseException) -> None:
        """A failure that nobody planned for, with its traceback."""
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
