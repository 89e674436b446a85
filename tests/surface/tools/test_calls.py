"""What every call of a tool leaves behind: a line in the log, counts, and the log of upstream calls."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from loci.app import App
from loci.core.errors import LociError
from loci.core.identity import LOCAL, LOCAL_CALLER
from loci.core.json import JsonObject
from tests.support.deno import needs_deno
from tests.support.each import each
from tests.surface.conftest import Connect
from tests.surface.tools.conftest import upstream
from tests.surface.tools.test_tools_in_code import run

pytestmark = pytest.mark.anyio
LOADED = """
import sys
from loci.compose import build_app
from loci.core.settings import load_settings
from loci.mcp.http.application import asgi
from tests.attack.doors import uvicorn_door
from tests.attack.wire import modern

with uvicorn_door(asgi(build_app(load_settings({"data": sys.argv[1]})), on_loopback=True)) as door:
    answer = door.ask(modern("tools/call", {"name": "scratchpad_list", "arguments": {}}))
assert b"total_entries" in answer.body, answer
print(*[name for name in sys.modules if name.startswith("loci.gateway.")])
"""


def lines(capfd: pytest.CaptureFixture[str]) -> list[dict[str, Any]]:
    """The lines about calls."""
    told = [json.loads(line) for line in capfd.readouterr().err.splitlines() if line.startswith("{")]
    return [line for line in told if line["message"] == "call"]


async def call(connect: Connect, tool: str, arguments: dict[str, Any]) -> None:
    async with connect("tools") as client:
        await client.call_tool(tool, arguments)


async def test_a_call_of_an_upstream_tool_has_one_line_with_its_door(
    served: App, connect: Connect, capfd: pytest.CaptureFixture[str]
) -> None:
    await call(connect, "shop_add_numbers", {"a": 4_141_414_141, "b": 1})
    [line] = lines(capfd)
    assert (line["tool"], line["door"], line["outcome"], line["owner"]) == (
        *("shop:add_numbers", "mcp", "ok"),
        LOCAL.key,
    )
    assert line["asked"] > 0
    assert "414141414" not in json.dumps(line)


async def test_an_error_of_the_tool_is_told_as_one(
    served: App, connect: Connect, capfd: pytest.CaptureFixture[str]
) -> None:
    await call(connect, "shop:break_plate", {"plate": "steel"})
    [line] = lines(capfd)
    assert (line["outcome"], line["code"]) == ("error", "TOOL_ERROR")


async def test_a_name_that_no_tool_has_is_not_logged(connect: Connect, capfd: pytest.CaptureFixture[str]) -> None:
    await call(connect, "hunter2", {})
    [line] = lines(capfd)
    assert (line["tool"], line["code"]) == ("unknown", "TOOL_NOT_FOUND")
    assert "hunter2" not in json.dumps(line)


@needs_deno
async def test_calls_from_code_have_lines_of_their_own(
    served: App, connect: Connect, capfd: pytest.CaptureFixture[str]
) -> None:
    await run(connect, "await loci.scratchpad_list(); await shop.draw_cat()", "list the scratchpad and draw a cat")
    doors = [(line["tool"], line["door"]) for line in lines(capfd)]
    assert doors == [("scratchpad_list", "code"), ("shop:draw_cat", "code"), ("pml_execute_code", "mcp")]


async def test_the_calls_of_servers_tools_can_be_looked_up(served: App, connect: Connect) -> None:
    await call(connect, "shop:add_numbers", {"a": 1, "b": 1})
    await call(connect, "shop:add_numbers", {"a": 1})
    await call(connect, "scratchpad_list", {})
    served.tools.value(LOCAL_CALLER, "code", "shop:break_plate", {"plate": "hunter2"})
    served.tools.parts.later.finish()
    found = [(one.tool, one.door, one.outcome, one.who) for one in served.tools.last_calls(LOCAL)]
    assert found == [
        ("shop:break_plate", "code", "ok", "local"),
        ("shop:add_numbers", "mcp", "INVALID_PARAMS", "local"),
        ("shop:add_numbers", "mcp", "ok", "local"),
    ]
    record = served.records.get(LOCAL, "tool_calls", "last")
    assert record
    assert "hunter2" not in json.dumps(record.value)


async def test_calls_are_counted_by_the_day_for_a_month(served: App, connect: Connect) -> None:
    before: JsonObject = {f"2020-01-{day:02}": [day, 0] for day in range(1, 32)}
    served.records.put(LOCAL, "tool_calls", "last", {"calls": [], "days": before})
    await call(connect, "shop:add_numbers", {"a": 1, "b": 1})
    await call(connect, "shop:add_numbers", {"a": 1, "b": 2})
    await call(connect, "shop:add_numbers", {"a": 1})
    served.tools.parts.later.finish()
    days = served.tools.call_history(LOCAL)[1]
    assert len(days) == 30
    assert days["2020-01-31"] == (31, 0)
    new = [count for day, count in days.items() if not day.startswith("2020")]
    assert (sum(worked for worked, _ in new), sum(failed for _, failed in new)) == (2, 1)


async def test_an_own_tool_that_only_reads_is_not_counted(served: App, connect: Connect) -> None:
    for _ in range(3):
        await call(connect, "scratchpad_list", {})
        await call(connect, "shop:draw_cat", {})
    served.tools.parts.later.finish()
    assert served.tools.parts.usage.related(LOCAL, ["loci:scratchpad_list"]) == {}


async def test_an_own_tool_that_changes_something_is_counted(served: App, connect: Connect) -> None:
    await call(connect, "shop:draw_cat", {})
    await call(connect, "add_memory", {"name": "cat.txt", "text": "A cat."})
    served.tools.parts.later.finish()
    assert set(served.tools.parts.usage.related(LOCAL, ["shop:draw_cat"])) == {"loci:add_memory"}


def test_a_call_of_an_own_tool_loads_nothing_of_this_vertical(app: App, tmp_path: Path) -> None:
    ran = subprocess.run([sys.executable, "-c", LOADED, str(tmp_path)], capture_output=True, text=True, check=True)
    assert ran.stdout.split() == []


@each("name", ["loci", "pml", "Loci"])
def test_no_server_can_have_the_name_of_loci_s_own_tools(app: App, name: str) -> None:
    with pytest.raises(LociError, match="the name of Loci's own tools"):
        app.tools.add(LOCAL, name, upstream())
