"""`run_memory_code` in a server of its own: over stdio, with nothing left when the server is killed."""

import ast
import json
import os
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp import Client, MCPError, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.shared.message import SessionMessage
from mcp_types import JSONRPCResponse, jsonrpc_message_adapter

from tests.support.executors import runner_packages
from tests.support.polling import until
from tests.support.processes import command_line, descendants, is_alive
from tests.support.serving import call, initialize, serving
from tests.surface.results import error_of, structured

LOADED = """
import sys
from loci.compose import build_app
from loci.mcp.server import build_server
from loci.core.settings import load_settings
build_server(build_app(load_settings({"data": sys.argv[1]})))
print([name for name in sys.modules if name.startswith(("loci.sandbox", "loci.code", "loci.documents"))])
"""


def test_making_a_server_loads_neither_documents_nor_what_runs_code(tmp_path: Path) -> None:
    ran = subprocess.run([sys.executable, "-c", LOADED, str(tmp_path)], capture_output=True, text=True, check=True)
    loaded = {name for name in ast.literal_eval(ran.stdout) if name.count(".") > 1}
    assert loaded
    assert not {name for name in loaded if name.endswith(".api") or name.startswith("loci.sandbox.")}
    assert len(loaded) <= 9, loaded


@pytest.mark.anyio
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="it looks into /proc")
async def test_a_killed_server_leaves_no_process_and_what_it_had_not_saved_is_lost_by_name(tmp_path: Path) -> None:
    async with Client(stdio_client(_server(tmp_path))) as client:
        answer = await client.call_tool("create_memory_code_runner", {})
        id = structured(answer)["result"]["executor_id"]
        answer = await client.call_tool("run_memory_code", {"executor_id": id, "code": "x = 41"})
        assert structured(answer)["result"]["executor"]["persisted"] is False
        [started] = [one for one in descendants(os.getpid()) if _is_server(one)]
        below = descendants(started)
        assert len(below) >= 2
        os.kill(started, signal.SIGKILL)
        until(lambda: not any(map(is_alive, below)))
    async with Client(stdio_client(_server(tmp_path))) as client:
        answer = await client.call_tool("run_memory_code", {"executor_id": id, "code": "x"})
        result = error_of(answer)["result"]
    assert result["executor"]["state"] == "lost"
    assert [one["name"] for one in result["executor"]["lost"]] == ["x"]
    assert "set those again that `lost` names" in result["error"]["resolution"]


@pytest.mark.anyio
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="it looks into /proc")
async def test_a_run_that_was_cut_off_is_told_by_the_next(tmp_path: Path) -> None:
    async with Client(stdio_client(_server(tmp_path))) as client:
        answer = await client.call_tool("create_memory_code_runner", {})
        id = structured(answer)["result"]["executor_id"]
        [started] = [one for one in descendants(os.getpid()) if _is_server(one)]
        code = "x = 1\nopen('begun', 'w').close()\nwhile True: pass"
        with suppress(MCPError):
            async with anyio.create_task_group() as calls:
                calls.start_soon(client.call_tool, "run_memory_code", {"executor_id": id, "code": code})
                with anyio.fail_after(60):
                    while not any(tmp_path.rglob("begun")):
                        await anyio.sleep(0.05)
                os.kill(started, signal.SIGKILL)
                calls.cancel_scope.cancel()
    async with Client(stdio_client(_server(tmp_path))) as client:
        answer = await client.call_tool("run_memory_code", {"executor_id": id, "code": "1"})
        executor = structured(answer)["result"]["executor"]
    assert executor["state"] == "lost"
    assert [one["reason"] for one in executor["lost"]] == ["that run was cut off before it was answered"]


@pytest.mark.anyio
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="it looks into /proc")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
async def test_a_server_that_is_told_to_end_saves_first(tmp_path: Path, number: signal.Signals) -> None:
    async with Client(stdio_client(_server(tmp_path))) as client:
        answer = await client.call_tool("create_memory_code_runner", {})
        id = structured(answer)["result"]["executor_id"]
        await client.call_tool("run_memory_code", {"executor_id": id, "code": "x = 41"})
        [started] = [one for one in descendants(os.getpid()) if _is_server(one)]
        os.killpg(started, number)  # clients, and terminals, send it to all that the server has started
        until(lambda: not is_alive(started))
    async with Client(stdio_client(_server(tmp_path))) as client:
        answer = await client.call_tool("run_memory_code", {"executor_id": id, "code": "x + 1"})
        result = structured(answer)["result"]
    assert (result["value"], result["executor"]["state"], result["executor"]["older"]) == ("42", "restored", [])


@pytest.mark.anyio
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="it looks into /proc")
async def test_a_client_that_ends_its_server_while_code_runs_loses_no_variables(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mcp.client.stdio.FORCE_KILL_TIMEOUT", 60.0)  # how long it takes is measured elsewhere
    code = "y = 1\nopen('begun', 'w').close()\nwhile True: pass"
    async with stdio_client(_server(tmp_path)) as (answers, requests):

        async def ask(message: dict[str, Any]) -> None:
            await requests.send(SessionMessage(jsonrpc_message_adapter.validate_python(message)))

        async def called(tool: str, **arguments: str) -> dict[str, Any]:
            await ask(call(tool, {**arguments}))
            answer = await anext(aiter(answers))
            assert isinstance(answer, SessionMessage)
            assert isinstance(answer.message, JSONRPCResponse)
            return answer.message.result["structuredContent"]["result"]

        await ask(initialize("2025-06-18"))
        await anext(aiter(answers))
        await ask({"jsonrpc": "2.0", "method": "notifications/initialized"})
        id = (await called("create_memory_code_runner"))["executor_id"]
        await called("run_memory_code", executor_id=id, code="x = 41")
        await ask(call("run_memory_code", {"executor_id": id, "code": code}))
        with anyio.fail_after(60):
            while not any(tmp_path.rglob("begun")):
                await anyio.sleep(0.05)
        [started] = [one for one in descendants(os.getpid()) if _is_server(one)]
        below = [started, *descendants(started)]
    until(lambda: not any(map(is_alive, below)))
    async with Client(stdio_client(_server(tmp_path))) as client:
        answer = await client.call_tool("run_memory_code", {"executor_id": id, "code": "x + y"})
        result = structured(answer)["result"]
    assert (result["value"], result["executor"]["state"], result["executor"]["older"]) == ("42", "restored", [])


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="it looks into /proc")
def test_a_client_that_reads_no_more_ends_its_server_which_saves_first(tmp_path: Path) -> None:
    """Though its input stays open."""
    server = _server(tmp_path)
    with (tmp_path / "errors").open("w+") as errors:
        pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": errors, "text": True}
        process = subprocess.Popen([server.command, *server.args], env=server.env, **pipes)

        def ask(message: object) -> None:
            assert process.stdin is not None
            print(json.dumps(message), file=process.stdin, flush=True)

        def called(message: object) -> dict[str, Any]:
            ask(message)
            assert process.stdout is not None
            return json.loads(process.stdout.readline())["result"]

        with process:
            called(initialize("2025-06-18"))
            ask({"jsonrpc": "2.0", "method": "notifications/initialized"})
            made = called(call("create_memory_code_runner"))
            id = made["structuredContent"]["result"]["executor_id"]
            below = descendants(process.pid)
            assert process.stdout is not None
            process.stdout.close()
            ask(call("run_memory_code", {"executor_id": id, "code": "x = 41"}))
            process.wait(60)
        until(lambda: not any(map(is_alive, below)))
        errors.seek(0)
        assert "Traceback" not in errors.read()
    with serving(tmp_path, LOCI_RUNNER=str(runner_packages())) as again:
        assert _called(again.url, "run_memory_code", executor_id=id, code="x")["value"] == "41"


@pytest.mark.smoke
def test_a_server_over_http_that_is_told_to_end_saves_first(tmp_path: Path) -> None:
    packages = {"LOCI_RUNNER": str(runner_packages())}
    with serving(tmp_path / "data", **packages) as server:
        id = _called(server.url, "create_memory_code_runner")["executor_id"]
        _called(server.url, "run_memory_code", executor_id=id, code="x = 41")
        server.process.send_signal(signal.SIGTERM)
        assert server.process.wait(60) == 0
    with serving(tmp_path / "data", **packages) as server:
        result = _called(server.url, "run_memory_code", executor_id=id, code="x + 1")
    assert (result["value"], result["executor"]["state"]) == ("42", "restored")


def _called(url: str, tool: str, **arguments: str) -> dict[str, Any]:
    async def call() -> dict[str, Any]:
        async with Client(f"{url}/mcp") as client:
            return structured(await client.call_tool(tool, arguments))["result"]

    return anyio.run(call)


def _server(data: Path) -> StdioServerParameters:
    environment = {**os.environ, "LOCI_RUNNER": str(runner_packages()), "LOCI_PULL_MODELS": "false"}
    command = ["-m", "loci", "serve", "--stdio", "--data", str(data)]
    return StdioServerParameters(command=sys.executable, args=command, env=environment)


def _is_server(process: int) -> bool:
    return b"serve\0--stdio" in command_line(process)


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"
