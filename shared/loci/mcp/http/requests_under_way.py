"""The requests of sessions that this process answers now: a later message of the session may cancel one.

Ids of requests are easy to guess, and many clients count from the same number. So a request is known by its session,
too, whose id nobody can guess and only its owner may use. A request without a session cannot be cancelled by a message.
"""

from collections.abc import Generator, Mapping
from contextlib import contextmanager
from typing import Any

import anyio


class RequestsUnderWay:
    """The scopes in which requests are answered. Only the thread of the event loop uses them."""

    def __init__(self) -> None:
        self._names: dict[anyio.CancelScope, tuple[str, str | int]] = {}

    @contextmanager
    def cancellable(self, session: str | None, message: Mapping[str, Any]) -> Generator[anyio.CancelScope]:
        """A scope to answer the message in. It ends early if the session cancels the request."""
        with anyio.CancelScope() as scope:
            if session is not None and "method" in message and "id" in message:
                self._names[scope] = session, message["id"]
            try:
                yield scope
            finally:
                self._names.pop(scope, None)

    def hear(self, session: str | None, message: Mapping[str, Any]) -> None:
        """Cancel the request that the message names, if it is a message that cancels one of its session."""
        match message:
            case {"method": "notifications/cancelled", "params": {"requestId": str() | int() as id}}:
                for scope, name in self._names.items():
                    if name == (session, id):
                        scope.cancel()
            case _:
                pass
