"""A login that waits for the person's consent: the address to open, and the answer that comes back."""

import base64
import hashlib
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import parse_qs, urlencode, urlsplit

from loci.tools.authorization import OAuthClient, Protection
from loci.tools.ports import LoginFailed

AGAIN = "Log in again"


@dataclass(frozen=True, slots=True)
class AuthorizationRequest:
    """Asks an authorization server for a code, which only who asked can use (PKCE, RFC 7636)."""

    protection: Protection
    client: OAuthClient
    redirect: str
    scope: str | None
    state: str = field(repr=False, default_factory=lambda: secrets.token_urlsafe(32))
    verifier: str = field(repr=False, default_factory=lambda: secrets.token_urlsafe(64))

    def url(self) -> str:
        """The address to open in a browser. Raises `LoginFailed` if the server cannot be asked safely."""
        server = self.protection.server
        if server.authorize_url is None or not server.has_pkce:
            what = f"{server.issuer} does not say that it knows PKCE, without which a login can be stolen"
            raise LoginFailed(what, "Ask who runs it to mend that")
        digest = hashlib.sha256(self.verifier.encode()).digest()
        fields = {
            "response_type": "code",
            "client_id": self.client.id,
            "redirect_uri": self.redirect,
            "state": self.state,
            "code_challenge": base64.urlsafe_b64encode(digest).decode().rstrip("="),
            "code_challenge_method": "S256",
            "resource": self.protection.resource,
        }
        if self.scope:
            fields["scope"] = self.scope
            if "offline_access" in self.scope.split():  # OpenID Connect gives no refresh token without it
                fields["prompt"] = "consent"
        return server.authorize_url + ("&" if "?" in server.authorize_url else "?") + urlencode(fields)

    def is_answer(self, fields: Mapping[str, str]) -> bool:
        """True if this answers the request, and nobody else's."""
        return secrets.compare_digest(fields.get("state", "").encode(), self.state.encode())

    def form(self, fields: Mapping[str, str]) -> dict[str, str]:
        """The request for tokens that this answer allows. Raises `LoginFailed` if it allows none."""
        server = self.protection.server
        if not self.is_answer(fields):
            raise LoginFailed("The answer belongs to another login", AGAIN)
        issuer = fields.get("iss")
        if issuer != server.issuer and (issuer is not None or server.names_itself):
            raise LoginFailed(f"The answer does not come from {server.issuer}, which was asked", AGAIN)
        if "error" in fields or not fields.get("code"):
            why = " ".join(fields.get("error", "no code").split())
            raise LoginFailed(f"{server.issuer} did not log in: {why[:100]!r}", AGAIN, fields.get("error"))
        return {
            "grant_type": "authorization_code",
            "code": fields["code"],
            "redirect_uri": self.redirect,
            "code_verifier": self.verifier,
            "resource": self.protection.resource,
        }

    def read(self, pasted: str) -> dict[str, str]:
        """The answer in an address that the person copied from the browser. A bare code is taken for this login's."""
        pasted = pasted.strip()
        if "?" not in pasted and not pasted.startswith(("http:", "https:")):
            if self.protection.server.names_itself:
                raise LoginFailed("The code alone does not say who gave it", "Paste the whole address")
            return {"code": pasted, "state": self.state}
        return answer_fields(urlsplit(pasted).query)


def answer_fields(query: str) -> dict[str, str]:
    """The fields of an answer. What comes twice is left out."""
    try:
        found = parse_qs(query, keep_blank_values=True, max_num_fields=50)
    except ValueError:
        return {}
    return {name: values[0] for name, values in found.items() if len(values) == 1}
