"""Tool servers on AWS: a function of their own reaches them for all others."""

import json
from pathlib import Path
from typing import Any

import pytest

from loci.adapters.aws.clients import Clients
from loci.app import App
from loci.core.deadline import within
from loci.core.errors import LociError
from loci.core.identity import LOCAL, LOCAL_CALLER, Owner
from loci.core.storage_keys import CONNECT_KINDS, CONNECT_WRITES
from tests.support.connecting import Connecting
from tests.support.each import each
from tests.surface.conftest import Connect
from tests.surface.results import structured, texts
from tests.surface.tools.conftest import upstream

pytestmark = [pytest.mark.anyio, pytest.mark.parametrize("app", ["aws"], indirect=True)]
OTHER = Owner("", "somebody else")


async def test_a_search_has_a_new_server_asked_meanwhile(app: App, connect: Connect, function: Connecting) -> None:
    app.tools.add(LOCAL, "shop", upstream())
    async with connect("tools") as client:
        first = structured(await client.call_tool("pml_search_tools", {"query": "add two numbers"}))
        for one in function.api.under_way:
            one.join()
        second = structured(await client.call_tool("pml_search_tools", {"query": "add two numbers"}))
    assert "shop" in first["message"]
    assert second["tools"][0]["name"] == "shop:add_numbers"


async def test_a_secret_reaches_the_server_and_nothing_between(
    app: App, connect: Connect, function: Connecting
) -> None:
    app.tools.parts.secrets.put(LOCAL, "SHOP_ARGUMENT", "/no/such/file")
    app.tools.add(LOCAL, "shop", upstream("${SHOP_ARGUMENT}"))
    async with connect("tools") as client:
        said = texts(await client.call_tool("shop:add_numbers", {"a": 1, "b": 2}))[0]
    assert "such file or directory: '***'" in said  # the server complains that it cannot read it
    assert "/no/such/file" not in json.dumps(function.api.events)


async def test_another_owner_s_servers_are_not_reached(served: App, connect: Connect) -> None:
    with pytest.raises(LociError, match="There is no tool server 'shop'"):
        served.tools.ask(OTHER, "shop")


async def test_an_answer_that_lambda_cannot_pass_on_is_told(
    served: App, connect: Connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("loci.sandbox.lambda_host.function_answer.LARGEST", 400)
    async with connect("tools") as client:
        answer = await client.call_tool("shop:long_story", {"words": 200_000})
    assert "has more than the 6 MB that Lambda passes on" in texts(answer)[0]


async def test_a_call_that_takes_too_long_is_ended_on_both_sides(served: App) -> None:
    with within(0.001), pytest.raises(LociError) as raised:
        served.tools.call(LOCAL_CALLER, "cli", "shop:add_numbers", {"a": 1, "b": 2})
    assert raised.value.code in ("MCP_SERVER_ERROR", "TOOK_TOO_LONG")


@each("stood_still", [1, 600])
async def test_a_connection_whose_timers_stood_still_is_opened_again(
    app: App, function: Connecting, tmp_path: Path, stood_still: float
) -> None:
    left_out = tmp_path / f"left out {stood_still}"
    left_out.write_text("draw_cat")
    app.tools.add(LOCAL, "shop", upstream(str(left_out)))

    def names() -> set[str]:
        return {one.name for one in app.tools.ask(LOCAL, "shop").tools}

    first = names()
    left_out.write_text("add_numbers")  # as it is read at each start
    function.answering._apart -= stood_still  # pyright: ignore[reportPrivateUsage]
    assert (names() != first) == (stood_still > 5)


async def test_the_function_touches_only_the_records_that_its_role_allows(app: App, function: Connecting) -> None:
    touched: set[tuple[str, str]] = set()

    def note(params: dict[str, Any], model: Any, **_: object) -> None:
        values = params.get("Key") or params.get("Item") or {"pk": params["ExpressionAttributeValues"][":pk"]}
        touched.add((model.name, values["pk"]["S"].partition("#")[2]))

    records: Any = function.answering._list._records  # pyright: ignore[reportPrivateUsage]
    clients: Clients = records._clients
    clients.dynamodb.meta.events.register("provide-client-params.dynamodb", note)
    app.tools.parts.secrets.put(LOCAL, "NAME", "x")
    app.tools.add(LOCAL, "shop", upstream() | {"env": {"A": "${NAME}", "B": "closed"}})
    app.tools.ask(LOCAL, "shop")
    app.tools.call(LOCAL_CALLER, "cli", "shop:add_numbers", {"a": 1, "b": 2})
    assert {"listed_tools", "tool_secret", "tool_server"} <= {kind for _, kind in touched} <= set(CONNECT_KINDS)
    assert {kind for operation, kind in touched if operation not in ("GetItem", "Query")} <= set(CONNECT_WRITES)
