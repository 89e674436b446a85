"""Sessions of browsers that signed in: each has a sealed cookie, which any instance can check."""

from collections.abc import Callable
from typing import Final

from loci.core.identity import Caller, Owner
from loci.web.host import PagesHost

COOKIE: Final = "loci_visit"
SECONDS: Final = 3600


class BrowserSessions:
    """Begins and checks them."""

    def __init__(self, app: PagesHost, clock: Callable[[], float]) -> None:
        self._seal = app.keyring.seal("visit")
        self._keys = app.api_keys
        self._clock = clock

    def begin(self, caller: Caller, shown: str) -> str:
        """Make the cookie that the browser keeps instead of its credential."""
        ends = min(self._clock() + SECONDS, caller.expires or float("inf"))
        key = self._keys.id_in(shown) if caller.proof == "key" else None
        return self._seal.close({"t": caller.owner.tenant, "s": caller.owner.subject, "k": key, "e": ends})

    def caller_of(self, kept: str) -> Caller | None:
        """The caller who signed in; None if the cookie is forged or too old, or the key was revoked."""
        match self._seal.open(kept):
            case {"t": str(tenant), "s": str(subject), "k": key, "e": float() | int() as ends} if ends > self._clock():
                owner = Owner(tenant, subject)
                return Caller(owner, "token" if key is None else "key") if self._is_good(key, owner) else None
            case _:
                return None

    def key_of(self, kept: str) -> str | None:
        """The id of the key with which the browser signed in; None if it was a token, or the cookie is not good."""
        key = (self._seal.open(kept) or {}).get("k")
        return key if isinstance(key, str) and self.caller_of(kept) else None

    def _is_good(self, key: object, owner: Owner) -> bool:
        return key is None or self._keys.owner_by_id(str(key)) == owner


def set_cookie(value: str, *, seconds: int, secure: bool) -> str:
    """The value of the header. Without a path the cookie is valid below the page's folder, wherever Loci is mounted."""
    return f"{COOKIE}={value}; Max-Age={seconds}; HttpOnly; SameSite=Strict{'; Secure' if secure else ''}"
