"""Sessions of browsers that signed in: each has a sealed cookie, which any instance can check."""

from collections.abc import Callable
from typing import Final

from loci.core.identity import SYSTEM, Caller, Owner
from loci.core.ids import random_id
from loci.core.json import JsonObject
from loci.mcp.auth.grants import SignedInBy
from loci.web.host import PagesHost

COOKIE: Final = "loci_visit"
SECONDS: Final = 3600
KIND: Final = "ended_visit"
"""Of the records of sign-ins that a person has ended, each until its cookie would have ended anyway."""


class BrowserSessions:
    """Begins and checks them."""

    def __init__(self, app: PagesHost, clock: Callable[[], float]) -> None:
        self._seal = app.keyring.seal("visit")
        self._records = app.records
        self._keys = app.api_keys
        self._issuer = app.settings.signs_in_at
        self._clock = clock

    def begin(self, caller: Caller, by: SignedInBy) -> str:
        """Make the cookie that the browser keeps instead of its credential."""
        ends = min(self._clock() + SECONDS, caller.expires or float("inf"))
        at: JsonObject = {"i": by.issuer} if by.issuer else {}
        named: JsonObject = {"n": random_id(), "t": caller.owner.tenant, "s": caller.owner.subject}
        return self._seal.close({**named, "k": by.key, "e": ends, **at})

    def end(self, kept: str) -> None:
        """Make the cookie useless, also to whoever has a copy."""
        match self._seal.open(kept):
            case {"n": str(name), "e": float() | int() as ends}:
                self._records.put(SYSTEM, KIND, name, {}, expires_at=float(ends))
            case _:
                pass

    def caller_of(self, kept: str) -> Caller | None:
        """The caller who signed in; None if the cookie is forged or too old, or the key was revoked."""
        claims = self._seal.open(kept) or {}
        match claims:
            case {
                "n": str(name),
                "t": str(tenant),
                "s": str(subject),
                "k": key,
                "e": float() | int() as ends,
            } if ends > self._clock():
                owner = Owner(tenant, subject)
                issuer = claims.get("i")
                if self._is_ended(name) or (issuer is not None and issuer != self._issuer):
                    return None
                if key is None:
                    return Caller(owner, "token", is_person=issuer is not None)
                known = self._keys.by_id(str(key))
                if known is None or known.owner != owner:
                    return None
                return Caller(owner, "key", is_person=known.is_person, name=known.name, credential=known.id)
            case _:
                return None

    def way_of(self, kept: str) -> SignedInBy | None:
        """How the browser signed in, if it was with a key or at the issuer, and the cookie is good."""
        match self._seal.open(kept) if self.caller_of(kept) else None:
            case {"k": str(key)}:
                return SignedInBy(key)
            case {"i": str(issuer)}:
                return SignedInBy(issuer=issuer)
            case _:
                return None

    def _is_ended(self, name: str) -> bool:
        return self._records.get(SYSTEM, KIND, name) is not None


def set_cookie(value: str, *, seconds: int, secure: bool, name: str = COOKIE, site: str = "Strict") -> str:
    """The value of the header. Without a path the cookie is valid below the page's folder, wherever Loci is mounted."""
    return f"{name}={value}; Max-Age={seconds}; HttpOnly; SameSite={site}{'; Secure' if secure else ''}"
