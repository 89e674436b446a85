"""Code through every door: stdio, HTTP and the gateway function, each a process of its own."""

import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client

from tests.support.deno import needs_deno
from tests.support.each import each
from tests.support.event_front import event_front
from tests.support.executors import runner_packages
from tests.support.serving import clean_environment, serving
from tests.surface.results import structured, texts

pytestmark = [pytest.mark.anyio, needs_deno]
GATEWAY = "functions/gateway/handler.py:lambda_handler"


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@asynccontextmanager
async def at(door: str, data: Path) -> AsyncGenerator[Client]:
    """A client at the door."""
    runner = {"LOCI_RUNNER": str(runner_packages())}
    if door == "stdio":
        command = ["-m", "loci", "serve", "--stdio"]
        server = StdioServerParameters(command=sys.executable, args=command, env=clean_environment(data, **runner))
        async with Client(stdio_client(server)) as client:
            yield client
    elif door == "http":
        with serving(data, **runner) as served:
            async with Client(f"{served.url}/mcp") as client:
                yield client
    else:
        opened = {"LOCI_AUTH": "open", "LOCI_ALLOWED_HOSTS": "127.0.0.1:*"}
        with event_front(GATEWAY, env=clean_environment(data, **runner, **opened), workers=1) as front:
            async with Client(f"{front}/mcp") as client:
                yield client


@each("door", ["stdio", "http", "lambda"])
async def test_code_runs_and_its_state_stays(tmp_path: Path, door: str) -> None:
    async with at(door, tmp_path / "data") as client:
        told = await client.call_tool(
            "pml_execute_code", {"code": "const n: number = context.n;\nn + 1", "context": {"n": 41}}
        )
        assert structured(told)["result"] == 42, texts(told)
        made = structured(await client.call_tool("create_memory_code_runner", {}))["result"]
        for code, printed in (("x = 41", ""), ("import pandas as pd\nprint(x + 1, len(pd.Series([1, 2])))", "42 2\n")):
            ran = await client.call_tool("run_memory_code", {**made, "code": code})
            assert structured(ran)["result"]["stdout"] == printed, texts(ran)
        assert structured(ran)["result"]["executor"]["kept"] == ["x"]
