"""Servers whose tools change, or that come up late, as a client sees them."""

import os
import sys
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp import Client, StdioServerParameters
from mcp_types import PromptListChangedNotification, ToolListChangedNotification

from loci.app import App
from loci.compose import build_app
from loci.core.errors import LociError
from loci.core.identity import LOCAL
from loci.core.settings import load_settings
from loci.gateway import tool_list
from loci.mcp.server import build_server
from tests.servers.upstream import modern
from tests.support.each import each
from tests.support.polling import until
from tests.surface.conftest import Connect, Mode, on_both
from tests.surface.results import structured
from tests.surface.tools.conftest import hostile_entry, shop_app, upstream

pytestmark = pytest.mark.anyio
PATIENCE = 60.0


async def listed(client: Client) -> list[str]:
    return [one.name for one in (await client.list_tools()).tools]


async def searched(client: Client, query: str) -> list[str]:
    answer = structured(await client.call_tool("pml_search_tools", {"query": query}))
    return [one["name"] for one in answer["tools"]]


async def until_there(look: Callable[[], Any], name: str) -> Sequence[str]:
    """Look until the name is there, or for too long."""
    ends = time.monotonic() + PATIENCE
    while name not in (found := await look()) and time.monotonic() < ends:
        await anyio.sleep(0.05)
    return found


@each("mode", ["legacy", "2026-07-28"])
async def test_a_listed_tool_that_is_new_is_listed_by_a_client_that_has_listed_before(
    tmp_path: Path, mode: Mode
) -> None:
    with shop_app(tmp_path / mode, tools_listed="far:*") as app:
        app.tools.add(LOCAL, "far", hostile_entry())
        app.tools.ask(LOCAL, "far")
        async with Client(build_server(app, "tools"), mode=mode) as client:
            before = await listed(client)
            await client.call_tool("far:change", {})
            after = await until_there(lambda: listed(client), "far_new")
    assert ("far_new" in before, "far_new" in after) == (False, True)


async def test_a_tool_that_is_new_is_found_and_called(app: App, connect: Connect) -> None:
    app.tools.add(LOCAL, "far", hostile_entry())
    app.tools.ask(LOCAL, "far")
    async with connect("tools") as client:
        await client.call_tool("far:change", {})
        assert "far:new" in await until_there(lambda: searched(client, "far new"), "far:new")
        assert not (await client.call_tool("far:new", {})).is_error


async def test_a_change_while_a_server_is_asked_is_not_lost(app: App, connect: Connect) -> None:
    app.tools.add(LOCAL, "far", hostile_entry("changes_while_listed"))
    async with connect("tools") as client:
        found = await until_there(lambda: searched(client, "far new"), "far:new")
    assert "far:new" in found


async def test_a_server_that_tells_of_changes_without_end_is_asked_seldom(app: App, tmp_path: Path) -> None:
    lists = tmp_path / "lists"
    app.tools.add(LOCAL, "far", hostile_entry("restless", str(lists)))
    app.tools.ask(LOCAL, "far")
    await anyio.sleep(1.5)  # in which nothing more may come, so there is nothing to wait for
    assert len(lists.read_text().splitlines()) <= 2


@on_both
async def test_a_server_that_comes_up_late_is_found(
    app: App, connect: Connect, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tool_list, "AGAIN", 0.0, raising=False)
    monkeypatch.setattr("loci.adapters.aws.lambda_tool_servers.AGAIN_SECONDS", 0.0)
    missing = tmp_path / "left out"
    app.tools.add(LOCAL, "shop", upstream(str(missing)))
    with pytest.raises(Exception, match="No such file"):
        app.tools.ask(LOCAL, "shop")
    missing.write_text("")
    async with connect("tools") as client:
        found = await until_there(lambda: searched(client, "add two numbers"), "shop:add_numbers")
    assert "shop:add_numbers" in found


async def test_a_server_with_strange_tools_is_found_with_plain_names(app: App, connect: Connect) -> None:
    app.tools.add(LOCAL, "far", hostile_entry("strange_list"))
    async with connect("tools") as client:
        found = await until_there(lambda: searched(client, "far infinite"), "far:infinite")
    assert "far:infinite" in found
    assert all(one.isprintable() for one in found)


SLOW_ONCE = """
import pathlib, runpy, sys, time
slow, gate = map(pathlib.Path, sys.argv[1:])
del sys.argv[1:]
if slow.exists():
    slow.unlink()
    while not gate.exists():
        time.sleep(0.02)
    sys.exit("it fails late")
runpy.run_module("tests.support.upstream_server", run_name="__main__")
"""
"""A server whose first start fails, but not before somebody wants that."""


async def test_a_start_that_fails_late_hides_no_newer_one_that_worked(tmp_path: Path) -> None:
    slow, gate = tmp_path / "slow", tmp_path / "gate"
    slow.touch()
    with shop_app(tmp_path / "data") as newer, closing(build_app(newer.settings)) as older:
        entry = upstream() | {"args": ["-c", SLOW_ONCE, str(slow), str(gate)]}
        older.tools.add(LOCAL, "late", entry)
        failed: list[LociError] = []

        def ask() -> None:
            try:
                older.tools.ask(LOCAL, "late")
            except LociError as error:
                failed.append(error)

        asking = threading.Thread(target=ask)
        asking.start()
        assert until(lambda: not slow.exists())
        assert newer.tools.ask(LOCAL, "late").tools
        gate.touch()
        asking.join()
        assert len(failed) == 1
        told = newer.tools.get(LOCAL, "late")
        assert (told.failure, told.failed_at, len(told.tools)) == (
            None,
            None,
            len(newer.tools.get(LOCAL, "shop").tools),
        )
        older.tools.add(LOCAL, "late", {**entry, "args": ["-c", "exit(1)"]})
        with pytest.raises(LociError):
            older.tools.ask(LOCAL, "late")
        assert newer.tools.get(LOCAL, "late").failure


async def test_a_clock_that_was_ahead_once_hides_nothing_for_long(
    app: App, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    slow, gate = tmp_path / "slow", tmp_path / "gate"
    slow.touch()
    gate.touch()
    app.tools.add(LOCAL, "late", upstream() | {"args": ["-c", SLOW_ONCE, str(slow), str(gate)]})
    monkeypatch.setattr(app.tools.parts.tool_list, "_clock", lambda: time.time() + 3600)
    with pytest.raises(LociError):
        app.tools.ask(LOCAL, "late")
    monkeypatch.undo()
    assert app.tools.get(LOCAL, "late").failure
    assert app.tools.ask(LOCAL, "late").tools
    assert app.tools.get(LOCAL, "late").failure is None


async def test_a_server_that_is_asked_while_loci_ends_has_not_failed(tmp_path: Path) -> None:
    with shop_app(tmp_path) as app:
        app.tools.add(LOCAL, "far", hostile_entry())
        app.tools.ask(LOCAL, "far")
        app.tools.close()
        with pytest.raises(LociError, match="is not connected"):
            app.tools.ask(LOCAL, "far")
        far = app.tools.get(LOCAL, "far")
    assert far.failure is None
    assert far.tools


@each("mode", ["legacy", "2026-07-28"])
async def test_a_client_over_stdio_is_told_of_changed_lists(tmp_path: Path, mode: Mode) -> None:
    data = tmp_path / mode
    with closing(build_app(load_settings({"data": data, "models": data}))) as app:
        app.tools.add(LOCAL, "far", {"command": sys.executable, "args": [modern.__file__]})
        app.tools.ask(LOCAL, "far")
    program = StdioServerParameters(
        command=sys.executable,
        args=["-m", "loci", "serve", "--stdio", "--no-models", "--data", str(data)],
        env={"LOCI_TOOLS_LISTED": "far:*", "PATH": os.environ["PATH"]},
    )
    told: set[str] = set()
    both = anyio.Event()

    def hear(kind: object) -> None:
        told.add(type(kind).__name__)
        if len(told) >= 2:
            both.set()

    async def heard(message: object) -> None:
        if isinstance(message, ToolListChangedNotification | PromptListChangedNotification):
            hear(message)

    async def listen(client: Client) -> None:
        async with client.listen(tools_list_changed=True, prompts_list_changed=True) as subscription:
            await client.call_tool("far_grow", {})
            async for change in subscription:
                hear(change)
                if both.is_set():
                    return

    handler = heard if mode == "legacy" else None
    async with Client(program, mode=mode, message_handler=handler, read_timeout_seconds=PATIENCE) as client:
        with anyio.fail_after(PATIENCE):
            if mode == "legacy":
                await client.call_tool("far_grow", {})
                await both.wait()
            else:
                await listen(client)
        assert "far_new" in await listed(client)
        assert "far_new_prompt" in [one.name for one in (await client.list_prompts()).prompts]
    assert len(told) == 2
