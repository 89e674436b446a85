"""The sign-in of a client, as `loci doctor --url` does it: registration, the person's answer, tokens, and their end."""

import base64
import hashlib
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Protocol
from urllib.parse import urlencode, urljoin

from loci.doctor.client_discovery import Found
from loci.doctor.http_steps import Requests, Stopped
from loci.mcp.auth.oauth_client import DOCTOR

LOG: Final = "Look into the log of the server"
MOST_PAGES: Final = 5


class Person(Protocol):
    """Somebody who signs in, and allows the client."""

    @property
    def redirect(self) -> str:
        """The address to which their browser brings the answer."""
        ...

    def visit(self, url: str, state: str) -> Mapping[str, str]:
        """The answer that the browser brings back from this address."""
        ...


@dataclass(frozen=True, slots=True)
class Asked:
    """A question to a person."""

    found: Found
    client: str
    redirect: str
    state: str = field(repr=False, default_factory=lambda: secrets.token_urlsafe(32))
    verifier: str = field(repr=False, default_factory=lambda: secrets.token_urlsafe(48))

    @property
    def scopes(self) -> list[str]:
        """The scopes that the client asks for: to read, if that can be told."""
        return [one for one in self.found.scopes if one.endswith(":read")] or [*self.found.scopes]

    @property
    def url(self) -> str:
        """The address for the person's browser."""
        digest = hashlib.sha256(self.verifier.encode()).digest()
        fields = {
            "response_type": "code",
            "client_id": self.client,
            "redirect_uri": self.redirect,
            "state": self.state,
            "code_challenge": base64.urlsafe_b64encode(digest).decode().rstrip("="),
            "code_challenge_method": "S256",
            "resource": self.found.resource,
            **({"scope": " ".join(self.scopes)} if self.scopes else {}),
        }
        where = self.found.authorize_url
        return f"{where}{'&' if '?' in where else '?'}{urlencode(fields)}"

    def code(self, answer: Mapping[str, str]) -> str:
        """The code in the answer. Raises `Stopped` if a client would refuse it."""
        if answer.get("state") != self.state:
            raise Stopped("The answer has another state", "Pass on the query of redirects as it comes")
        if answer.get("iss", self.found.issuer) != self.found.issuer:
            what = f"The answer comes from {answer['iss']}, and {self.found.issuer} was asked"
            raise Stopped(what, "Set public_url to the address that clients use")
        if "code" not in answer:
            why = answer.get("error_description") or answer.get("error") or "no code"
            raise Stopped(f"The client was not allowed: {why[:120]}", "Try again, and allow it")
        return answer["code"]


def registered(requests: Requests, found: Found, redirect: str) -> str:
    """The id of a new client (RFC 7591)."""
    told = {
        "client_name": DOCTOR,
        "redirect_uris": [redirect],
        "grant_types": ["authorization_code", "refresh_token"],
        "response_types": ["code"],
        "token_endpoint_auth_method": "none",
    }
    reply = requests.ask("POST", str(found.registration_url), json=told)
    client = reply.value.get("client_id")
    if reply.status not in (200, 201) or not isinstance(client, str):
        is_later = reply.status in (429, 503)
        advice = "Try again in an hour" if is_later else f"Pass on POST {found.registration_url} as it comes. {LOG}"
        raise Stopped(f"The registration of a client answers {reply.words}", advice)
    return client


def asks(requests: Requests, asked: Asked) -> None:
    """Raise `Stopped` if no person would be asked."""
    where = asked.url
    for _ in range(MOST_PAGES):
        reply = requests.ask("GET", where, headers={"Accept": "text/html"})
        place = where.partition("?")[0]
        if reply.status == 200:
            return
        if reply.status not in (302, 303) or "location" not in reply.headers:
            what = f"The page for the person, {place}, answers {reply.words}"
            raise Stopped(what, f"Pass on GET {place} with its query. {LOG}")
        where = urljoin(where, reply.headers["location"])
    what = f"The page for the person leads on and on, now to {where.partition('?')[0]}"
    raise Stopped(what, "Set public_url to the address that clients use")


def tokens_for(requests: Requests, asked: Asked, code: str) -> dict[str, Any]:
    """The answer to the code."""
    form = {
        "grant_type": "authorization_code",
        "client_id": asked.client,
        "code": code,
        "redirect_uri": asked.redirect,
        "code_verifier": asked.verifier,
        "resource": asked.found.resource,
    }
    reply = requests.ask("POST", asked.found.token_url, form=form)
    if reply.status != 200 or not isinstance(reply.value.get("access_token"), str):
        advice = f"Pass on POST {asked.found.token_url} with its body and its Content-Type as they come. {LOG}"
        raise Stopped(f"The exchange of the code answers {reply.words}", advice)
    return reply.value


def ended(requests: Requests, found: Found, client: str, token: str) -> None:
    """End the connection again."""
    reply = requests.ask("POST", str(found.revocation_url), form={"token": token, "client_id": client})
    if reply.status != 200:
        raise Stopped(f"The connection could not be ended: {reply.words}", "End it with: loci clients revoke ID")
