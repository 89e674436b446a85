"""Tokens of tool servers that several processes want renewed at once, on each record store."""

import asyncio
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from loci.adapters.local.secret_box import KeyringBox
from loci.adapters.tool_servers.authorization_servers import HttpAuthorizationServers
from loci.core.signing import Keyring
from loci.core.stores import RecordStore
from loci.gateway import logins
from loci.gateway.configuration import OAuthEntry
from loci.gateway.logins import LOGIN, Logins
from loci.gateway.ports import LoginRequest, ToolServerError
from loci.gateway.tool_server import Endpoint
from tests.contract.stores import ANN, Clock, at_once
from tests.support.authorization_server import Protected, protected
from tests.surface.tools.logins import CONSENT

DAY = 24 * 3600


@pytest.fixture
def server() -> Iterator[Protected]:
    with protected() as made:
        yield made


@pytest.fixture
def wanted(server: Protected) -> LoginRequest:
    return LoginRequest("far", server.url, Endpoint(server.url), OAuthEntry())


@pytest.fixture
def another(records: RecordStore, clock: Clock) -> Callable[[], Logins]:
    """Makes one of several processes."""
    box = KeyringBox(Keyring(["s" * 32]))
    return lambda: Logins(records, box, HttpAuthorizationServers(only_public=False), clock)


@pytest.fixture
def process(clock: Clock, wanted: LoginRequest, another: Callable[[], Logins]) -> Logins:
    """One of several, in which Ann has logged in. Her token has ended since."""
    made = another()
    made.log_in(ANN, wanted, CONSENT, None, None, lambda _: None)
    clock.now += DAY
    return made


def token(process: Logins, wanted: LoginRequest) -> str:
    bearer = process.bearer(ANN, wanted)
    assert bearer is not None
    return bearer.token


async def slowly(server: Protected, request: Request) -> Response:
    """Another refresh token for this one, after a while."""
    form = {name: str(value) for name, value in (await request.form()).items()}
    await asyncio.sleep(0.3)
    client = server.tokens.clients[form["client_id"]]
    found = await server.tokens.load_refresh_token(client, form["refresh_token"])
    if found is None:
        return JSONResponse({"error": "invalid_grant"}, 400)
    given = await server.tokens.exchange_refresh_token(client, found, found.scopes)
    return JSONResponse(given.model_dump(exclude_none=True))


def test_a_refresh_token_is_used_once_by_all_processes(
    server: Protected, process: Logins, another: Callable[[], Logins], wanted: LoginRequest
) -> None:
    processes = process, another()
    server.instead["/token"] = lambda request: slowly(server, request)
    tokens = at_once(8, lambda number: token(processes[number % 2], wanted))
    assert len(set(tokens)) == 1
    assert (server.tokens.renewals, server.tokens.reused) == (1, 0)


def test_a_refused_token_is_renewed_once_by_all_connections(
    server: Protected, process: Logins, another: Callable[[], Logins], wanted: LoginRequest
) -> None:
    processes = process, another()
    bearers = [one.bearer(ANN, wanted) for one in processes]
    server.tokens.renewals = 0
    server.instead["/token"] = lambda request: slowly(server, request)

    def renew(number: int) -> str:
        bearer = bearers[number % 2]
        assert bearer is not None
        bearer.renew(refused)
        return bearer.token

    refused = token(process, wanted)
    tokens = at_once(8, renew)
    assert len(set(tokens)) == 1
    assert refused not in tokens
    assert (server.tokens.renewals, server.tokens.reused) == (1, 0)


def test_a_process_that_died_while_it_renewed_holds_up_the_others_for_a_while(
    records: RecordStore, clock: Clock, process: Logins, wanted: LoginRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(logins, "WAIT_SECONDS", 0.2)
    record = records.get(ANN, LOGIN, "far")
    assert record is not None
    records.put(ANN, LOGIN, "far", {**record.value, "leased_until": clock.now + logins.LEASE_SECONDS})
    with pytest.raises(ToolServerError, match="is being renewed"):
        token(process, wanted)
    clock.now += logins.LEASE_SECONDS
    assert token(process, wanted)


def test_who_logs_out_meanwhile_stays_logged_out(
    records: RecordStore, server: Protected, process: Logins, wanted: LoginRequest
) -> None:
    def leave(request: Request) -> Any:
        records.remove(ANN, LOGIN, "far")
        return slowly(server, request)

    server.instead["/token"] = leave
    token(process, wanted)
    assert process.states(ANN) == {}
