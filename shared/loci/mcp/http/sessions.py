"""Sessions, for the protocol revisions that have them: ids that any instance can check."""

from collections.abc import Callable
from typing import Final

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

    An id is a sealed token, so any instance can check it. It says if the client can show pages: later requests do not.
    A session ends after 30 days, or when its client ends it; neither a pause nor a deploy ends it. Only ids that a
    client ended are stored, until their 30 days are over.
    """

    def __init__(self, keyring: Keyring, records: RecordStore, clock: Callable[[], float]) -> None:
        self._seal = keyring.seal("session")
        self._records = records
        self._clock = clock

    def begin(self, caller: Caller, *, shows_pages: bool = False) -> str:
        """A new id, which is good for this caller only."""
        claims: JsonObject = {"n": random_id(), "o": caller.owner.key, "e": self._clock() + SESSION_SECONDS}
        return self._seal.close(claims | {"p": True} if shows_pages else claims)

    def check(self, id: str, caller: Caller) -> bool:
        """Refuse an id that is forged, foreign, too old or ended. True if its client can show pages."""
        self._opened(id, caller)
        return (self._seal.open(id) or {}).get("p") is True

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
