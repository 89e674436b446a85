"""Structured logs and metrics: names and sizes, never contents."""

import logging
import os
import sys
from typing import Any, Literal, TextIO

from aws_lambda_powertools.logging import Logger
from aws_lambda_powertools.metrics import Metrics, MetricUnit

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
    """Where Loci says what it did."""

    def __init__(self, level: str = "INFO", *, plain: bool | None = None) -> None:
        on_lambda = "AWS_LAMBDA_FUNCTION_NAME" in os.environ
        self._plain = sys.stderr.isatty() if plain is None else plain
        self._metrics = Metrics(namespace="Loci", service="loci") if on_lambda else None
        formatter: dict[str, Any] = {"logger_formatter": _Plain()} if self._plain else {}
        self._log = Logger(service="loci", level=level, logger_handler=_Stderr(), location=None, **formatter)
        self._log.setLevel(level)  # Powertools keeps a second app's logger at the first one's level
        logging.getLogger("loci").propagate = False  # Lambda has a handler of its own on the root
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

    def refused(self, *, path: str, status: int, reason: str) -> None:
        """One line about a request that never became a call. The path comes without its query string."""
        self._say("refused", path=path, status=status, reason=reason)

    def tolerated(self, what: str) -> None:
        """A client's fault that Loci works around on purpose."""
        self._say("tolerated", what=what)

    def bug(self, where: str, error: BaseException) -> None:
        """A failure that nobody planned for, with its traceback."""
        self._log.error("bug", exc_info=error, extra={"where": where})

    def _say(self, message: str, **fields: object) -> None:
        if self._plain:
            self._log.info(message, extra={"fields": fields})
        else:
            self._log.info(message, extra=fields)
