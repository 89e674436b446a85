"""Grants: what a person let a client do for them, and the code and the tokens that stand for it.

One record a grant. It begins with the person's consent, and is good for nothing until its client has exchanged the
code. Tokens are sealed by the keyring and name their grant, which is read at each use: when it is revoked, or the key
with which the person signed in, all its tokens end.
"""

import hashlib
import hmac
import re
import secrets
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING, Final
from urllib.parse import quote, urlencode

from pydantic import TypeAdapter

from loci.auth.api_keys import ACCESS, ApiKeys
from loci.auth.oauth_clients import OAuthClient, OAuthClients, clients_of, host_of
from loci.core.errors import Conflict, NotFound
from loci.core.full_disk import freeing
from loci.core.identity import SYSTEM, Caller, Owner
from loci.core.ids import content_id, random_id
from loci.core.json import JsonObject, iso
from loci.core.signing import Keyring
from loci.core.stores import ABSENT, Record, RecordStore, every, read_or_none, readable

if TYPE_CHECKING:
    from loci.app import App


KIND: Final = "oauth_grant"
CODE_SECONDS: Final = 60.0
ACCESS_SECONDS: Final = 3600
UNUSED_SECONDS: Final = 30 * 24 * 3600.0
"""A grant ends if its client has not renewed its token for so long: on AWS, the secret that seals it lives as long."""
ISSUER_SECONDS: Final = 30 * 24 * 3600.0
"""A grant of a person who signed in at the issuer ends then: the issuer does not tell Loci who has left."""
REPEATED_SECONDS: Final = 30.0
"""A renewal may be repeated for so long, by a client that never got its answer: it gets the same token again."""
RENEWS: Final = "loci-renew-"
ID: Final = re.compile(r"[0-9a-f]{24}")
PAGE: Final = "/ui/consent"
WISH_SECONDS: Final = 600.0
"""The time for which the page with the question is good."""


@dataclass(frozen=True, slots=True)
class SignedInBy:
    """The API key or the OpenID Connect issuer with which a person signed in. Neither: nobody here needs a key."""

    key: str | None = None
    """The id of the key."""
    issuer: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class AskedGrant:
    """The grant that a client asks for, as its question came in the person's browser."""

    client: str
    redirect: str
    named_redirect: bool
    """True: the client named the redirect, so it names it again when it exchanges the code."""
    challenge: str
    scopes: tuple[str, ...]
    resource: str
    state: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Grant(AskedGrant):
    """A person's consent to one connection of a client."""

    id: str
    client_name: str
    owner: Owner
    by: SignedInBy
    code: str
    """The hash of the code."""
    created: str
    renewed: float
    """The time at which the client got its newest tokens."""
    generation: int | None = None
    """The number of renewals of its token. None: the client has not exchanged the code yet."""

    @property
    def place(self) -> str:
        """The place to which the browser was sent with the code, for people."""
        return host_of(self.redirect)

    @property
    def until(self) -> float:
        """The time of its end, if nobody renews it until then; of a person who signed in at the issuer, in any case."""
        if self.generation is None:
            return self.renewed + CODE_SECONDS
        if self.by.issuer is None:
            return self.renewed + UNUSED_SECONDS
        return _began(self) + ISSUER_SECONDS


@dataclass(frozen=True, slots=True)
class Tokens:
    """A client's tokens after an exchange or a renewal."""

    access: str
    renews: str
    scopes: tuple[str, ...]


_GRANT: Final = TypeAdapter(Grant)


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
        self._seals = {ACCESS: keyring.seal("oauth-access"), RENEWS: keyring.seal("oauth-renew")}
        self._keys = api_keys
        self._clock = clock
        self._without_key = without_key
        self._issuer = issuer

    def allow(self, asked: AskedGrant, client_name: str, owner: Owner, by: SignedInBy) -> str:
        """Make a grant of what a person has just allowed, and return its code, which is good for a minute."""
        now, id = self._clock(), _prefix(owner) + random_id(16)
        code = f"{id}.{secrets.token_urlsafe(32)}"
        told = asdict(replace(asked, state=None))  # the state stays with the browser
        grant = Grant(
            id=id, client_name=client_name, owner=owner, by=by, code=_hash(code), created=iso(now), renewed=now, **told
        )
        self._put(grant, ABSENT)
        return code

    def with_code(self, code: str, client: str) -> Grant | None:
        """Return the client's grant that waits for this code. A code that comes twice was stolen: its grant ends."""
        found = self._with_code(code, client)
        return found and found[0]

    def exchange(self, code: str, client: str) -> Tokens | None:
        """Give tokens for a code. None if it comes twice at this moment: then nobody keeps its tokens."""
        found = self._with_code(code, client)
        if found is None or not self._holds(found[0]):
            return None
        begun = replace(found[0], generation=0, renewed=self._clock())
        try:
            self._put(begun, found[1])
        except Conflict:
            self.with_code(code, client)
            return None
        return self._tokens(begun, begun.scopes)

    def renewable(self, token: str, client: str) -> Grant | None:
        """Return the client's grant that this token renews. A token that was renewed long ago was stolen: it ends."""
        found = self._named(token, RENEWS)
        if found is None or found[0].client != client or not self._holds(found[0]):
            return None
        grant, _, claims = found
        if claims["n"] == grant.generation or self._is_repeated(grant, claims):
            return grant
        self._end(grant.id)
        return None

    def renew(self, token: str, scopes: Sequence[str]) -> Tokens | None:
        """Give new tokens for one that renews; None if it does not any more."""
        while found := self._named(token, RENEWS):
            grant, version, claims = found
            if self._is_repeated(grant, claims):  # perhaps another request has just got them for the same token
                return self._tokens(grant, scopes)
            if grant.generation is None or claims["n"] != grant.generation:
                return None
            renewed = replace(grant, generation=grant.generation + 1, renewed=self._clock())
            try:
                self._put(renewed, version)
            except Conflict:
                continue
            return self._tokens(renewed, scopes)
        return None

    def caller_of(self, token: str, resources: Iterable[str]) -> Caller | None:
        """Return the caller who shows an access token at an endpoint with one of these names, if it is good there."""
        match self._named(token, ACCESS):
            case Grant() as grant, _, {"e": float() | int() as ends, "s": list(scopes)} if ends > self._clock():
                if grant.resource not in set(resources) or not self._holds(grant):
                    return None
                allowed = frozenset(str(one) for one in scopes) & set(grant.scopes)
                return Caller(grant.owner, "grant", allowed, float(ends), name=grant.client_name, credential=grant.id)
            case _:
                return None

    def list(self) -> list[Grant]:
        """All grants that hold, oldest first."""
        found = readable(every(self._records, SYSTEM, KIND), grant_of)
        return sorted((one for one in found if self._is_connected(one)), key=lambda one: one.created)

    def of(self, owner: Owner) -> Sequence[Grant]:
        """The owner's grants that hold, newest first."""
        found = readable(every(self._records, SYSTEM, KIND, _prefix(owner)), grant_of)
        mine = [one for one in found if one.owner == owner and self._is_connected(one)]
        return sorted(mine, key=lambda one: (one.created, one.id), reverse=True)

    @freeing()
    def revoke(self, id: str, owner: Owner | None = None) -> Grant:
        """End a grant, of this owner if one is named."""
        found = self._read(id)
        grant = found and found[0]
        if grant is None or owner not in (None, grant.owner):
            advice = "List them with: loci clients list" if owner is None else "See yours at /ui/settings"
            raise NotFound(f"There is no connection {id}", advice, code="CLIENT_NOT_FOUND")
        self._end(id)
        return grant

    def revoke_token(self, token: str, client: str) -> None:
        """End the client's grant that this token names, if any does."""
        found = self._named(token, ACCESS if token.startswith(ACCESS) else RENEWS)
        if found and found[0].client == client:
            self._end(found[0].id)

    def _with_code(self, code: str, client: str) -> tuple[Grant, str] | None:
        found = self._read(code.partition(".")[0])
        if found is None or found[0].client != client or not hmac.compare_digest(found[0].code, _hash(code)):
            return None
        if found[0].generation is not None:
            self._end(found[0].id)
            return None
        return found

    def _is_repeated(self, grant: Grant, claims: JsonObject) -> bool:
        is_last = grant.generation is not None and claims["n"] == grant.generation - 1
        return is_last and self._clock() - grant.renewed <= REPEATED_SECONDS

    def _tokens(self, grant: Grant, scopes: Sequence[str]) -> Tokens:
        ends = int(self._clock()) + ACCESS_SECONDS
        access = self._token(ACCESS, {"g": grant.id, "e": ends, "s": [*scopes]})
        return Tokens(access, self._token(RENEWS, {"g": grant.id, "n": grant.generation}), tuple(scopes))

    def _token(self, begin: str, claims: JsonObject) -> str:
        return begin + self._seals[begin].close(claims)

    def _named(self, token: str, begin: str) -> tuple[Grant, str, JsonObject] | None:
        """The grant that a token with this beginning names, the version of its record, and what else the token says."""
        claims = self._seals[begin].open(token.removeprefix(begin)) or {}
        found = self._read(str(claims.get("g", "")))
        return (*found, claims) if found else None

    def _read(self, id: str) -> tuple[Grant, str] | None:
        """The grant and the version of its record."""
        record = self._records.get(SYSTEM, KIND, id) if ID.fullmatch(id) else None
        grant = read_or_none(record, grant_of)
        return (grant, record.version) if record and grant else None

    def _is_connected(self, grant: Grant) -> bool:
        return grant.generation is not None and self._holds(grant)

    def _holds(self, grant: Grant) -> bool:
        """True if it has not ended by itself, and nobody has revoked the key with which the person signed in."""
        return self._signs_in(grant.owner, grant.by) and self._clock() < grant.until

    def _signs_in(self, owner: Owner, by: SignedInBy) -> bool:
        """True if the person could still sign in so."""
        if by.key is not None:
            key = self._keys.by_id(by.key)
            return key is not None and key.owner == owner
        return self._without_key if by.issuer is None else by.issuer == self._issuer

    def _put(self, grant: Grant, version: str) -> None:
        value = {name: one for name, one in asdict(grant).items() if name != "id"}
        self._records.put(SYSTEM, KIND, grant.id, value, expect_version=version, expires_at=grant.until)

    def _end(self, id: str) -> None:
        """End the grant, whatever else happens to it at this moment: no renewal writes over what is gone."""
        self._records.remove(SYSTEM, KIND, id)


def grants_of(app: "App") -> Grants:
    """The grants of a deployment."""
    without_key, issuer = app.settings.auth == "open", app.settings.signs_in_at
    return Grants(app.records, app.keyring, app.api_keys, time.time, without_key=without_key, issuer=issuer)


def granting_owners(records: RecordStore) -> list[Owner]:
    """Return the owners who let a client in, each once."""
    return list(dict.fromkeys(grant.owner for grant in readable(every(records, SYSTEM, KIND), grant_of)))


def remove_grants(records: RecordStore, owner: Owner) -> int:
    """Remove all grants of the owner, also those that do not hold any more, and return their number."""
    found = [grant.id for grant in readable(every(records, SYSTEM, KIND), grant_of) if grant.owner.key == owner.key]
    return sum(records.remove(SYSTEM, KIND, id) for id in found)


def grant_of(record: Record) -> Grant:
    """The grant of a record."""
    return _GRANT.validate_python({"id": record.key, **record.value})


def _prefix(owner: Owner) -> str:
    """The beginning of the ids of an owner's grants, which lie together. Another owner's may begin so, too."""
    return content_id(owner.key, length=8)


def _began(grant: Grant) -> float:
    return datetime.fromisoformat(grant.created).timestamp()


def _hash(code: str) -> str:
    # 256 random bits need no slow hash.
    return hashlib.sha256(code.encode("utf-8", "replace")).hexdigest()


_ASKED: Final = TypeAdapter(AskedGrant)


@dataclass(frozen=True, slots=True)
class Wish:
    """The wish of a client that is known."""

    client: OAuthClient
    asked: AskedGrant

    @property
    def place(self) -> str:
        """The place to which the browser goes afterwards, for people."""
        return host_of(self.asked.redirect)


class Consents:
    """Asks people for their consent, and tells the client."""

    def __init__(
        self, clients: OAuthClients, grants: Grants, keyring: Keyring, issuer: str, clock: Callable[[], float]
    ) -> None:
        self._clients = clients
        self._grants = grants
        self._seal = keyring.seal("oauth-wish")
        self._issuer = issuer
        self._clock = clock

    def page_for(self, asked: AskedGrant) -> str:
        """The address of the page that asks the person."""
        sealed = self._seal.close({"wish": asdict(asked), "ends": self._clock() + WISH_SECONDS})
        return f"{self._issuer}{PAGE}?wish={quote(sealed)}"

    def wish(self, sealed: str) -> Wish:
        """The wish behind the address. Raises `NotFound` if it is too old, or nobody's."""
        match self._seal.open(sealed):
            case {"wish": dict(wish), "ends": float() | int() as ends} if ends > self._clock():
                asked = _ASKED.validate_python(wish)
                client = self._clients.get(asked.client)
                if client is not None and client.accepts(asked.redirect):
                    return Wish(client, asked)
            case _:
                pass
        raise NotFound("This question is too old, or nobody asked it", "Connect again in your client")

    def allow(self, wish: Wish, owner: Owner, by: SignedInBy, scopes: Sequence[str]) -> str:
        """The address to which the browser goes with the code."""
        asked = replace(wish.asked, scopes=tuple(scope for scope in wish.asked.scopes if scope in scopes))
        return self._back(wish.asked, code=self._grants.allow(asked, wish.client.name, owner, by))

    def deny(self, wish: Wish) -> str:
        """The address to which it goes without one."""
        return self._back(wish.asked, error="access_denied", error_description="The person did not allow it")

    def _back(self, asked: AskedGrant, **answer: str) -> str:
        told = {**answer, **({"state": asked.state} if asked.state is not None else {}), "iss": self._issuer}
        # Appended as text: the client's own query comes back exactly as it was registered.
        return f"{asked.redirect}{'&' if '?' in asked.redirect else '?'}{urlencode(told)}"


def consents_of(app: "App") -> Consents:
    """The questions to the people of a deployment."""
    return Consents(clients_of(app), grants_of(app), app.keyring, app.settings.base_url, time.time)
