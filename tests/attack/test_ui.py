"""Pages for people: who is let in, and what a browser is told to make of them."""

import re
import time
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlencode

import pytest

from loci.app import App
from loci.compose import build_app
from loci.core.settings import load_settings
from loci.mcp.http.application import asgi
from loci.web import browser_auth
from loci.web.browser_auth import COOKIE, LARGEST_FORM, SECONDS
from loci.web.routes import Pages
from tests.attack.conftest import ANN, BOB, Doors
from tests.attack.doors import Door, UvicornDoor, uvicorn_door
from tests.attack.guarded import accepting
from tests.attack.issuer import Issuer
from tests.attack.malformed import PING
from tests.attack.wire import Answer, Ask, legacy
from tests.support.each import each

HOST = "loci.test"
PAGE = (("Host", HOST), ("Accept", "text/html,application/xhtml+xml"))


@pytest.fixture(autouse=True)
def notes(app: App) -> None:
    """A note of each."""
    app.documents.parts.library.add(ANN, "ann.md", b"# Ann's plan\n\n</script><script>alert(1)</script>\n")
    app.documents.parts.library.add(BOB, "bob.md", b"# Bob's plan\n")


def sign_in(door: Door, key: str, *more: tuple[str, str]) -> Answer:
    body = urlencode({"key": key}).encode()
    headers = (*PAGE, ("Content-Type", "application/x-www-form-urlencoded"), *more)
    headers = tuple(dict(headers).items())  # a later one in place of an earlier
    return door.ask(Ask(body, headers, "POST", "/ui/sign-in"))


def look(door: Door, target: str = "/ui/graph", *more: tuple[str, str]) -> Answer:
    return door.ask(Ask(b"", (*PAGE, *more), "GET", target))


def paths(app: App, method: str) -> list[str]:
    """Of all routes of the pages that take this method; an id is x."""
    routes = Pages(app, is_open=False, clock=time.time).routes
    return [re.sub(r"{\w+}", "x", one.path) for one in routes if method in (one.methods or ())]


def cookie_of(answer: Answer) -> tuple[str, str]:
    return "Cookie", str(answer.header("set-cookie")).partition(";")[0]


def test_without_a_credential_a_person_is_asked_for_one(door: Door) -> None:
    answer = look(door)
    assert (answer.status, answer.header("location")) == (303, "sign-in?to=graph")
    form = look(door, "/ui/sign-in")
    assert form.status == 200
    assert b'type="password"' in form.body


def test_the_host_alone_leads_to_the_pages_and_an_unknown_page_says_where_to_begin(door: Door) -> None:
    answer = look(door, "/")
    assert (answer.status, answer.header("location")) == (303, "ui/home")
    unknown = look(door, "/ui/nothing")
    assert (unknown.status, b"Begin at /ui" in unknown.body) == (404, True)
    assert look(door, "/nothing").status == 404


def test_without_a_credential_a_program_is_refused(door: Door, app: App) -> None:
    open_to_all = {"/", "/ui", "/ui/", "/ui/sign-in", "/ui/sign-out"}
    asks = [(method, one) for method in ("GET", "POST") for one in paths(app, method) if one not in open_to_all]
    assert {"/ui/graph", "/ui/files", "/ui/files/list", "/ui/tools/ask"} <= {target for _, target in asks}
    for method, target in (*asks, ("GET", "/ui/search/documents/ann")):
        answer = door.ask(Ask(b"", (("Host", HOST),), method, f"{target}?q=plan"))
        assert (answer.status, b"plan" in answer.body) == (401, False), (method, target)


def test_a_key_in_the_header_is_good_as_at_the_endpoint(door: Door, ann: str) -> None:
    answer = look(door, "/ui/graph", ("Authorization", f"Bearer {ann}"))
    assert answer.status == 200
    assert b"Ann's plan" in answer.body
    assert b"Bob's" not in answer.body


def test_a_wrong_key_is_401_even_for_a_browser(door: Door, ann: str) -> None:
    assert look(door, "/ui/graph", ("Authorization", f"Bearer {ann[:-1]}")).status == 401


def test_who_signs_in_sees_their_own_documents(door: Door, ann: str) -> None:
    signed = sign_in(door, ann)
    assert (signed.status, signed.header("location")) == (303, "home")
    page = look(door, "/ui/graph", cookie_of(signed))
    assert b"Ann's plan" in page.body
    assert b"Bob's" not in page.body
    text = look(door, "/ui/search/documents/ann", cookie_of(signed))
    assert text.header("content-type") == "application/json"
    assert b"alert(1)" in text.body
    assert look(door, "/ui/search/documents/bob", cookie_of(signed)).status == 404


def test_the_cookie_is_out_of_reach_of_scripts_and_other_sites(door: Door, ann: str) -> None:
    said = str(sign_in(door, ann).header("set-cookie"))
    assert {"HttpOnly", "SameSite=Strict", f"Max-Age={SECONDS}"} <= set(said.split("; "))
    assert "Path" not in said  # so it is good below the folder of the page, also where a stage's name stands before it
    assert ann not in said


def test_behind_a_proxy_with_https_the_cookie_goes_nowhere_else(door: Door, ann: str) -> None:
    if isinstance(door, UvicornDoor):
        assert "Secure" not in str(sign_in(door, ann).header("set-cookie"))
        assert "; Secure" in str(sign_in(door, ann, ("X-Forwarded-Proto", "https")).header("set-cookie"))


def test_behind_https_the_cookie_goes_nowhere_else(tmp_path: Path) -> None:
    app = build_app(load_settings({"data": tmp_path, "public_url": "https://loci.test/prod", "log_level": "ERROR"}))
    with uvicorn_door(asgi(app, on_loopback=True)) as door:
        key = app.api_keys.create(ANN, "ann")[1]
        signed = sign_in(door, key, ("Origin", "https://loci.test"))
        assert "; Secure" in str(signed.header("set-cookie"))
        assert look(door, "/ui/graph", cookie_of(signed)).status == 200


@each("key", ["", "loci_000000000000_" + "x" * 43, "\u2603", "a\r\nSet-Cookie: x=1"])
def test_a_wrong_key_is_told_and_signs_nobody_in(door: Door, key: str) -> None:
    answer = sign_in(door, key)
    assert answer.status == 401
    assert answer.header("set-cookie") is None
    assert b"not valid here" in answer.body


def test_a_forged_cookie_signs_nobody_in(door: Door, ann: str) -> None:
    name, good = cookie_of(sign_in(door, ann))
    token = good.partition("=")[2]
    for bad in (token[:-2], token[1:], "", "null", "e30." + token.rpartition(".")[2]):
        assert look(door, "/ui/graph", (name, f"{COOKIE}={bad}")).status == 303
        assert (
            door.ask(Ask(b"", (("Host", HOST), (name, f"{COOKIE}={bad}")), "GET", "/ui/search/documents/ann")).status
            == 401
        )


def test_a_token_that_was_sealed_for_something_else_is_no_cookie(door: Door, app: App) -> None:
    other = app.keyring.seal("session").close({"n": "x", "t": ANN.tenant, "s": ANN.subject, "k": None, "e": 1e12})
    assert look(door, "/ui/graph", ("Cookie", f"{COOKIE}={other}")).status == 303


def test_a_cookie_is_no_credential_at_the_endpoint(door: Door, ann: str) -> None:
    headers = (("Host", HOST), ("Content-Type", "application/json"), cookie_of(sign_in(door, ann)))
    assert door.ask(Ask(b'{"jsonrpc":"2.0","id":1,"method":"ping"}', headers, "POST", "/mcp")).status == 401


def test_a_revoked_key_ends_its_visits(door: Door, app: App) -> None:
    key, text = app.api_keys.create(ANN, "short")
    cookie = cookie_of(sign_in(door, text))
    assert look(door, "/ui/graph", cookie).status == 200
    app.api_keys.revoke(key.id)
    assert look(door, "/ui/graph", cookie).status == 303


def test_a_visit_ends_after_its_hour(door: Door, app: App) -> None:
    for ends, status in ((1.0, 303), (time.time() + 60, 200)):
        kept = app.keyring.seal("visit").close({"n": "x", "t": ANN.tenant, "s": ANN.subject, "k": None, "e": ends})
        assert look(door, "/ui/graph", ("Cookie", f"{COOKIE}={kept}")).status == status


def test_who_signs_out_has_no_cookie_any_more(door: Door) -> None:
    answer = door.ask(Ask(b"", PAGE, "POST", "/ui/sign-out"))
    assert answer.status == 303
    assert f"{COOKIE}=; Max-Age=0" in str(answer.header("set-cookie"))


@each(
    "headers",
    [
        (("Origin", "https://evil.test"),),
        (("Origin", "null"),),
        (("Origin", "http://localhost:1"),),
        (("Sec-Fetch-Site", "cross-site"),),
        (("Sec-Fetch-Site", "same-site"), ("Sec-Fetch-Mode", "navigate"), ("Sec-Fetch-Dest", "document")),
    ],
)
def test_a_form_of_another_page_signs_nobody_in(door: Door, ann: str, headers: tuple[tuple[str, str], ...]) -> None:
    answer = sign_in(door, ann, *headers)
    assert answer.status == 403
    assert answer.header("set-cookie") is None


@each("header", [("Origin", f"https://{HOST}"), ("Sec-Fetch-Site", "same-origin")])
def test_a_form_of_our_own_page_is_taken(door: Door, ann: str, header: tuple[str, str]) -> None:
    assert sign_in(door, ann, header).status == 303


@each("origin", ["http://[", "http://[::1", "://", "http://]", "\xff"])
def test_an_origin_that_is_none_signs_nobody_in(door: Door, ann: str, origin: str) -> None:
    assert sign_in(door, ann, ("Origin", origin)).status == 403


FORM = (*PAGE, ("Content-Type", "application/x-www-form-urlencoded"))
FLOOD = b"a=b&" * (1 << 20)


@each(
    ("body", "status"),
    [
        (b"x" * (LARGEST_FORM + 1), 413),
        pytest.param(FLOOD, 413, id="a million fields"),
        (b"a=b&" * 5 + b"key=x", 400),
        (b"a=b&" * 4 + b"key=x", 401),
    ],
)
def test_a_form_has_16_kib_and_five_fields_at_most(door: Door, body: bytes, status: int) -> None:
    assert door.ask(Ask(body, FORM, "POST", "/ui/sign-in")).status == status


def test_a_form_that_is_too_large_is_not_read(doors: Doors) -> None:
    declared = (*FORM, ("Content-Length", str(len(FLOOD))))
    answer = doors.uvicorn.ask(Ask(b"", declared, "POST", "/ui/sign-in"))
    assert (answer.status, answer.header("connection")) == (413, "close")


def test_nobody_waits_for_forms_that_are_too_large(doors: Doors, monkeypatch: pytest.MonkeyPatch) -> None:
    """Parsed on the loop, each of these forms would take as long as hundreds of calls: none is."""
    parsed = list[int]()

    def counted(text: str, **more: Any) -> dict[str, list[str]]:
        parsed.append(len(text))
        return parse_qs(text, **more)

    monkeypatch.setattr(browser_auth, "parse_qs", counted)
    pieces = b"".join(b"100000\r\n" + FLOOD[:0x100000] + b"\r\n" for _ in range(4)) + b"0\r\n\r\n"
    chunked = Ask(pieces, (*FORM, ("Transfer-Encoding", "chunked")), "POST", "/ui/sign-in")
    asks = [chunked.saying(b"5\r\nkey=x\r\n0\r\n\r\n"), Ask(FLOOD, FORM, "POST", "/ui/sign-in"), chunked]
    assert [doors.uvicorn.ask(one).status for one in asks] == [401, 413, 413]
    assert parsed == [len("key=x")]


def test_a_browser_runs_nothing_but_the_pages_own_program(door: Door, ann: str) -> None:
    answer = look(door, "/ui/graph", ("Authorization", f"Bearer {ann}"))
    policy = str(answer.header("content-security-policy"))
    assert policy.startswith("default-src 'none'; script-src 'sha256-")
    assert "unsafe" not in policy
    assert "frame-ancestors 'none'" in policy
    assert not re.search(rb"<[^>]+\son\w+=|<script>alert", answer.body)


def test_nothing_is_cached_sniffed_or_framed(door: Door, app: App, ann: str) -> None:
    found = ("/ui/search/documents/ann", "/ui/search/results?q=a", "/ui/tools/tool?id=x")
    expected = {
        "cache-control": "private, no-store",
        "x-content-type-options": "nosniff",
        "referrer-policy": "same-origin",
        "x-frame-options": "DENY",
    }
    for target in (*found, *paths(app, "GET")):
        answer = look(door, target, ("Authorization", f"Bearer {ann}"))
        assert {name: answer.header(name) for name in expected} == expected, target


def test_on_a_laptop_the_page_is_simply_there(at_home: UvicornDoor) -> None:
    assert at_home.ask(Ask(b"", (("Host", "127.0.0.1"),), "GET", "/ui/graph")).status == 200
    assert at_home.ask(Ask(b"", (("Host", "rebound.test"),), "GET", "/ui/graph")).status == 421


PASSED_ON = {
    "proxies": "X-Forwarded-For X-Forwarded-Host X-Forwarded-Proto X-Forwarded-Port X-Real-IP Forwarded Via",
    "proxies that spell them another way": "X_Forwarded_For X-Forwarded X-Original-Forwarded-For X-Client-IP",
    "Cloudflare": "CF-Connecting-IP CF-Ray CF-Visitor CF-IPCountry CF-Warp-Tag-Id CF-Access-Jwt-Assertion CDN-Loop",
    "other networks": "True-Client-IP Fastly-Client-IP CloudFront-Viewer-Address X-Azure-ClientIP Fly-Client-IP",
    "ngrok": "Ngrok-Trace-Id Ngrok-Auth-User-Email ngrok-skip-browser-warning",
    "Tailscale": "Tailscale-User-Login Tailscale-Headers-Info Tailscale-Funnel-Request Tailscale-App-Capabilities",
    "dev tunnels": "X-Tunnel-Authorization X-Original-Proto X-Original-Host X-MS-Proxy",
    "localtunnel": "X-NginX-Proxy",
    "PageKite": "X-PageKite-Port",
}
"""Headers that each adds to what it passes on."""


@each("target", ["/ui/graph", "/ui/files", "/mcp", "/documents"])
@each("name", [name for names in PASSED_ON.values() for name in names.split()])
def test_who_comes_through_a_proxy_is_not_the_person_at_this_machine(
    at_home: UvicornDoor, target: str, name: str
) -> None:
    asked = legacy(PING).at(target).by("POST" if target == "/mcp" else "GET")
    answer = at_home.ask(asked.having(name, "1.1 proxy"))
    assert answer.status == 401
    if target == "/mcp":
        assert f"it has the header {name.lower()}), so it needs a key" in answer.message["error"]["message"]


@each("name", ["traceparent", "X-Request-Id", "X-Amzn-Trace-Id", "X-MS-Request-Id", "X-MCP-Toolsets", "Cfg", "Flying"])
def test_a_client_of_this_machine_may_send_headers_of_its_own(at_home: UvicornDoor, name: str) -> None:
    assert at_home.ask(legacy(PING).having(name, "x")).status == 200


def test_a_header_that_comes_twice_is_refused(door: Door, ann: str) -> None:
    if isinstance(door, UvicornDoor):
        twice = (("Authorization", f"Bearer {ann}"), ("Authorization", "Bearer no"))
        assert look(door, "/ui/graph", *twice).status == 400


def test_an_access_token_signs_in_for_no_longer_than_it_is_good(issuer: Issuer, tmp_path: Path) -> None:
    with accepting(issuer, tmp_path) as (app, door):
        ends = int(time.time()) + 100
        signed = sign_in(door, issuer.token(exp=ends), ("Host", "127.0.0.1"))
        assert signed.status == 303
        claims = app.keyring.seal("visit").open(cookie_of(signed)[1].partition("=")[2])
        assert claims is not None
        assert claims.pop("n")
        assert claims == {"t": ANN.tenant, "s": ANN.subject, "k": None, "e": ends}
        assert sign_in(door, issuer.token(exp=ends - 1000), ("Host", "127.0.0.1")).status == 401
        assert sign_in(door, issuer.token(scope=""), ("Host", "127.0.0.1")).status == 401
