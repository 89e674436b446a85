"""Calls of tools at servers that want a login, through `tools/call`."""

import asyncio
import json
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from loci.app import App
from loci.compose import build_app
from loci.core.identity import LOCAL, LOCAL_CALLER, Owner
from loci.core.stores import every
from loci.gateway.logins import LOGIN
from tests.support.authorization_server import METADATA, RESOURCE, Protected, protected
from tests.surface.conftest import Connect
from tests.surface.results import texts
from tests.surface.tools.logins import CONSENT, REDIRECT, add, log_in

pytestmark = pytest.mark.anyio
OTHER = Owner("", "somebody else")
DOCUMENT = "https://app.example/loci.json"


@pytest.fixture
def server() -> Iterator[Protected]:
    with protected() as made:
        yield made


@pytest.fixture
def far(app: App, server: Protected) -> Protected:
    """The server, configured and logged in at."""
    add(app, server)
    log_in(app)
    app.tools.ask(LOCAL, "far")
    return server


async def said(connect: Connect) -> str:
    async with connect("tools") as client:
        return texts(await client.call_tool("far:whoami", {}))[0]


def make_due(app: App) -> None:
    """As if the token ended in a moment."""
    change(app, renew_at=time.time() - 1, ends_at=time.time() + 600)


def change(app: App, **fields: Any) -> None:
    [record] = every(app.records, LOCAL, LOGIN)
    state: Any = record.value["state"]
    app.records.put(LOCAL, LOGIN, "far", {**record.value, "state": {**state, **fields}})


async def test_a_server_without_a_login_says_how_to_log_in(app: App, server: Protected, connect: Connect) -> None:
    add(app, server)
    answer = await said(connect)
    assert answer.startswith("MCP_SERVER_ERROR: The tool server far failed: it wants a login (401)")
    assert "loci tools login far" in answer


async def test_a_tool_is_called_with_the_login(far: Protected, connect: Connect) -> None:
    assert await said(connect) == "ann with read"
    assert [form["resource"] for form in far.forms] == [far.url]


async def test_no_record_and_no_state_holds_a_token_or_a_secret(app: App, far: Protected) -> None:
    stored = json.dumps([one.value for one in every(app.records, LOCAL, LOGIN)]) + repr(app.tools.logins(LOCAL))
    [client] = far.tokens.clients.values()
    for secret in (*far.tokens.access, *far.tokens.refresh, client.client_secret or ""):
        assert secret
        assert secret not in stored


async def test_a_key_in_the_url_is_stored_closed_and_told_to_nobody(app: App, server: Protected) -> None:
    app.tools.parts.secrets.put(LOCAL, "FAR_KEY", "s3cret-key")
    app.tools.add(LOCAL, "far", {"url": f"{server.url}?key=${{FAR_KEY}}"})
    log_in(app)
    app.tools.ask(LOCAL, "far")
    assert "s3cret-key" not in json.dumps([one.value for one in every(app.records, LOCAL, LOGIN)])
    assert "s3cret-key" not in json.dumps(server.forms)
    app.tools.parts.secrets.put(LOCAL, "FAR_KEY", "another")
    with pytest.raises(Exception, match="wants a login"):
        app.tools.ask(LOCAL, "far")


async def test_a_login_of_another_owner_is_not_used(app: App, server: Protected, connect: Connect) -> None:
    app.tools.add(OTHER, "far", {"url": server.url})
    add(app, server)
    log_in(app)
    with pytest.raises(Exception, match="wants a login"):
        app.tools.ask(OTHER, "far")


async def test_a_token_that_ends_soon_is_renewed_before_the_call(app: App, far: Protected, connect: Connect) -> None:
    make_due(app)
    assert await said(connect) == "ann with read"
    ends_at = app.tools.logins(LOCAL)["far"].ends_at
    assert ends_at is not None
    assert (far.tokens.renewals, ends_at > time.time() + 900) == (1, True)


async def test_a_renewed_token_does_not_end_the_connection(app: App, far: Protected, connect: Connect) -> None:
    await said(connect)
    before = far.sessions()
    make_due(app)
    await said(connect)
    assert (far.sessions(), far.tokens.renewals) == (before, 1)


async def test_a_refused_token_is_renewed_and_the_call_is_made_once(far: Protected, connect: Connect) -> None:
    far.tokens.access.clear()
    assert await said(connect) == "ann with read"
    assert (far.tokens.renewals, far.calls) == (1, 1)


async def test_a_server_that_refuses_every_token_is_asked_twice(far: Protected, connect: Connect) -> None:
    async def refuse(_: Request) -> Response:
        return JSONResponse({"error": "invalid_token"}, 401)

    await said(connect)
    far.instead["/mcp"] = refuse
    count = len(far.asked)
    answer = await said(connect)
    assert "loci tools login far" in answer
    assert [path for path, _ in far.asked[count:]] == ["/mcp", "/token", "/mcp"]


async def test_a_dead_refresh_token_ends_the_login(app: App, far: Protected, connect: Connect) -> None:
    far.tokens.refresh.clear()
    make_due(app)
    answer = await said(connect)
    assert "The login to far has ended. Log in with: loci tools login far" in answer
    assert app.tools.logins(LOCAL)["far"].describe("far", time.time()) == "login needed: loci tools login far"
    count = len(far.forms)
    assert "has ended" in await said(connect)
    assert len(far.forms) == count


async def test_a_call_goes_on_with_a_good_token_while_it_cannot_be_renewed(
    app: App, far: Protected, connect: Connect
) -> None:
    async def fail(_: Request) -> Response:
        return Response("no", 503)

    far.instead["/token"] = fail
    make_due(app)
    assert await said(connect) == "ann with read"
    change(app, ends_at=time.time() - 1)
    assert "it answered 503" in await said(connect)
    assert not app.tools.logins(LOCAL)["far"].has_ended


async def test_two_processes_at_once_use_a_refresh_token_once(app: App, far: Protected, connect: Connect) -> None:
    async def slow(request: Request) -> Response:
        await asyncio.sleep(0.3)
        form = {name: str(value) for name, value in (await request.form()).items()}
        client = far.tokens.clients[form["client_id"]]
        found = await far.tokens.load_refresh_token(client, form["refresh_token"])
        assert found is not None
        given = await far.tokens.exchange_refresh_token(client, found, found.scopes)
        return JSONResponse(given.model_dump(exclude_none=True))

    other = build_app(app.settings)
    far.instead["/token"] = slow
    change(app, renew_at=time.time() - 1, ends_at=time.time() - 1)
    with ThreadPoolExecutor() as threads:
        answers = [
            threads.submit(one.tools.value, LOCAL_CALLER, "cli", "far:whoami", {})
            for one in (app, other)
            for _ in range(4)
        ]
        assert {json.dumps(one.result()) for one in answers} == {json.dumps("ann with read")}
    other.close()
    assert (far.tokens.renewals, far.tokens.reused) == (1, 0)


async def test_more_rights_are_named_with_the_command_that_asks_for_them(
    app: App, far: Protected, connect: Connect
) -> None:
    async def refuse(_: Request) -> Response:
        wanted = 'Bearer error="insufficient_scope", scope="write $(reboot) files:read"'
        return Response("no", 403, {"WWW-Authenticate": wanted})

    await said(connect)
    far.instead["/mcp"] = refuse
    answer = await said(connect)
    assert "it wants more rights (write files:read)" in answer
    assert "loci tools login far --scope write --scope files:read" in answer
    assert "reboot" not in answer


async def test_a_login_for_more_keeps_the_rights_that_it_had(app: App, far: Protected, connect: Connect) -> None:
    far.wrong[RESOURCE] = {"scopes_supported": ["read", "write"]}
    log_in(app, "write")
    assert await said(connect) == "ann with read write"


async def test_a_token_goes_to_no_other_url(app: App, far: Protected) -> None:
    with protected() as other:
        app.tools.add(LOCAL, "far", {"url": other.url})
        with pytest.raises(Exception, match="wants a login"):
            app.tools.ask(LOCAL, "far")
        assert all("authorization" not in headers for _, headers in other.asked)


async def test_a_token_follows_no_redirect_to_another_origin(app: App, far: Protected, connect: Connect) -> None:
    with protected() as other:

        async def lead_away(_: Request) -> Response:
            return Response("", 307, {"Location": other.url})

        far.instead["/mcp"] = lead_away
        assert "MCP_SERVER_ERROR" in await said(connect)
        assert other.asked == []


async def test_logging_out_forgets_the_login_and_revokes_it(app: App, far: Protected, connect: Connect) -> None:
    app.tools.log_out(LOCAL, "far")
    assert (far.tokens.access, far.tokens.refresh, app.tools.logins(LOCAL)) == ({}, {}, {})
    assert "wants a login" in await said(connect)


async def test_removing_a_server_forgets_its_login(app: App, far: Protected) -> None:
    app.tools.remove(LOCAL, "far")
    assert app.tools.logins(LOCAL) == {}


async def test_a_new_login_takes_the_place_of_the_old_at_once(app: App, far: Protected, connect: Connect) -> None:
    await said(connect)
    far.tokens.access.clear()
    far.tokens.refresh.clear()
    log_in(app)
    assert await said(connect) == "ann with read"


async def test_a_login_whose_key_is_gone_has_ended_and_can_be_made_anew(
    app: App, far: Protected, connect: Connect
) -> None:
    [record] = every(app.records, LOCAL, LOGIN)
    app.records.put(LOCAL, LOGIN, "far", {**record.value, "closed": "AAAA"})
    assert "The login to far has ended" in await said(connect)
    log_in(app)
    assert await said(connect) == "ann with read"
    app.records.put(LOCAL, LOGIN, "far", {**record.value, "closed": "AAAA"})
    app.tools.log_out(LOCAL, "far")
    assert app.tools.logins(LOCAL) == {}


async def test_an_app_that_was_registered_by_hand_serves_for_the_next_login_too(app: App, server: Protected) -> None:
    server.wrong[METADATA] = {"registration_endpoint": None}
    server.register("app-1", "its s3cret", REDIRECT)
    add(app, server)
    asked: list[str] = []

    def secret(client_id: str) -> str:
        asked.append(client_id)
        return "its s3cret"

    for client_id in ("app-1", None):
        app.tools.log_in(LOCAL, "far", CONSENT, client_id=client_id, secret=secret)
        assert app.tools.value(LOCAL_CALLER, "cli", "far:whoami", {}) == "ann with read"
    assert asked == ["app-1"]


@pytest.mark.parametrize("where", ["named now", "in the entry"])
async def test_a_client_whose_id_is_the_address_of_its_metadata_has_no_secret(
    app: App, server: Protected, where: str
) -> None:
    server.wrong[METADATA] = {"registration_endpoint": None, "client_id_metadata_document_supported": True}
    server.register(DOCUMENT, None, REDIRECT)
    add(app, server, **({"oauth": {"client_id": DOCUMENT}} if where == "in the entry" else {}))

    def secret(_: str) -> str:
        raise AssertionError("there is none to ask for")

    client_id = DOCUMENT if where == "named now" else None
    app.tools.log_in(LOCAL, "far", CONSENT, client_id=client_id, secret=secret)
    assert app.tools.value(LOCAL_CALLER, "cli", "far:whoami", {}) == "ann with read"
    make_due(app)
    assert app.tools.value(LOCAL_CALLER, "cli", "far:whoami", {}) == "ann with read"
    asked = [(form["grant_type"], form["client_id"], form.get("client_secret")) for form in server.forms]
    assert asked == [("authorization_code", DOCUMENT, None), ("refresh_token", DOCUMENT, None)]
