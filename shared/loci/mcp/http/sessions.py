"""The sessions of the older revisions of the protocol, and their requests that are being answered."""

from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from typing import Any, Final

import anyio

from loci.core.identity import SYSTEM, Caller
from loci.core.ids import random_id
from loci.core.json import JsonObject
from loci.core.signing import Keyring
from loci.core.stores import RecordStore
from loci.mcp.http.refusal import Refusal

ENDED_SESSION: Final = "ended_session"
SESSION_SECONDS: Final = 30 * 24 * 3600.0


class Sessions:
    """Begins, checks and ends sessions.

    An id is a sealed token, so any instance can check it. It has what a client tells only once: its name, and if it can
    show pages.
    A session ends after 30 days, or when its client ends it; neither a pause nor a deploy ends it. Only ids that a
    client ended are stored, until their 30 days are over.
    """

    def __init__(self, keyring: Keyring, records: RecordStore, clock: Callable[[], float]) -> None:
        self._seal = keyring.seal("session")
        self._records = records
        self._clock = clock

    def begin(self, caller: Caller, *, client: str = "", shows_pages: bool = False) -> str:
        """A new id, which is good for this caller only."""
        claims: JsonObject = {"n": random_id(), "o": caller.owner.key, "e": self._clock() + SESSION_SECONDS}
        claims |= {"c": client} if client else {}
        return self._seal.close(claims | {"p": True} if shows_pages else claims)

    def check(self, id: str, caller: Caller) -> tuple[str, bool]:
        """Refuse an id that is forged, foreign, too old or ended. Returns the client, and if it can show pages."""
        self._opened(id, caller)
        claims = self._seal.open(id) or {}
        return str(claims.get("c", "")), claims.get("p") is True

    def end(self, id: str, caller: Caller) -> None:
        """Make the id useless to everybody."""
        name, ends = self._opened(id, caller)
        self._records.put(SYSTEM, ENDED_SESSION, name, {}, expires_at=ends)

    def _opened(self, id: str, caller: Caller) -> tuple[str, float]:
        """The session's name, and when it ends by itself."""
        match self._seal.open(id):
            case {"n": str(name), "o": str(owner), "e": float() | int() as ends} if (
                owner == caller.owner.key and ends > self._clock()
            ):
                if self._records.get(SYSTEM, ENDED_SESSION, name) is None:
                    return name, float(ends)
            case _:
                pass
        raise Refusal(404, "Session not found: send initialize to begin a new one")


class RequestsUnderWay:
    """The requests of sessions that this process answers now: a later message of the session may cancel one.

    Ids of requests are easy to guess, and many clients count from the same number. So a request is known by its
    session, too, whose id nobody can guess and only its owner may use. A request without a session cannot be cancelled
    by a message. Only the thread of the event loop uses this.
    """

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
