"""Logins on AWS: made by a command, used and renewed by the function that reaches the servers."""

import time
from collections.abc import Iterator
from typing import Any

import anyio
import pytest
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from loci.adapters.aws.clients import Clients
from loci.app import App
from loci.core.errors import LociError
from loci.core.identity import LOCAL, LOCAL_CALLER
from loci.core.storage_keys import CONNECT_KINDS, CONNECT_WRITES
from loci.core.stores import every
from loci.gateway.logins import LOGIN
from tests.support.authorization_server import Protected, protected
from tests.support.connecting import Connecting
from tests.surface.conftest import Connect
from tests.surface.results import texts
from tests.surface.tools.logins import add, log_in

pytestmark = [pytest.mark.anyio, pytest.mark.parametrize("app", ["aws"], indirect=True)]
SLOW = 0.2


@pytest.fixture
def far(app: App, monkeypatch: pytest.MonkeyPatch) -> Iterator[Protected]:
    """A server on this machine, configured and logged in at: as if it were public."""
    monkeypatch.setattr(app.tools.parts.logins._servers, "_only_public", False)  # pyright: ignore[reportPrivateUsage]
    with protected() as server:
        add(app, server)
        log_in(app)
        app.tools.ask(LOCAL, "far")
        yield server


def change(app: App, **fields: Any) -> None:
    [record] = every(app.records, LOCAL, LOGIN)
    state: Any = record.value["state"]
    app.records.put(LOCAL, LOGIN, "far", {**record.value, "state": {**state, **fields}})


def end_soon(app: App) -> None:
    change(app, renew_at=time.time() - 1, ends_at=time.time() + 600)


async def test_a_login_is_used_by_the_function_and_travels_nowhere(
    far: Protected, connect: Connect, function: Connecting
) -> None:
    async with connect("tools") as client:
        assert texts(await client.call_tool("far:whoami", {})) == ["ann with read"]
    assert not [one for token in far.tokens.access for one in function.api.events if token in str(one)]


async def test_it_is_renewed_with_no_other_rights_than_the_function_has(
    app: App, far: Protected, connect: Connect, function: Connecting
) -> None:
    touched: set[tuple[str, str]] = set()

    def note(params: dict[str, Any], model: Any, **_: object) -> None:
        values = params.get("Key") or params.get("Item") or {"pk": params["ExpressionAttributeValues"][":pk"]}
        touched.add((model.name, values["pk"]["S"].partition("#")[2]))

    records: Any = function.answering._list._records  # pyright: ignore[reportPrivateUsage]
    clients: Clients = records._clients
    end_soon(app)
    clients.dynamodb.meta.events.register("provide-client-params.dynamodb", note)
    async with connect("tools") as client:
        assert texts(await client.call_tool("far:whoami", {})) == ["ann with read"]
    assert [form["grant_type"] for form in far.forms] == ["authorization_code", "refresh_token"]
    assert ("PutItem", "tool_login") in touched
    assert {kind for _, kind in touched} <= set(CONNECT_KINDS)
    assert {kind for operation, kind in touched if operation not in ("GetItem", "Query")} <= set(CONNECT_WRITES)
    assert {operation for operation, _ in touched} <= {"GetItem", "Query", "PutItem"}


async def test_no_call_is_made_for_a_caller_whose_time_went_into_a_renewal(app: App, far: Protected) -> None:
    change(app, renew_at=time.time() - 1, ends_at=time.time() - 1)

    async def slowly(_: Request) -> Response:
        await anyio.sleep(SLOW)
        [refresh] = far.tokens.refresh
        given = far.tokens.given("ann", ["read"], far.url, renews=False)
        return JSONResponse({**given.model_dump(exclude_none=True), "refresh_token": refresh})

    far.instead["/token"] = slowly
    with pytest.raises(LociError) as raised:
        app.tools.parts.gateway.call(LOCAL_CALLER, "cli", "far:whoami", {}, seconds=SLOW / 4)
    assert "The call was not made" in raised.value.resolution
    assert far.calls == 0
    assert app.tools.value(LOCAL_CALLER, "cli", "far:whoami", {})  # the new token was kept
    assert len(far.forms) == 2
