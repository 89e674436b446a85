"""Consents: a client's wish, sealed, on its way through the person's browser, and the person's decision."""

import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Final
from urllib.parse import quote, urlencode

from pydantic import TypeAdapter

from loci.core.errors import NotFound
from loci.core.identity import Owner
from loci.core.signing import Keyring
from loci.mcp.auth.grants import AskedGrant, Grants, SignedInBy, grants_of
from loci.mcp.auth.oauth_client import OAuthClient, host_of
from loci.mcp.auth.oauth_clients import OAuthClients, clients_of

if TYPE_CHECKING:
    from loci.mcp.module import Host

PAGE: Final = "/ui/consent"
WISH_SECONDS: Final = 600.0
"""The time for which the page with the question is good."""
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

    def is_known(self, wish: Wish, owner: Owner) -> bool:
        """True if the person need not be asked again.

        A redirect to a program on the person's machine is no proof of who gets the code, so there Loci always asks.
        """
        if not wish.asked.redirect.startswith("https://"):
            return False
        grant = self._grants.allowed(owner, wish.client.id, wish.asked.redirect)
        if grant is None or grant.resource != wish.asked.resource:
            return False
        return set(wish.asked.scopes) <= set(grant.scopes)

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


def consents_of(host: "Host") -> Consents:
    """The questions to the people of a deployment."""
    return Consents(clients_of(host), grants_of(host), host.keyring, host.settings.base_url, time.time)
