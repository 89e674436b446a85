"""Clients are told that the lists of tool servers have changed, whichever process changed them."""

import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Literal

import pytest
from mcp import Client, StdioServerParameters

from tests.servers.upstream import offering
from tests.support.each import each
from tests.support.serving import LOCI, clean_environment, loci, serving
from tests.support.told_client import ToldClient, told_client
from tests.surface.conftest import Mode

pytestmark = pytest.mark.anyio
How = Literal["http", "stdio"]
HARBOUR = ("harbour", "--", sys.executable, offering.__file__, "stdio")


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@asynccontextmanager
async def connected(data: Path, how: How, mode: Mode) -> AsyncGenerator[ToldClient]:
    """A client that listens to a server which serves this folder."""
    if how == "http":
        with serving(data) as server:
            async with told_client(f"{server.url}/mcp", mode) as one:
                yield one
    else:
        program = [*LOCI, "serve", "--stdio", "--no-models"]
        command = StdioServerParameters(command=program[0], args=program[1:], env=clean_environment(data))
        async with told_client(command, mode) as one:
            yield one


async def prompts(client: Client) -> list[str]:
    return [one.name for one in (await client.list_prompts()).prompts]


@each(("how", "mode"), [("http", "legacy"), ("http", "2026-07-28"), ("stdio", "legacy"), ("stdio", "2026-07-28")])
async def test_a_client_is_told_what_a_command_in_another_process_changes(data: Path, how: How, mode: Mode) -> None:
    def command(*arguments: str) -> None:
        done = loci(data, "tools", *arguments)
        assert done.returncode == 0, done.stderr

    async with connected(data, how, mode) as one:
        await one.hears("prompts", lambda: command("add", *HARBOUR))
        assert "harbour_review_boat" in await prompts(one.client)
        await one.hears("resources", lambda: command("remove", "harbour"))
        assert "harbour_review_boat" not in await prompts(one.client)
        assert "tools" not in one.told  # the tools of servers are not listed
