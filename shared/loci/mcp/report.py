"""Progress: what a call tells before it answers."""

import asyncio
import time
from collections.abc import Callable
from concurrent.futures import CancelledError
from contextlib import suppress
from typing import Any

from mcp.server.mcpserver import Context

PAUSE = 0.25
"""Seconds between two reports: more of them help nobody."""
PATIENCE = 5.0
"""Seconds that a client may take to take one."""


class Report:
    """Tells whoever waits how far a call is. The threads of the call may use it."""

    def __init__(self, send: Callable[[float, float | None, str], None]) -> None:
        self._send = send
        self._last: tuple[float, float] | None = None

    def __call__(self, done: float, total: float | None, text: str) -> None:
        """Report, unless that was just done or `done` has not grown."""
        now = time.monotonic()
        if self._last is not None and (now - self._last[0] < PAUSE or done <= self._last[1]):
            return
        self._last = now, done
        self._send(done, total, text)


def report_to(context: Context[Any, Any], loop: asyncio.AbstractEventLoop) -> Report:
    """The report for the client of this request, if it asked for progress."""

    def send(done: float, total: float | None, text: str) -> None:
        sent = asyncio.run_coroutine_threadsafe(context.report_progress(done, total, text), loop)
        with suppress(TimeoutError, CancelledError):
            sent.result(PATIENCE)

    return Report(send)
