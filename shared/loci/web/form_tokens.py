"""Tokens against forged requests: a change comes from a page that this visitor got, or it is refused."""

from typing import Final

from loci.core.identity import Owner
from loci.core.ids import content_id
from loci.core.json import JsonObject
from loci.core.signing import Keyring
from loci.mcp.http.refusal import Refusal

FIELD: Final = "form"
"""The field of a form that has the token."""
HEADER: Final = "x-loci-form"
"""The header that has it in a request of a page's program."""


class FormTokens:
    """Makes and checks them. Each is sealed for an owner, for one sign-in, and for what the form is about."""

    def __init__(self, keyring: Keyring) -> None:
        self._seal = keyring.seal("form")

    def make(self, owner: Owner, session: str, about: str = "") -> str:
        """The token. `session`: the cookie of the sign-in, or nothing; `about`: the question that the form answers."""
        return self._seal.close(_claims(owner, session, about))

    def check(self, token: str, owner: Owner, session: str, about: str = "") -> None:
        """Refuse a token that was not made for exactly this."""
        if self._seal.open(token) != _claims(owner, session, about):
            raise Refusal(403, "This was not sent by a page of Loci that you opened. Load the page again")


def _claims(owner: Owner, session: str, about: str) -> JsonObject:
    return {"o": owner.key, "s": content_id(session, length=32), "a": content_id(about, length=32)}
