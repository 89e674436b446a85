"""API keys: shown once, stored hashed, refused after their last day, and perhaps with a cap of calls a month."""

import hashlib
import hmac
import re
import secrets
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from loci.core.diagnosis import Finding, counted, first_names
from loci.core.errors import CallsUsedUp, NotFound, Refused
from loci.core.full_disk import freeing
from loci.core.identity import SYSTEM, Owner
from loci.core.ids import random_id
from loci.core.json import JsonObject, iso, string
from loci.core.stores import ABSENT, Record, RecordStore, every, read_or_none, readable, update

KIND = "api_key"
CALLS = "key_calls"
"""The kind of the records that count the calls of a key in a month: only of keys with a cap."""
ACCESS = "loci-access-"
"""The beginning of an access token that Loci itself gave to a client."""
EXPIRED = "KEY_EXPIRED"
DAY = 24 * 3600.0
WARNED_DAYS = 7
"""Days before the expiry of a key from which on `loci doctor` warns."""
SHAPE = re.compile(r"loci_([0-9a-f]{12})_[A-Za-z0-9_-]{43}")


@dataclass(frozen=True, slots=True)
class ApiKey:
    id: str
    name: str
    owner: Owner
    created: str
    revoked: str | None
    is_person: bool = False
    """True: it may decide what only a person may decide. It belongs into no client."""
    expires: str | None = None
    """The time from which on the key is refused; None: it does not expire."""
    calls_per_month: int | None = None
    """The most calls of tools in a month; None: what the setting of that name says."""


class ApiKeys:
    """The keys of this deployment. A caller who shows one acts as its owner."""

    def __init__(self, records: RecordStore, clock: Callable[[], float]) -> None:
        self._records = records
        self._clock = clock

    def create(
        self,
        owner: Owner,
        name: str,
        *,
        is_person: bool = False,
        days: int | None = None,
        calls_per_month: int | None = None,
    ) -> tuple[ApiKey, str]:
        """Make a key, which expires after these days. Its text cannot be read again."""
        id = random_id(12)
        text = f"loci_{id}_{secrets.token_urlsafe(32)}"
        record = self._records.put(
            SYSTEM,
            KIND,
            id,
            {
                "name": name,
                "hash": _hash(text),
                "tenant": owner.tenant,
                "subject": owner.subject,
                "created": self._now(),
                "revoked": None,
                **({"person": True} if is_person else {}),
                # Not the expiry of the record: a key that vanished could not be named as expired.
                **({"expires": self._now(days * DAY)} if days is not None else {}),
                **({"calls_per_month": calls_per_month} if calls_per_month is not None else {}),
            },
            expect_version=ABSENT,
        )
        return key_of(record), text

    def owners(self) -> list[Owner]:
        """Return the owners who have or had a key, each once."""
        return list(dict.fromkeys(key.owner for key in self.list()))

    def list(self) -> list[ApiKey]:
        """All keys, oldest first, with the revoked ones."""
        return sorted(readable(every(self._records, SYSTEM, KIND), key_of), key=lambda key: key.created)

    def exist(self) -> bool:
        """True if any key is valid now, or was perhaps before its record was damaged."""
        return any(
            record.value.get("revoked") is None and not self.is_expired(read_or_none(record, key_of))
            for record in every(self._records, SYSTEM, KIND)
        )

    def is_expired(self, key: ApiKey | None) -> bool:
        """True if the key's last day is over."""
        return key is not None and key.expires is not None and key.expires <= self._now()

    def soon_expired(self, owner: Owner | None = None) -> Finding | None:
        """Warn of the keys, of this owner if one is named, that expire within a week."""
        soon = [
            f"{key.id} ({key.name}) on {key.expires[:10]}"
            for key in self.list()
            if key.expires is not None and owner in (None, key.owner) and not (key.revoked or self.is_expired(key))
            if key.expires <= self._now(WARNED_DAYS * DAY)
        ]
        if not soon:
            return None
        what = f"{counted(len(soon), 'key')} will expire within {WARNED_DAYS} days: {first_names(soon)}"
        return Finding("keys", "warning", what, "Make new ones before: loci keys create NAME --days N")

    @freeing()
    def revoke(self, id: str) -> ApiKey:
        """Refuse the key from now on."""
        record = self._records.get(SYSTEM, KIND, id)
        if record is None:
            raise NotFound(f"There is no key {id}", "List the keys with: loci keys list", code="KEY_NOT_FOUND")
        if read_or_none(record, key_of) is None:
            what = f"The record of the key {id} is damaged, so nobody can use it"
            raise Refused(what, "To remove it, run: loci doctor --fix", code="KEY_DAMAGED")
        if record.value["revoked"] is None:
            record = self._records.put(
                SYSTEM, KIND, id, record.value | {"revoked": self._now()}, expect_version=record.version
            )
        return key_of(record)

    def remove_all(self, owner: Owner) -> int:
        """Remove the records of the owner's keys, and return their number."""
        mine = [key.id for key in self.list() if key.owner.key == owner.key]
        for id in mine:
            self._records.remove(SYSTEM, CALLS, id)
        return sum(self._records.remove(SYSTEM, KIND, id) for id in mine)

    def with_text(self, text: str) -> ApiKey | None:
        """The key with this text; None if there is no such key, or it was revoked. Raises `Refused` if it expired."""
        shape = SHAPE.fullmatch(text)
        record = self._records.get(SYSTEM, KIND, shape[1]) if shape else None
        key = read_or_none(record, key_of)
        if record is None or key is None or key.revoked is not None:
            return None
        if not hmac.compare_digest(str(record.value["hash"]).encode(), _hash(text).encode()):
            return None
        if self.is_expired(key):
            advice = "make a new one with `loci keys create NAME`"
            raise Refused(f"This key expired at {key.expires}", advice, code=EXPIRED)
        return key

    def count_calls(self, id: str, calls: int, most: int) -> None:
        """Count calls of tools, before they are made. Raises `CallsUsedUp` if this month has fewer left."""
        now = datetime.fromtimestamp(self._clock(), UTC)
        first = now.replace(day=1, hour=0, minute=0, second=0, microsecond=0)
        next_month = (first + timedelta(days=32)).replace(day=1)

        def added(record: Record | None) -> JsonObject:
            made = self._made(record)
            if made + calls > most:
                what = f"This key has {max(0, most - made) or 'none'} left of its {most:,} calls of tools a month"
                wait = f"Wait until {next_month:%Y-%m-%d} 00:00 UTC, when its next month begins"
                more = "ask for a key with more: `loci keys create NAME --calls-per-month N`"
                seconds = int((next_month - now).total_seconds()) + 1
                raise CallsUsedUp(what, f"{wait}, or {more}", details={"wait_s": seconds})
            return {"month": f"{now:%Y-%m}", "calls": made + calls}

        update(self._records, SYSTEM, CALLS, id, added, expires_at=next_month.timestamp() + DAY, durable=False)

    def calls_made(self, id: str) -> int:
        """Return the counted calls of the key in this month."""
        return self._made(self._records.get(SYSTEM, CALLS, id))

    def _made(self, record: Record | None) -> int:
        counted = read_or_none(record, _month_and_calls)
        return counted[1] if counted and counted[0] == self._now()[:7] else 0

    def id_in(self, text: str) -> str | None:
        """The id in a key's text; None if the text is no key."""
        shape = SHAPE.fullmatch(text)
        return shape[1] if shape else None

    def by_id(self, id: str) -> ApiKey | None:
        """The key with this id; None if there is no such key, it was revoked, or it has expired."""
        key = read_or_none(self._records.get(SYSTEM, KIND, id), key_of)
        return None if key is None or key.revoked is not None or self.is_expired(key) else key

    def _now(self, later: float = 0) -> str:
        return iso(self._clock() + later)


def _hash(text: str) -> str:
    # 256 random bits need no slow hash.
    return hashlib.sha256(text.encode()).hexdigest()


def _month_and_calls(record: Record) -> tuple[str, int]:
    return string(record.value["month"]), int(str(record.value["calls"]))


def key_of(record: Record) -> ApiKey:
    """The key of a record."""
    value = record.value
    revoked, expires, calls = value["revoked"], value.get("expires"), value.get("calls_per_month")
    string(value["hash"])
    return ApiKey(
        record.key,
        string(value["name"]),
        Owner(string(value["tenant"]), string(value["subject"])),
        string(value["created"]),
        None if revoked is None else string(revoked),
        value.get("person") is True,
        None if expires is None else string(expires),
        calls if isinstance(calls, int) else None,
    )
