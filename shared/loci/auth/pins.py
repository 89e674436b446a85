"""The PIN of the person at this machine: with it they prove to be there. No client and no tool server knows it."""

import base64
import hashlib
import hmac
import secrets
import time
from collections.abc import Callable
from typing import Final, cast

from loci.core.errors import Conflict, Misconfigured, Refused
from loci.core.identity import SYSTEM
from loci.core.json import JsonObject, string
from loci.core.settings import Settings
from loci.core.stores import ABSENT, Record, RecordStore, read_or_none, update

KIND: Final = "pin"
TRIES: Final = "pin_tries"
"""The kind of the record that counts wrong PINs."""
SHORTEST, LONGEST = 6, 200
MOST_WRONG: Final = 5
WAIT_SECONDS: Final = 60.0
_COST: Final = 1 << 14
"""The cost of scrypt: 16 MB of memory and some 50 ms for each try."""


class Pins:
    """The PIN of this deployment: the stored one or, if none is stored, the one whose hash the settings have."""

    def __init__(self, records: RecordStore, clock: Callable[[], float], given: str | None = None) -> None:
        """`given`: a hash, as `pin_hash` makes it. What is stored counts before it."""
        self._records = records
        self._clock = clock
        if given is not None and not _is_hash(given):
            raise Misconfigured("pin_hash is no hash of a PIN", "Make one with: loci pin --print")
        self._given = given

    @property
    def is_set(self) -> bool:
        """True if there is a PIN."""
        return self._hash() is not None

    def set(self, new: str, old: str | None = None) -> None:
        """Set the PIN; `old` is the one that it replaces."""
        check_new(new)
        record = self._records.get(SYSTEM, KIND, KIND)
        if record is not None:
            self.check(old or "")
        value: JsonObject = {"hash": pin_hash(new)}
        try:
            self._records.put(SYSTEM, KIND, KIND, value, expect_version=record.version if record else ABSENT)
        except Conflict:
            raise Refused("Another PIN was set at this moment", "Set yours again, with that one as the old") from None

    def check(self, pin: str) -> None:
        """Raise `Refused` unless this is the PIN. After five wrong ones a minute passes until the next try."""
        known = self._hash()
        if known is None:
            raise no_pin()
        self._count_try()
        if not _fits(pin, known):
            raise Refused(
                "This PIN is wrong", "Try again: after five wrong ones a minute has to pass", code="PIN_WRONG"
            )
        self._records.remove(SYSTEM, TRIES, TRIES)

    def _count_try(self) -> None:
        """Count a try before it is judged: tries at the same moment are no more than those one after another."""

        def counted(record: Record | None) -> JsonObject:
            number, until = read_or_none(record, _tries) or (0, 0.0)
            now = self._clock()
            if until > now:
                what = f"Too many wrong PINs: wait {max(1, round(until - now))} s"
                raise Refused(what, "Then try again", code="PIN_WAIT")
            is_last = number + 1 >= MOST_WRONG
            return {"number": 0 if is_last else number + 1, "until": now + WAIT_SECONDS if is_last else 0.0}

        update(self._records, SYSTEM, TRIES, TRIES, counted, durable=False)

    def _hash(self) -> str | None:
        record = self._records.get(SYSTEM, KIND, KIND)
        return self._given if record is None else string(record.value["hash"])


def pins_of(settings: Settings, records: RecordStore) -> Pins:
    """The PIN of a deployment."""
    given = settings.pin_hash
    return Pins(records, time.time, given.get_secret_value() if given else None)


def no_pin() -> Refused:
    """Return the refusal where a PIN would decide, but no PIN is set."""
    return Refused(
        "Only a person may decide this, with their PIN, and there is none yet",
        "Set one at a terminal: loci pin",
        code="NO_PIN",
    )


def check_new(pin: str) -> None:
    """Raise `Refused` for a PIN that would be guessed, or that nobody can type."""
    if not SHORTEST <= len(pin) <= LONGEST or not pin.isprintable():
        raise Refused(f"A PIN has {SHORTEST} to {LONGEST} characters", "Choose another one", code="BAD_PIN")
    if len(set(pin)) == 1:
        raise Refused("A PIN of one character only is guessed at once", "Choose another one", code="BAD_PIN")


def pin_hash(pin: str) -> str:
    """The slow hash of a PIN, as it is stored."""
    salt = secrets.token_bytes(16)
    return "$".join(("scrypt", base64.b64encode(salt).decode(), base64.b64encode(_scrypt(pin, salt)).decode()))


def _tries(record: Record) -> tuple[int, float]:
    """Return the number of wrong PINs in a row, and the time until which the next try waits."""
    return cast("int", record.value["number"]), cast("float", record.value["until"])


def _is_hash(text: str) -> bool:
    match text.split("$"):
        case ["scrypt", salt, hashed]:
            return len(salt) == 24 and len(hashed) == 44
        case _:
            return False


def _fits(pin: str, known: str) -> bool:
    _, salt, hashed = known.split("$")
    return hmac.compare_digest(_scrypt(pin, base64.b64decode(salt)), base64.b64decode(hashed))


def _scrypt(pin: str, salt: bytes) -> bytes:
    return hashlib.scrypt(pin.encode("utf-8", "surrogatepass"), salt=salt, n=_COST, r=8, p=1, dklen=32)
