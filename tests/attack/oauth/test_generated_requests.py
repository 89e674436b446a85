"""2,000 generated requests at the authorization server: each gets a precise answer, and leads nowhere else."""

import json
import random
from urllib.parse import urlencode

from tests.attack.conftest import ANN, few_or_all
from tests.attack.oauth.flow import CHALLENGE, HOST, ISSUER, REDIRECT, VERIFIER, Flow, shown
from tests.attack.wire import Answer, Ask

A_DOOR, FEW = 1000, 300
ERRORS = {
    *("invalid_request", "invalid_client", "invalid_grant", "unauthorized_client", "unsupported_grant_type"),
    *("invalid_scope", "invalid_target", "unsupported_response_type", "access_denied", "temporarily_unavailable"),
    *("invalid_client_metadata", "invalid_redirect_uri"),
}
ROUTES = (
    *("/authorize", "/token", "/register", "/revoke", "/ui/consent", "/ui/sign-in", "/ui/signed-in"),
    *("/.well-known/oauth-authorization-server", "/.well-known/openid-configuration/mcp"),
    "/.well-known/oauth-protected-resource/mcp",
)
METHODS = ("GET", "POST", "POST", "POST", "PUT", "HEAD", "OPTIONS", "DELETE")
HOSTILE = (
    *(
        "",
        " ",
        "x",
        "null",
        "-1",
        "[]",
        "{}",
        "%",
        "%00",
        "\0",
        "\n",
        "a\r\nLocation: https://evil.test",
        "\ud7ff",
        "\u202e",
    ),
    *("<script>", "'\"><", "../../..", "https://evil.test", "//evil.test", "javascript:alert(1)", "x" * 3000, "ü" * 50),
    *("https://client.test/callback@evil.test", "https://[::1", "http://127.0.0.1:99999/", "https://a:b@c/d"),
    *(
        "loci-access-.x",
        "loci-renew-.x.y",
        "eyJhIjoxfQ.AAAA",
        "documents:read  files:read",
        "plain",
        "token",
        "code id_token",
    ),
)
TYPES = (
    "application/x-www-form-urlencoded",
    "application/x-www-form-urlencoded; charset=utf-8",
    "application/json",
    "text/plain",
    "",
)


def generated(chance: random.Random, good: dict[str, tuple[str, ...]]) -> Ask:
    """A request of which most parts are right."""
    route, method = chance.choice(ROUTES), chance.choice(METHODS)
    if chance.random() < 0.5:
        method = "GET" if route.startswith(("/authorize", "/ui")) or "well-known" in route else "POST"
    fields = [
        (name, chance.choice(values) if chance.random() < 0.8 else chance.choice(HOSTILE))
        for name, values in good.items()
        if chance.random() < 0.85
    ]
    if chance.random() < 0.15:
        fields.append((chance.choice([*good, "x"]), chance.choice(HOSTILE)))
    headers = [("Host", HOST), ("Accept", "text/html")]
    if chance.random() < 0.1:
        headers.append(("Authorization", chance.choice(("Basic eDp5", "Basic x", "Bearer x", "Basic", "Negotiate =="))))
    form = urlencode(fields, errors="replace")
    if method == "GET":
        return Ask(headers=tuple(headers), method=method, target=f"{route}?{form}")
    kind = TYPES[0] if chance.random() < 0.7 else chance.choice(TYPES)
    body = form.encode()
    if route == "/register":
        kind = "application/json" if chance.random() < 0.8 else kind
        told = {name: chance.choice((value, [value], [], None, 5, {value: value})) for name, value in fields}
        body = json.dumps(told).encode()
    if chance.random() < 0.1:
        body = bytes(chance.randrange(256) for _ in range(chance.randrange(200)))
    return Ask(body, (*headers, *([("Content-Type", kind)] if kind else [])), method, route)


def check(ask: Ask, answer: Answer) -> None:
    """No fault of the server, a known error, no way to elsewhere."""
    assert answer.status < 500, (ask, answer)
    assert answer.status not in (301, 307, 308), (ask, answer)  # a browser could send a form on
    location = answer.header("location")
    assert location is None or location.startswith((f"{ISSUER}/ui/consent?wish=", "sign-in?to=")), (ask, answer)
    if not ask.target.startswith(
        ("/ui", "/.well-known/oauth-protected-resource")
    ):  # a page that does not take a method says only that
        assert answer.header("x-content-type-options") == "nosniff" or answer.status == 200, (ask, answer)
    if answer.status >= 400 and ask.method != "HEAD" and ask.target.startswith(("/token", "/register", "/revoke")):
        told = json.loads(answer.body)
        assert told["error"] in ERRORS, (ask, answer)
        assert "no-store" in (answer.header("cache-control") or ""), (ask, answer)
    if answer.status >= 400 and ask.method != "HEAD" and ask.target.startswith("/authorize"):
        assert shown(answer) in ERRORS, (ask, answer)


@few_or_all
def test_generated_requests_get_precise_answers(flow: Flow, few: bool) -> None:
    key = flow.app.api_keys.create(ANN, "ann")[1]
    client = flow.client()
    tokens = flow.tokens(client, key)
    good = {
        "response_type": ("code",),
        "grant_type": ("authorization_code", "refresh_token"),
        "client_id": (client,),
        "redirect_uri": (REDIRECT,),
        "code_challenge": (CHALLENGE,),
        "code_challenge_method": ("S256",),
        "code_verifier": (VERIFIER,),
        "state": ("s1",),
        "scope": ("documents:read", "documents:read files:write"),
        "resource": (f"{ISSUER}/mcp",),
        "code": ("c" * 43,),
        "refresh_token": (tokens["refresh_token"],),
        "token": ("x",),
        "wish": (flow.wish(client).partition("=")[2],),
        "redirect_uris": (REDIRECT,),
        "client_name": ("A client",),
    }
    chance = random.Random(f"oauth {type(flow.door).__name__}")
    answered: dict[int, int] = {}
    for _ in range(FEW if few else A_DOOR):
        ask = generated(chance, good)
        answer = flow.door.ask(ask)
        check(ask, answer)
        if answer.status == 429:
            flow.forget_registrations()
        answered[answer.status] = answered.get(answer.status, 0) + 1
    assert answered.keys() >= {200, 302, 303, 400, 401, 405}, answered
