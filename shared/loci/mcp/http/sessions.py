"""Sessions for the protocol revisions that have them.

An id is a sealed token: any instance can check it, and it ends neither by idling nor by a deploy. Only the
ids that were ended are remembered.
"""

from loci.core.identity import SYSTEM, Caller
from loci.core.ids import random_id
from loci.core.signing import Keyring
from loci.core.stores import RecordStore
from loci.mcp.http.refusal import Refusal

KIND = "ended_session"


class Sessions:
    def __init__(self, keyring: Keyring, records: RecordStore) -> None:
        self._seal = keyring.seal("session")
        self._records = records

    def begin(self, caller: Caller) -> str:
        """A new id, which is good for this caller only."""
        return self._seal.close({"n": random_id(), "o": caller.owner.key})

    def check(self, id: str, caller: Caller) -> str:
        """What names the session; the refusal says «begin again» where it is forged, foreign or ended."""
        claims = self._seal.open(id)
        if claims is None or claims["o"] != caller.owner.key:
            raise _unknown()
        name = str(claims["n"])
        if self._records.get(SYSTEM, KIND, name) is not None:
            raise _unknown()
        return name

    def end(self, id: str, caller: Caller) -> None:
        """Nobody can use the id again."""
        self._records.put(SYSTEM, KIND, self.check(id, caller), {})


def _unknown() -> Refusal:
    return Refusal(404, "Session not found: send initialize to begin a new one")
