"""Loci with a tool server whose journal tells what really happened."""

import json
import sys
from collections.abc import Generator, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from mcp import Client
from mcp_types import CallToolResult

from loci.app import App
from loci.compose import build_app
from loci.core.identity import LOCAL, Owner
from loci.core.settings import load_settings
from loci.mcp.http.application import asgi
from loci.mcp.server import build_server
from tests.attack.doors import uvicorn_door
from tests.support.connecting import connecting
from tests.support.workflow_machine import Machine, workflow_machine
from tests.surface.results import structured, texts
from tests.surface.workflows.upstreams import add_files

if TYPE_CHECKING:
    from tests.surface.workflows.visitors import Visitor

on_lasting_both = pytest.mark.parametrize("lasting_app", ["embedded", "aws"], indirect=True)
"""As `on_both`, where the tests of a module share an app."""
ANN, BOB = Owner("acme", "ann"), Owner("acme", "bob")
JOURNAL = Path(__file__).parents[2] / "servers" / "upstream" / "journal.py"


def journal_server(journal: Path) -> dict[str, Any]:
    """The entry of the server that writes into this file."""
    return {"command": sys.executable, "args": [str(JOURNAL), str(journal)]}


@dataclass
class Flow:
    """A client of Loci, and the journal of the tools that its workflows call."""

    app: App
    journal: Path

    async def call(self, tool: str, **arguments: object) -> CallToolResult:
        async with Client(build_server(self.app, "tools"), mode="2026-07-28") as client:
            return await client.call_tool(tool, arguments)

    async def answer(self, tool: str, **arguments: object) -> dict[str, Any]:
        """The answer, which is no error. Its text says the same."""
        result = await self.call(tool, **arguments)
        assert not result.is_error, texts(result)
        assert json.loads(texts(result)[0]) == structured(result)
        return structured(result)

    async def failed(self, tool: str, **arguments: object) -> str:
        """The text of the error."""
        result = await self.call(tool, **arguments)
        assert result.is_error, texts(result)
        return texts(result)[0]

    async def run(self, *tasks: dict[str, Any], **more: object) -> dict[str, Any]:
        """Run a workflow of these tasks."""
        return await self.answer("pml_execute_dag", workflow={"tasks": [*tasks]}, **more)

    def lines(self) -> list[dict[str, Any]]:
        """The journal. The end of its last line may not be there yet."""
        written = self.journal.read_text().split("\n")[:-1] if self.journal.exists() else []
        return [json.loads(line) for line in written]

    def anew(self) -> None:
        """Begin the journal anew."""
        self.journal.unlink(missing_ok=True)

    def begun(self) -> list[tuple[str, Any]]:
        """The calls that the tools have seen: their names and arguments."""
        return [(one["tool"], one["arguments"]) for one in self.lines() if one["event"] == "begin"]


def task(id: str, tool: str, *after: str, **arguments: object) -> dict[str, Any]:
    """A task that calls a tool of the journal."""
    waits = {"dependsOn": [*after]} if after else {}
    return {"id": id, "tool": f"journal:{tool}", "arguments": arguments, **waits}


@pytest.fixture
def machine() -> Iterator[Machine]:
    """On AWS, the state machine with its function, and the function that reaches tool servers."""
    with _machine() as machine:
        yield machine


@contextmanager
def _machine() -> Generator[Machine]:
    with connecting(only_public=False) as function, workflow_machine(function.api) as machine:
        yield machine


@pytest.fixture
def flow(app: App, tmp_path: Path, request: pytest.FixtureRequest) -> Flow:
    if app.settings.mode == "aws":
        request.getfixturevalue("machine")
    return with_journal(app, tmp_path / "journal.jsonl")


def with_journal(app: App, journal: Path) -> Flow:
    app.tools.add(LOCAL, "journal", journal_server(journal))
    app.tools.ask(LOCAL, "journal")
    return Flow(app, journal)


@pytest.fixture(scope="module", params=["embedded"])
def lasting_app(lasting_app: App) -> App:
    """By name, so that a module with tests on both runtimes has one on each."""
    return lasting_app


@pytest.fixture(scope="module")
def lasting_flow(lasting_app: App, tmp_path_factory: pytest.TempPathFactory) -> Generator[Flow]:
    with _machine() if lasting_app.settings.mode == "aws" else nullcontext():
        yield with_journal(lasting_app, tmp_path_factory.mktemp("flow") / "journal.jsonl")


@pytest.fixture
def same_flow(lasting_flow: Flow) -> Flow:
    """For a module whose tests need no other app. Its journal begins anew."""
    lasting_flow.anew()
    return lasting_flow


@pytest.fixture(scope="module")
def lasting_visitors(tmp_path_factory: pytest.TempPathFactory) -> Generator["tuple[Visitor, Visitor]"]:
    from tests.surface.workflows.visitors import Visitor

    folder = tmp_path_factory.mktemp("visitors")
    app = build_app(load_settings({"data": folder / "data", "models": folder, "auth": "required"}))
    with uvicorn_door(asgi(app)) as door:
        for owner in (ANN, BOB):
            app.tools.add(owner, "journal", journal_server(folder / owner.subject))
            app.tools.ask(owner, "journal")
        yield Visitor(door, app, ANN, folder / "ann"), Visitor(door, app, BOB, folder / "bob")
    app.close()


@pytest.fixture
def both(lasting_visitors: "tuple[Visitor, Visitor]") -> "tuple[Visitor, Visitor]":
    """Their journals begin anew; the workflows of a test wait on when it has ended."""
    for one in lasting_visitors:
        one.flow.anew()
    return lasting_visitors


@pytest.fixture
def folder(flow: Flow, tmp_path: Path) -> Path:
    """The files that the workflows may read."""
    folder = tmp_path / "files"
    add_files(flow.app, folder)
    (folder / "config.json").write_text('{"port": 8080}')
    return folder
