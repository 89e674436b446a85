"""An OpenID Connect issuer at which people sign in: it sends the browser back with a code, and gives tokens for it."""

import base64
import hashlib
import json
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qsl, unquote, urlencode, urlsplit

from tests.attack.issuer import Given, Issuer, signed

CLIENT = "loci-at-the-issuer"


@dataclass(frozen=True, slots=True)
class Asked:
    """A question of a client, in the person's browser."""

    fields: dict[str, str]
    who: str


class PeopleIssuer(Issuer):
    """Whoever comes is signed in as `who`, as if they had typed a password."""

    def __init__(self, url: str) -> None:
        super().__init__(url)
        self.codes: dict[str, Asked] = {}
        self.used: list[str] = []
        """The codes that came to the token endpoint."""
        self.behave()

    def behave(self) -> None:
        """Be as an issuer should be."""
        self.who = "ann"
        self.secret: str | None = None
        """The secret of the client, if it has one."""
        self.methods = ["client_secret_basic", "none"]
        self.changed: dict[str, object] = {}
        """Claims of its ID tokens that are not as they should be."""
        self.answered: dict[str, object] = {}
        """Fields of its answers to codes that are not as they should be."""
        self.sent_back: dict[str, str] = {}
        """Fields of its redirects that are not as they should be; an empty one is left out."""
        self.moved: str | None = None
        """Where its token endpoint says that it is now."""

    def answer(self, method: str, path: str, body: bytes, headers: Mapping[str, str]) -> Given:
        where = urlsplit(path)
        if method == "GET" and where.path == "/authorize":
            return self._sent_back(dict(parse_qsl(where.query, keep_blank_values=True)))
        if method == "POST" and path == "/token":
            self.asked.append(path)
            if self.moved:
                return Given(307, headers={"Location": self.moved})
            return self._tokens(dict(parse_qsl(body.decode())), headers.get("Authorization", ""))
        return super().answer(method, path, body, headers)

    def page(self, path: str) -> bytes | None:
        found = super().page(path)
        if path == "/.well-known/openid-configuration" and path not in self.pages and found:
            told = {
                "authorization_endpoint": f"{self.url}/authorize",
                "token_endpoint": f"{self.url}/token",
                "token_endpoint_auth_methods_supported": self.methods,
                "authorization_response_iss_parameter_supported": True,
            }
            return json.dumps(json.loads(found) | told).encode()
        return found

    def code(self, **fields: str) -> str:
        """A code for somebody who came with these fields."""
        code = secrets.token_urlsafe(16)
        self.codes[code] = Asked(fields, self.who)
        return code

    def id_token(self, claims: dict[str, object]) -> str:
        """A token of these claims."""
        return signed(self.claims(**claims), self.keys["rsa"], {"kid": "rsa"})

    def _sent_back(self, fields: dict[str, str]) -> Given:
        if fields.get("client_id") != CLIENT or "openid" not in fields.get("scope", "").split():
            return Given(400, b"no such client")
        told = {"code": self.code(**fields), "state": fields["state"], "iss": self.url} | self.sent_back
        query = urlencode({name: value for name, value in told.items() if value})
        return Given(302, headers={"Location": f"{fields['redirect_uri']}?{query}"})

    def _tokens(self, form: dict[str, str], authorization: str) -> Given:
        code = form.get("code", "")
        self.used.append(code)
        if not self._is_client(form, authorization):
            return _wrong(401, "invalid_client")
        asked = self.codes.pop(code, None)
        digest = hashlib.sha256(form.get("code_verifier", "").encode()).digest()
        challenge = base64.urlsafe_b64encode(digest).decode().rstrip("=")
        if (
            asked is None
            or asked.fields.get("code_challenge") != challenge
            or asked.fields.get("redirect_uri") != form.get("redirect_uri")
        ):
            return _wrong(400, "invalid_grant")
        claims: dict[str, object] = {
            "aud": CLIENT,
            "sub": asked.who,
            "scope": ...,
            "nonce": asked.fields.get("nonce", ...),
        }
        answer: dict[str, Any] = {
            "access_token": self.token(sub=asked.who),
            "token_type": "Bearer",
            "expires_in": 300,
            "id_token": self.id_token(claims | self.changed),
        } | self.answered
        return Given(200, json.dumps(answer).encode())

    def _is_client(self, form: dict[str, str], authorization: str) -> bool:
        if self.secret is None:
            return form.get("client_id") == CLIENT and not authorization
        if authorization:
            both = base64.b64decode(authorization.removeprefix("Basic ")).decode().split(":")
            return [unquote(one) for one in both] == [CLIENT, self.secret]
        return (form.get("client_id"), form.get("client_secret")) == (CLIENT, self.secret)


def _wrong(status: int, error: str) -> Given:
    return Given(status, json.dumps({"error": error, "error_description": "<script>of the issuer"}).encode())
