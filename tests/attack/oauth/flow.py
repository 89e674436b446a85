"""The steps by which a client gets a token, one by one: an attack changes one of them."""

import base64
import hashlib
import html
import itertools
import json
import re
import time
from dataclasses import dataclass
from functools import partial
from urllib.parse import parse_qs, quote, urlencode, urlsplit

from loci.app import App
from loci.auth.oauth_clients import COUNTS, OAuthClients
from loci.core.identity import SYSTEM
from loci.core.stores import every
from tests.attack.doors import Door
from tests.attack.wire import Answer, Ask, legacy, rpc

HOST = "loci.test"
ISSUER = f"https://{HOST}"
REDIRECT = "https://client.test/callback"
VERIFIER = "v" * 64
HOURS = itertools.count()
FORM = re.compile(r'name="form" value="([^"]+)"')
HERE = (("Host", HOST), ("Sec-Fetch-Site", "same-origin"), ("Accept", "text/html"))
FORM_TYPE = ("Content-Type", "application/x-www-form-urlencoded")


def later(seconds: float) -> float:
    return time.time() + seconds


def challenge_of(verifier: str) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(verifier.encode()).digest()).decode().rstrip("=")


CHALLENGE = challenge_of(VERIFIER)


def parameters(location: str) -> dict[str, str]:
    """What a redirect brings to the client."""
    return {name: values[0] for name, values in parse_qs(urlsplit(location).query).items()}


@dataclass(frozen=True, slots=True)
class Flow:
    """A deployment with the authorization server, behind a door."""

    app: App
    door: Door

    def post(self, path: str, fields: dict[str, str], *headers: tuple[str, str]) -> Answer:
        """A client's form."""
        return self.door.ask(Ask(urlencode(fields).encode(), (("Host", HOST), FORM_TYPE, *headers), target=path))

    def register(self, *redirects: str, **more: object) -> Answer:
        told = {"client_name": "Mallory's", "redirect_uris": list(redirects), **more}
        headers = (("Host", HOST), ("Content-Type", "application/json"))
        return self.door.ask(Ask(json.dumps(told).encode(), headers, target="/register"))

    def forget_registrations(self) -> None:
        """Let the addresses register again that have registered enough."""
        for record in every(self.app.records, SYSTEM, COUNTS):
            self.app.records.remove(SYSTEM, COUNTS, record.key)

    def client(self, *redirects: str) -> str:
        """A new client's id."""
        # Each in an hour of its own: that an address cannot register many is a test of its own.
        hour = next(HOURS) * 3600
        clock = partial(later, hour)
        clients = OAuthClients(self.app.records, self.app.read_public, clock)
        return clients.register("A client", list(redirects or (REDIRECT,)), "192.0.2.9").id

    def authorize(self, client: str, **changed: str | None) -> Answer:
        """A browser that a client sends to Loci. None leaves a parameter out."""
        fields = {
            "response_type": "code",
            "client_id": client,
            "redirect_uri": REDIRECT,
            "code_challenge": CHALLENGE,
            "code_challenge_method": "S256",
            "state": "s1",
            "resource": f"{ISSUER}/mcp",
            **changed,
        }
        query = urlencode({name: value for name, value in fields.items() if value is not None})
        return self.door.ask(Ask(headers=(("Host", HOST),), method="GET", target=f"/authorize?{query}"))

    def wish(self, client: str, **changed: str | None) -> str:
        """The address of the question, below the host."""
        location = self.authorize(client, **changed).header("location") or ""
        assert location.startswith(f"{ISSUER}/ui/consent?wish="), location
        return location.removeprefix(ISSUER)

    def cookie(self, key: str) -> str:
        """That of a browser in which somebody signed in."""
        body = urlencode({"key": key}).encode()
        answer = self.door.ask(Ask(body, (*HERE, FORM_TYPE), target="/ui/sign-in"))
        return (answer.header("set-cookie") or "").partition(";")[0]

    def page(self, wish: str, cookie: str) -> Answer:
        return self.door.ask(Ask(headers=(*HERE, ("Cookie", cookie)), method="GET", target=wish))

    def form(self, wish: str, cookie: str) -> str:
        """The token in the form of the page."""
        found = FORM.search(self.page(wish, cookie).body.decode())
        assert found
        return html.unescape(found[1])

    def decide(self, wish: str, cookie: str, form: str, *scopes: str, **more: str) -> Answer:
        fields = [("form", form), *(("scope", one) for one in scopes), *{"answer": "allow", **more}.items()]
        ask = Ask(urlencode(fields).encode(), (*HERE, FORM_TYPE, ("Cookie", cookie)), target=wish)
        return self.door.ask(ask)

    def code(self, client: str, key: str, *scopes: str, **changed: str | None) -> str:
        """A code that the key's owner has allowed."""
        cookie, wish = self.cookie(key), self.wish(client, **changed)
        answer = self.decide(wish, cookie, self.form(wish, cookie), *(scopes or ("documents:read",)))
        assert answer.status == 303, answer
        return parameters(answer.header("location") or "")["code"]

    def exchange(self, client: str, code: str, /, **changed: str | None) -> Answer:
        fields = {
            "grant_type": "authorization_code",
            "client_id": client,
            "code": code,
            "redirect_uri": REDIRECT,
            "code_verifier": VERIFIER,
            **changed,
        }
        return self.post("/token", {name: value for name, value in fields.items() if value is not None})

    def tokens(self, client: str, key: str, *scopes: str) -> dict[str, str]:
        answer = self.exchange(client, self.code(client, key, *scopes))
        assert answer.status == 200, answer
        return json.loads(answer.body)

    def renew(self, client: str, token: str, **more: str) -> Answer:
        return self.post("/token", {"grant_type": "refresh_token", "client_id": client, "refresh_token": token, **more})

    def uses(self, token: str, target: str = "/mcp") -> Answer:
        """The answer to a request with an access token."""
        return self.door.ask(legacy(rpc("tools/list"), token).having("Host", HOST).at(target))


def error(answer: Answer) -> str:
    """The error of RFC 6749."""
    return json.loads(answer.body)["error"]


def shown(answer: Answer) -> str:
    """The error on the page that a person sees."""
    found = re.search(r"<code>(\w+)</code>", answer.body.decode())
    assert found, answer
    assert b'name="viewport"' in answer.body  # people read it on phones, too
    assert answer.header("location") is None
    return found[1]


def encoded(text: str) -> str:
    return quote(text, safe="")
