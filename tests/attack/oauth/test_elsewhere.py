"""Credentials shown where they are not good: tokens at pages, cookies at endpoints, and what has ended everywhere."""

from urllib.parse import urlencode

import pytest

from loci.core.scopes import SCOPES
from tests.attack.conftest import ANN
from tests.attack.oauth.flow import FORM_TYPE, HERE, HOST, ISSUER, Flow
from tests.attack.wire import Answer, Ask, rpc
from tests.support.each import each

ENDPOINTS = ("/mcp", "/mcp/core", "/mcp/documents", "/mcp/files", "/mcp/tools", "/mcp/search")
MOVING = ("/documents", "/transfer")
PAGES = (
    *("/events", "/ui/events", "/ui/graph", "/ui/search", "/ui/search/documents/secret", "/ui/files/list", "/ui/tools"),
    *("/ui/runs/list", "/ui/runs/waiting", "/ui/tools/learned", "/ui/settings/executors", "/ui/settings/connections"),
    "/ui/approve?link=x",
)
WORD = "rhubarb"


@pytest.fixture(autouse=True)
def note(flow: Flow) -> None:
    flow.app.documents.parts.library.add(ANN, "secret.md", f"# {WORD}\n".encode())


def shown(flow: Flow, target: str, *headers: tuple[str, str]) -> Answer:
    """The answer to a request with these headers alone."""
    if target in PAGES:
        return flow.door.ask(Ask(b"", (("Host", HOST), *headers), "GET", target))
    if target == "/transfer":
        return flow.door.ask(Ask(b"", (("Host", HOST), *headers), "GET", target))
    body = b'{"put": []}' if target == "/documents" else rpc("tools/list")
    typed = ("Content-Type", "application/json")
    return flow.door.ask(Ask(body, (("Host", HOST), typed, *headers), "POST", target))


def bearer(token: str) -> tuple[str, str]:
    return "Authorization", f"Bearer {token}"


def token_for(flow: Flow, key: str, path: str, *scopes: str) -> str:
    """An access token for the endpoint at this path."""
    client, resource = flow.client(), f"{ISSUER}{path}"
    code = flow.code(client, key, *scopes, resource=resource)
    return flow.exchange(client, code, resource=resource).message["access_token"]


def refused(answer: Answer, *statuses: int) -> None:
    assert answer.status in statuses, answer
    assert WORD.encode() not in answer.body


def test_a_token_for_a_client_opens_no_page_and_no_stream(flow: Flow, ann: str) -> None:
    token = token_for(flow, ann, "/mcp", *SCOPES)
    for target in ENDPOINTS + MOVING:
        assert shown(flow, target, bearer(token)).status == 200, target
    for target in PAGES:
        refused(shown(flow, target, bearer(token)), 403)
        refused(shown(flow, target, ("X-API-Key", token)), 401)
        refused(shown(flow, target, ("Cookie", f"loci_visit={token}")), 401)
    body = urlencode({"key": token}).encode()
    signed = flow.door.ask(Ask(body, (*HERE, FORM_TYPE), target="/ui/sign-in"))
    assert (signed.status, signed.header("set-cookie")) == (401, None)


def test_no_answer_may_be_kept(flow: Flow) -> None:
    documents = [f"/.well-known/oauth-protected-resource{one}" for one in ("", *ENDPOINTS, "/nothing")]
    servers = ("/.well-known/oauth-authorization-server", "/.well-known/openid-configuration")
    asks = [(one, "GET") for one in (*documents, *servers, "/authorize", "/ui/sign-in", "/ui/consent?wish=x")]
    for target, method in (*asks, *((one, "POST") for one in (*ENDPOINTS, "/token", "/register", "/revoke"))):
        answer = flow.door.ask(Ask(b"", (("Host", HOST), ("Accept", "text/html")), method, target))
        assert "no-store" in (answer.header("cache-control") or ""), (target, answer)


@each("document", ["oauth-protected-resource/mcp", "oauth-authorization-server"])
def test_a_page_of_another_site_reads_the_way_in(flow: Flow, document: str) -> None:
    sent = ("Access-Control-Request-Method", "GET"), ("Access-Control-Request-Headers", "mcp-protocol-version")
    page = ("Host", HOST), ("Origin", "https://app.test")
    for method, headers in (("OPTIONS", (*page, *sent)), ("GET", (*page, ("MCP-Protocol-Version", "2025-06-18")))):
        answer = flow.door.ask(Ask(b"", headers, method, f"/.well-known/{document}"))
        assert (answer.status, answer.header("access-control-allow-origin")) == (200, "*")
        assert answer.header("access-control-allow-headers") == "MCP-Protocol-Version"


@each("path", ENDPOINTS[1:])
def test_a_token_for_a_part_is_good_at_that_part_only(flow: Flow, ann: str, path: str) -> None:
    token = token_for(flow, ann, path, *SCOPES)
    assert shown(flow, path, bearer(token)).status == 200
    for target in (*(one for one in ENDPOINTS if one != path), *MOVING):
        refused(shown(flow, target, bearer(token)), 401)
    odd = (f"{path}/../..", f"{path};x", f"/prod{path}", f"/{path}")
    for target in (*PAGES, *odd):
        refused(shown(flow, target, bearer(token)), 401, 403, 404)


def test_a_token_of_few_scopes_moves_nothing(flow: Flow, ann: str) -> None:
    token = token_for(flow, ann, "/mcp", "documents:read", "files:read")
    for target in MOVING:
        refused(shown(flow, target, bearer(token)), 403)


def test_a_cookie_is_good_at_pages_only(flow: Flow, ann: str) -> None:
    cookie = flow.cookie(ann)
    value = cookie.partition("=")[2]
    for target in ENDPOINTS + MOVING:
        for header in (("Cookie", cookie), bearer(value), ("X-API-Key", value)):
            refused(shown(flow, target, header), 401)
    for target in ("/events", "/ui/graph"):
        refused(shown(flow, target, bearer(value)), 401)


def test_a_key_is_no_cookie(flow: Flow, ann: str) -> None:
    for target in (*PAGES, *ENDPOINTS, *MOVING):
        for name in ("loci_visit", "Authorization", "apikey", "X-API-Key"):
            refused(shown(flow, target, ("Cookie", f"{name}={ann}")), 401)


@each("ended", ["key", "grant", "token"])
def test_what_has_ended_has_ended_everywhere_at_once(flow: Flow, ended: str) -> None:
    client, ann = flow.client(), flow.app.api_keys.create(ANN, "ann")[1]
    tokens = flow.exchange(client, flow.code(client, ann, *SCOPES)).message
    cookie = flow.cookie(ann)
    if ended == "key":
        flow.app.api_keys.revoke(flow.app.api_keys.id_in(ann) or "")
    elif ended == "grant":
        assert flow.post("/revoke", {"token": tokens["refresh_token"], "client_id": client}).status == 200
    else:
        seal = flow.app.keyring.seal("oauth-access")
        claims = seal.open(tokens["access_token"].removeprefix("loci-access-")) or {}
        tokens["access_token"] = "loci-access-" + seal.close({**claims, "e": 1})
    for target in (*ENDPOINTS, *MOVING, *PAGES):
        refused(shown(flow, target, bearer(tokens["access_token"])), 401)
        refused(shown(flow, target, bearer(tokens["refresh_token"])), 401)
        if ended == "key":
            refused(shown(flow, target, bearer(ann)), 401)
            refused(shown(flow, target, ("Cookie", cookie)), 401)
