"""The caller of the request that a tool serves, and the reports of progress to their client."""

import asyncio
import os
import time
from collections.abc import Callable
from concurrent.futures import CancelledError
from contextlib import suppress
from dataclasses import replace
from typing import Any

from mcp.server.context import ServerRequestContext
from mcp.server.mcpserver import Context

from loci.core.identity import STDIO_CALLER, Caller, one_line
from loci.core.settings import INSIDE

SCOPE_KEY = "loci.caller"
"""The key in the ASGI scope under which the gatekeeper leaves the caller."""

PAGES_KEY = "loci.pages"
"""The key under which it leaves if the client of an older revision can show pages: those declare it once a session."""
PAUSE = 0.25
"""Seconds between two reports: more of them help nobody."""
PATIENCE = 5.0
"""Seconds that a client may take to take one."""


def caller_of(context: ServerRequestContext[Any, Any]) -> Caller:
    """The caller of a request: over HTTP the one that the gatekeeper recognised, over stdio the local person."""
    request = context.request
    caller = STDIO_CALLER if request is None else request.scope[SCOPE_KEY]
    if caller.client or (told := context.session.client_params) is None:
        return caller
    return replace(caller, client=client_name(told.client_info.name, told.client_info.version))


def client_name(name: object, version: object) -> str:
    """The name and the version of a client, as `Caller.client` has them."""
    return one_line(f"{name}/{version}") if isinstance(name, str) and isinstance(version, str) else ""


def shows_pages(context: ServerRequestContext[Any, Any]) -> bool:
    """True if the session's client has declared so. No question can be sent to it: only its requests are answered."""
    return context.request is not None and context.request.scope.get(PAGES_KEY) is True


def is_persons_client(context: ServerRequestContext[Any, Any]) -> bool:
    """True if a person answers the questions that this client is sent: they started it, or it shows their own key.

    Over HTTP without such a key anybody on this machine may say that they can ask, and answer themselves.
    """
    caller = caller_of(context)
    return caller.is_person if caller.over_http else INSIDE not in os.environ


def principal(context: ServerRequestContext[Any, Any]) -> str:
    """The owner of a `requestState`."""
    return caller_of(context).owner.key


class ProgressReport:
    """Reports to the client how far a call is. The threads of the call may use it."""

    def __init__(self, send: Callable[[float, float | None, str], None]) -> None:
        self._send = send
        self._last: tuple[float, float] | None = None

    def __call__(self, done: float, total: float | None, text: str) -> None:
        """Send a report, unless one was just sent or `done` has not grown."""
        now = time.monotonic()
        if self._last is not None and (now - self._last[0] < PAUSE or done <= self._last[1]):
            return
        self._last = now, done
        self._send(done, total, text)


def report_to(context: Context[Any, Any], loop: asyncio.AbstractEventLoop) -> ProgressReport:
    """The report for the client of this request, if it asked for progress."""

    def send(done: float, total: float | None, text: str) -> None:
        sent = asyncio.run_coroutine_threadsafe(context.report_progress(done, total, text), loop)
        with suppress(TimeoutError, CancelledError):
            sent.result(PATIENCE)

    return ProgressReport(send)
