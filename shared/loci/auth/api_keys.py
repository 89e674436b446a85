"""API keys: shown once, stored hashed."""

import hashlib
import hmac
import re
import secrets
from collections.abc import Callable
from dataclasses import dataclass

from loci.core.errors import NotFound, Refused
from loci.core.full_disk import freeing
from loci.core.identity import SYSTEM, Owner
from loci.core.ids import random_id
from loci.core.json import iso, string
from loci.core.stores import ABSENT, Record, RecordStore, every, read_or_none, readable

KIND = "api_key"
ACCESS = "loci-access-"
"""The beginning of an access token that Loci itself gave to a client."""
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


class ApiKeys:
    """The keys of this deployment. A caller who shows one acts as its owner."""

    def __init__(self, records: RecordStore, clock: Callable[[], float]) -> None:
        self._records = records
        self._clock = clock

    def create(self, owner: Owner, name: str, *, is_person: bool = False) -> tuple[ApiKey, str]:
        """Make a key. Its text cannot be read again."""
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
        return any(record.value.get("revoked") is None for record in every(self._records, SYSTEM, KIND))

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

    def with_text(self, text: str) -> ApiKey | None:
        """The key with this text; None if there is no such key, or it was revoked."""
        shape = SHAPE.fullmatch(text)
        record = self._records.get(SYSTEM, KIND, shape[1]) if shape else None
        key = read_or_none(record, key_of)
        if record is None or key is None or key.revoked is not None:
            return None
        return key if hmac.compare_digest(str(record.value["hash"]).encode(), _hash(text).encode()) else None

    def id_in(self, text: str) -> str | None:
        """The id in a key's text; None if the text is no key."""
        shape = SHAPE.fullmatch(text)
        return shape[1] if shape else None

    def by_id(self, id: str) -> ApiKey | None:
        """The key with this id; None if there is no such key, or it was revoked."""
        key = read_or_none(self._records.get(SYSTEM, KIND, id), key_of)
        return None if key is None or key.revoked is not None else key

    def _now(self) -> str:
        return iso(self._clock())


def _hash(text: str) -> str:
    # 256 random bits need no slow hash.
    return hashlib.sha256(text.encode()).hexdigest()


def key_of(record: Record) -> ApiKey:
    """The key of a record."""
    value = record.value
    revoked = value["revoked"]
    string(value["hash"])
    return ApiKey(
        record.key,
        string(value["name"]),
        Owner(string(value["tenant"]), string(value["subject"])),
        string(value["created"]),
        None if revoked is None else string(revoked),
        value.get("person") is True,
    )
