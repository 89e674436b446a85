"""Grants: what a person let a client do for them, and the tokens that stand for it.

Tokens are sealed by the keyring and name their grant, which is read at each use: when it is revoked, or the key with
which the person signed in, all its tokens end.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from loci.core.errors import Conflict, NotFound
from loci.core.full_disk import freeing
from loci.core.identity import SYSTEM, Caller, Owner
from loci.core.ids import content_id
from loci.core.json import JsonObject, iso, string
from loci.core.scopes import SCOPES
from loci.core.signing import Keyring
from loci.core.stores import ABSENT, Record, RecordStore, every, read_or_none, readable
from loci.mcp.auth.api_keys import ApiKeys
from loci.mcp.auth.gate import ACCESS
from loci.mcp.auth.owners_grants import forget_id, keep_id, kept_ids
from loci.mcp.auth.signed_in_by import SignedInBy, signed_in_by

KIND: Final = "oauth_grant"
CONSENTS: Final = "oauth_remembered"
KEPT_SECONDS: Final = 365 * 24 * 3600.0
"""A consent is forgotten so long after it was last given, even if its grant goes on."""
ACCESS_SECONDS: Final = 3600
UNUSED_SECONDS: Final = 30 * 24 * 3600.0
"""A grant ends if its client has not renewed its token for so long: on AWS, the secret that seals it lives as long."""
ISSUER_SECONDS: Final = 30 * 24 * 3600.0
"""A grant of a person who signed in at the issuer ends then: the issuer does not tell Loci who has left."""
REPEATED_SECONDS: Final = 30.0
"""A renewal may be repeated for so long, by a client that never got its answer: it gets the same token again."""
RENEWS: Final = "loci-renew-"


@dataclass(frozen=True, slots=True)
class Grant:
    """A person's consent to one connection of a client."""

    id: str
    client: str
    client_name: str
    place: str
    """The place to which the browser was sent with the code."""
    owner: Owner
    by: SignedInBy
    scopes: tuple[str, ...]
    resource: str
    created: str
    renewed: float
    generation: int
    """How often its token was renewed."""
    revoked: str | None

    @property
    def until(self) -> float:
        """When it ends: if nobody renews it until then, or, of a person who signed in at the issuer, in any case."""
        if self.by.issuer is None:
            return self.renewed + UNUSED_SECONDS
        return datetime.fromisoformat(self.created).timestamp() + ISSUER_SECONDS


@dataclass(frozen=True, slots=True)
class Tokens:
    """A client's tokens after an exchange or a renewal."""

    access: str
    renews: str
    scopes: tuple[str, ...]


class Grants:
    """Gives codes and tokens, and recognises them."""

    def __init__(
        self,
        records: RecordStore,
        keyring: Keyring,
        api_keys: ApiKeys,
        clock: Callable[[], float],
        *,
        without_key: bool = False,
        issuer: str | None = None,
    ) -> None:
        """`without_key`: nobody here needs a key, so a grant needs none either. `issuer`: where people sign in now."""
        self._records = records
        self._access = keyring.seal("oauth-access")
        self._renew = keyring.seal("oauth-renew")
        self._keys = api_keys
        self._clock = clock
        self._without_key = without_key
        self._issuer = issuer

    def begin(self, id: str, told: JsonObject, redirect: str) -> Tokens | None:
        """The first tokens of a new grant; None if it has ended already, or the key behind it.

        Loci remembers the consent with it: what nobody could see or revoke would let a client in without a question.
        """
        client, owner = string(told["client"]), Owner(string(told["tenant"]), string(told["subject"]))
        consent: JsonObject = {"grant": id, "redirect": redirect}
        self._records.put(owner, CONSENTS, consent_key(client), consent, expires_at=self._clock() + KEPT_SECONDS)
        begun, until = self._begun(told), self._clock() + UNUSED_SECONDS
        keep_id(self._records, owner, id, until)
        try:
            record = self._records.put(SYSTEM, KIND, id, begun, expect_version=ABSENT, expires_at=until)
        except Conflict:
            return None
        grant = grant_of(record)
        return self._tokens(grant, grant.scopes) if self._holds(grant) else None

    def renewable(self, token: str, client: str) -> Grant | None:
        """The client's grant that this token renews. A token that was renewed long ago was stolen: the grant ends."""
        found = self._renewing(token)
        if found is None or found[0].client != client or not self._holds(found[0]):
            return None
        grant, generation = found
        if generation == grant.generation or self._is_repeated(grant, generation):
            return grant
        self._end(grant)
        return None

    def renew(self, token: str, scopes: Sequence[str]) -> Tokens | None:
        """New tokens for one that renews; None if it does not any more."""
        found = self._renewing(token)
        if found is None:
            return None
        grant, generation = found
        if generation != grant.generation:
            return self._tokens(grant, scopes) if self._is_repeated(grant, generation) else None
        record = self._records.get(SYSTEM, KIND, grant.id)
        now = self._clock()
        if record is None or record.value["generation"] != generation or record.value["revoked"] is not None:
            return self._repeated(token, scopes)
        later, until = record.value | {"generation": generation + 1, "renewed": now}, now + UNUSED_SECONDS
        keep_id(self._records, grant.owner, grant.id, until)
        try:
            stored = self._records.put(SYSTEM, KIND, grant.id, later, expect_version=record.version, expires_at=until)
        except Conflict:
            return self._repeated(token, scopes)
        return self._tokens(grant_of(stored), scopes)

    def caller_of(self, token: str, resources: Iterable[str]) -> Caller | None:
        """The caller who shows an access token at an endpoint with one of these names; None if it is not good there."""
        match self._access.open(token.removeprefix(ACCESS)):
            case {"g": str(id), "e": float() | int() as ends, "s": list(scopes)} if ends > self._clock():
                grant = self._grant(id)
                if grant is None or grant.resource not in set(resources) or not self._holds(grant):
                    return None
                allowed = frozenset(str(one) for one in scopes) & set(grant.scopes)
                name, id = grant.client_name, grant.id
                return Caller(grant.owner, "grant", allowed, float(ends), name=name, credential=id)
            case _:
                return None

    def client_and_id(self, token: str) -> tuple[str, str] | None:
        """The client and the id of the grant of any token that is still good."""
        if token.startswith(ACCESS):
            claims = self._access.open(token.removeprefix(ACCESS)) or {}
            grant = self._grant(str(claims.get("g", "")))
        else:
            found = self._renewing(token)
            grant = found[0] if found else None
        return (grant.client, grant.id) if grant and self._holds(grant) else None

    def list(self) -> list[Grant]:
        """All grants that hold, oldest first."""
        found = readable(every(self._records, SYSTEM, KIND), grant_of)
        return sorted((one for one in found if self._holds(one)), key=lambda one: one.created)

    def of(self, owner: Owner) -> Sequence[Grant]:
        """The owner's grants that hold, newest first."""
        # A consent names the last grant of a client, also if that has not left its id since Loci keeps ids.
        last = [id for id, _ in readable(every(self._records, owner, CONSENTS), consent_of)]
        found = self._records.get_all(SYSTEM, KIND, [*kept_ids(self._records, owner), *last]).values()
        mine = [one for one in readable(found, grant_of) if one.owner == owner and self._holds(one)]
        return sorted(mine, key=lambda one: (one.created, one.id), reverse=True)

    @freeing()
    def revoke(self, id: str, owner: Owner | None = None) -> Grant:
        """End a grant, of this owner if one is named, and forget that they have allowed its client something."""
        grant = self._grant(id)
        if grant is None or owner not in (None, grant.owner):
            advice = "List them with: loci clients list" if owner is None else "See yours at /ui/connections"
            raise NotFound(f"There is no connection {id}", advice, code="CLIENT_NOT_FOUND")
        self._end(grant)
        return grant

    def end_stolen(self, id: str, told: JsonObject) -> None:
        """End the grant that a code has begun, or is just beginning: the code came a second time."""
        try:
            ended = self._begun(told) | {"revoked": iso(self._clock())}
            until = self._clock() + UNUSED_SECONDS
            self._records.put(SYSTEM, KIND, id, ended, expect_version=ABSENT, expires_at=until)
        except Conflict:
            if grant := self._grant(id):
                self._end(grant)

    def allowed(self, owner: Owner, client: str, redirect: str) -> Grant | None:
        """The grant that the person gave the client last; None if it has ended, or the browser went elsewhere then."""
        found = read_or_none(self._records.get(owner, CONSENTS, consent_key(client)), consent_of)
        grant = self._grant(found[0]) if found and found[1] == redirect else None
        return grant if grant and self._holds(grant) else None

    def _repeated(self, token: str, scopes: Sequence[str]) -> Tokens | None:
        """The tokens that another request has just got for the same token."""
        found = self._renewing(token)
        return self._tokens(found[0], scopes) if found and self._is_repeated(*found) else None

    def _is_repeated(self, grant: Grant, generation: int) -> bool:
        return generation == grant.generation - 1 and self._clock() - grant.renewed <= REPEATED_SECONDS

    def _tokens(self, grant: Grant, scopes: Sequence[str]) -> Tokens:
        access: JsonObject = {"g": grant.id, "e": int(self._clock()) + ACCESS_SECONDS, "s": [*scopes]}
        renews: JsonObject = {"g": grant.id, "n": grant.generation}
        return Tokens(ACCESS + self._access.close(access), RENEWS + self._renew.close(renews), tuple(scopes))

    def _renewing(self, token: str) -> tuple[Grant, int] | None:
        match self._renew.open(token.removeprefix(RENEWS)):
            case {"g": str(id), "n": int(generation)}:
                grant = self._grant(id)
                return (grant, generation) if grant and grant.revoked is None else None
            case _:
                return None

    def _grant(self, id: str) -> Grant | None:
        return read_or_none(self._records.get(SYSTEM, KIND, id), grant_of) if id else None

    def _holds(self, grant: Grant) -> bool:
        """True if nobody has revoked it, nor the key with which the person signed in."""
        return grant.revoked is None and self._signs_in(grant.owner, grant.by) and self._clock() < grant.until

    def _signs_in(self, owner: Owner, by: SignedInBy) -> bool:
        """True if the person could still sign in so."""
        if by.key is not None:
            return self._keys.owner_by_id(by.key) == owner
        return self._without_key if by.issuer is None else by.issuer == self._issuer

    def _begun(self, told: JsonObject) -> JsonObject:
        now = self._clock()
        return told | {"created": iso(now), "renewed": now, "generation": 0, "revoked": None}

    def _end(self, grant: Grant) -> None:
        """Revoke the grant, whatever else happens to it at this moment. The person is asked again next time."""
        self._records.remove(grant.owner, CONSENTS, consent_key(grant.client))
        forget_id(self._records, grant.owner, grant.id)
        while record := self._records.get(SYSTEM, KIND, grant.id):
            if record.value.get("revoked") is not None:
                return
            ended, until = record.value | {"revoked": iso(self._clock())}, self._clock() + UNUSED_SECONDS
            try:
                self._records.put(SYSTEM, KIND, grant.id, ended, expect_version=record.version, expires_at=until)
            except Conflict:
                continue
            return


def granting_owners(records: RecordStore) -> list[Owner]:
    """Every owner who let a client in, each once."""
    return list(dict.fromkeys(grant.owner for grant in readable(every(records, SYSTEM, KIND), grant_of)))


def grant_of(record: Record) -> Grant:
    """The grant of a record."""
    value = record.value
    revoked, renewed, generation = value["revoked"], value["renewed"], value["generation"]
    if not isinstance(renewed, float | int) or not isinstance(generation, int):
        raise TypeError("no grant")
    return Grant(
        record.key,
        string(value["client"]),
        string(value["client_name"]),
        string(value["place"]),
        Owner(string(value["tenant"]), string(value["subject"])),
        signed_in_by(value),
        scopes_in(value["scopes"]),
        string(value["resource"]),
        string(value["created"]),
        float(renewed),
        generation,
        None if revoked is None else string(revoked),
    )


def consent_of(record: Record) -> tuple[str, str]:
    """The grant that a consent has begun, and the redirect URI that it was given for."""
    return string(record.value["grant"]), string(record.value["redirect"])


def scopes_in(value: object) -> tuple[str, ...]:
    """The scopes in a stored list."""
    if not isinstance(value, list):
        raise TypeError("no list of scopes")
    return tuple(scope for scope in SCOPES if scope in value)


def consent_key(client: str) -> str:
    """The key of the record of a consent: a client's id may be longer than a key."""
    return content_id(client, length=32)
