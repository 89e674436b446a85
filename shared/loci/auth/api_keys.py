"""API keys: shown once, stored hashed, and refused after their last day."""

import hashlib
import hmac
import re
import secrets
from collections.abc import Callable
from dataclasses import dataclass

from loci.core.diagnosis import Finding, counted, first_names
from loci.core.errors import NotFound, Refused
from loci.core.full_disk import freeing
from loci.core.identity import SYSTEM, Owner
from loci.core.ids import random_id
from loci.core.json import iso, string
from loci.core.stores import ABSENT, Record, RecordStore, every, read_or_none, readable

KIND = "api_key"
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


class ApiKeys:
    """The keys of this deployment. A caller who shows one acts as its owner."""

    def __init__(self, records: RecordStore, clock: Callable[[], float]) -> None:
        self._records = records
        self._clock = clock

    def create(
        self, owner: Owner, name: str, *, is_person: bool = False, days: int | None = None
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


def key_of(record: Record) -> ApiKey:
    """The key of a record."""
    value = record.value
    revoked, expires = value["revoked"], value.get("expires")
    string(value["hash"])
    return ApiKey(
        record.key,
        string(value["name"]),
        Owner(string(value["tenant"]), string(value["subject"])),
        string(value["created"]),
        None if revoked is None else string(revoked),
        value.get("person") is True,
        None if expires is None else string(expires),
    )
