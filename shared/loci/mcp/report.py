"""Progress: what a call tells its client before it answers."""

import asyncio
import time
from concurrent.futures import CancelledError
from contextlib import suppress
from typing import Any

from mcp.server.mcpserver import Context

PAUSE = 0.25
"""Seconds between two reports: more of them help nobody."""
PATIENCE = 5.0
"""Seconds that a client may take to take one."""


class Report:
    """Tells the client how far its call is, if it asked for that. The threads of the call may use it."""

    def __init__(self, context: Context[Any, Any], loop: asyncio.AbstractEventLoop) -> None:
        self._context = context
        self._loop = loop
        self._last: tuple[float, float] | None = None

    def __call__(self, done: float, total: float | None, text: str) -> None:
        """Report, unless that was just done or `done` has not grown."""
        now = time.monotonic()
        if self._last is not None and (now - self._last[0] < PAUSE or done <= self._last[1]):
            return
        self._last = now, done
        sent = asyncio.run_coroutine_threadsafe(self._context.report_progress(done, total, text), self._loop)
        with suppress(TimeoutError, CancelledError):
            sent.result(PATIENCE)
