"""pml_execute_code through real servers, which leave no process behind."""

import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from mcp import Client
from mcp.client.stdio import StdioServerParameters

from tests.support.deno import needs_deno
from tests.support.polling import until
from tests.support.processes import descendants, is_alive
from tests.support.serving import call, clean_environment, post, serving
from tests.surface.results import structured, texts

pytestmark = needs_deno
on_linux = pytest.mark.skipif(sys.platform != "linux", reason="processes are looked up in /proc")


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return tmp_path / "data"


@pytest.mark.smoke
@pytest.mark.anyio
async def test_it_runs_over_stdio(data: Path) -> None:
    command = StdioServerParameters(command=sys.executable, args=["-m", "loci", "serve"], env=clean_environment(data))
    async with Client(command, mode="legacy") as client:
        first = await client.call_tool(
            "pml_execute_code", {"code": "const n: number = 20; n * 2 + context.x", "context": {"x": 2}}
        )
        again = await client.call_tool(
            "pml:execute_code", {"code": "const n: number = 20; n * 2 + context.x", "context": {"x": 2}}
        )
    assert structured(first)["result"] == structured(again)["result"] == 42
    assert structured(again)["cached"] is True


@pytest.mark.anyio
async def test_it_runs_over_http(data: Path) -> None:
    with serving(data) as server:
        for path in ("/mcp", "/mcp/tools"):
            async with Client(server.url + path) as client:
                result = await client.call_tool("pml_execute_code", {"code": "throw new Error('no')"})
            assert texts(result)[0].startswith("CODE_ERROR: Error: no (line 1, column 7).")


def test_no_cache_switches_the_memory_off(data: Path) -> None:
    with serving(data, "--no-cache") as server:
        for _ in range(2):
            message = call("pml_execute_code", {"code": "1 + 1"})
            assert "cached" not in post(f"{server.url}/mcp", message).message()["result"]["structuredContent"]


@on_linux
@pytest.mark.parametrize("code", ["1 + 1", "for (;;) {}"])
def test_nothing_stays_when_the_server_is_killed(data: Path, code: str) -> None:
    with serving(data) as server:
        config: dict[str, object] = {"timeout": 1500}
        post(f"{server.url}/mcp", call("pml_execute_code", {"code": code, "sandbox_config": config}))
        pids = until(lambda: descendants(server.process.pid))
        server.process.kill()
        server.process.wait()
        until(lambda: not any(map(is_alive, pids)))


@on_linux
def test_nothing_stays_when_the_server_is_stopped(data: Path) -> None:
    with serving(data) as server:
        post(f"{server.url}/mcp", call("pml_execute_code", {"code": "1 + 1"}))
        pids = until(lambda: descendants(server.process.pid))
        assert server.stop() == 0
        until(lambda: not any(map(is_alive, pids)))
    assert "Traceback" not in (data.parent / "stderr.txt").read_text("utf-8")


@on_linux
def test_a_call_that_the_end_of_the_server_cuts_off_is_refused_in_words(data: Path) -> None:
    endless = call("pml_execute_code", {"code": "await new Promise((done) => setTimeout(done, 30_000))"})
    with serving(data) as server, ThreadPoolExecutor() as callers:
        cut_off = callers.submit(post, f"{server.url}/mcp", endless)
        until(lambda: descendants(server.process.pid))
        assert server.stop() == 0
    assert cut_off.result().status == 503
    assert "Loci was stopped before it could answer" in cut_off.result().message()["error"]["message"]
    assert "Traceback" not in (data.parent / "stderr.txt").read_text("utf-8")
