"""Codes: what a browser brings to a client after the person has allowed it. Stored hashed, good once, for a minute."""

import hashlib
import secrets
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from loci.core.errors import Conflict
from loci.core.identity import SYSTEM, Owner
from loci.core.ids import random_id
from loci.core.json import JsonObject, string
from loci.core.stores import ABSENT, Record, RecordStore, read_or_none
from loci.mcp.auth.grants import Grants, Tokens, scopes_in
from loci.mcp.auth.signed_in_by import SignedInBy

KIND: Final = "oauth_code"
SECONDS: Final = 60.0
KEPT_SECONDS: Final = 3600.0
"""A code is kept longer than it is good, so that a second exchange is noticed."""


@dataclass(frozen=True, slots=True)
class AskedGrant:
    """A client's wish, as it came in the person's browser."""

    client: str
    redirect: str
    named_redirect: bool
    """True: the client named it, so it names it again when it exchanges the code."""
    state: str | None
    challenge: str
    scopes: tuple[str, ...]
    resource: str


@dataclass(frozen=True, slots=True)
class Code:
    """A code that was not exchanged yet, and what was asked for it. The state stays with the browser."""

    asked: AskedGrant
    ends: float


class Codes:
    """Makes codes, and exchanges each once."""

    def __init__(self, records: RecordStore, grants: Grants, clock: Callable[[], float]) -> None:
        self._records = records
        self._grants = grants
        self._clock = clock

    def make(self, asked: AskedGrant, client_name: str, place: str, owner: Owner, by: SignedInBy) -> str:
        """A code for what the person has allowed."""
        code, now = secrets.token_urlsafe(32), self._clock()
        grant: JsonObject = {
            "client": asked.client,
            "client_name": client_name,
            "place": place,
            "tenant": owner.tenant,
            "subject": owner.subject,
            **by.stored(),
            "scopes": [*asked.scopes],
            "resource": asked.resource,
        }
        value: JsonObject = {
            "grant": grant,
            "redirect": asked.redirect,
            "named_redirect": asked.named_redirect,
            "challenge": asked.challenge,
            "ends": now + SECONDS,
            "exchanged": None,
        }
        self._records.put(SYSTEM, KIND, _hash(code), value, expect_version=ABSENT, expires_at=now + KEPT_SECONDS)
        return code

    def get(self, code: str, client: str) -> Code | None:
        """The wish behind the client's code. If it was exchanged before, somebody stole it: its tokens end."""
        record = self._records.get(SYSTEM, KIND, _hash(code))
        found = read_or_none(record, code_of)
        if record is None or found is None or found.asked.client != client:
            return None
        if isinstance(exchanged := record.value["exchanged"], str):
            self._grants.end_stolen(exchanged, _grant(record))
            return None
        return found

    def exchange(self, code: str, client: str) -> Tokens | None:
        """Tokens for a code. None if it comes twice at this moment: then nobody keeps its tokens."""
        record = self._records.get(SYSTEM, KIND, _hash(code))
        if record is None or self.get(code, client) is None:
            return None
        id = random_id(24)
        try:
            self._records.put(
                SYSTEM,
                KIND,
                record.key,
                record.value | {"exchanged": id},
                expect_version=record.version,
                expires_at=record.expires_at,
            )
        except Conflict:
            self.get(code, client)
            return None
        return self._grants.begin(id, _grant(record), string(record.value["redirect"]))


def _grant(record: Record) -> JsonObject:
    grant = record.value["grant"]
    if not isinstance(grant, dict):
        raise TypeError("no grant")
    return grant


def code_of(record: Record) -> Code:
    """The code of a record."""
    value, grant, ends = record.value, _grant(record), record.value["ends"]
    if not isinstance(ends, float | int) or not isinstance(value["exchanged"], str | None):
        raise TypeError("no code")
    asked = AskedGrant(
        string(grant["client"]),
        string(value["redirect"]),
        value["named_redirect"] is True,
        None,
        string(value["challenge"]),
        scopes_in(grant["scopes"]),
        string(grant["resource"]),
    )
    return Code(asked, float(ends))


def _hash(code: str) -> str:
    # 256 random bits need no slow hash.
    return hashlib.sha256(code.encode("utf-8", "replace")).hexdigest()
