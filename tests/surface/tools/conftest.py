"""Loci with tool servers that are processes of their own."""

import atexit
import subprocess
import sys
from collections.abc import Generator, Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

from loci.adapters.local.deno_sandbox import DenoSandbox
from loci.app import App
from loci.code.typescript import ResultsCache, TypeScript
from loci.compose import build_app
from loci.core.identity import LOCAL
from loci.core.settings import load_settings
from tests.servers.upstream import hostile
from tests.support.connecting import Connecting, connecting
from tests.support.deno import STRONGEST, sandbox
from tests.support.tame_servers import TameServers, over_http
from tests.support.with_parts import with_typescript
from tests.surface.tools.workbench import Workbench

HERE = Path(__file__).parents[3]


def upstream(*args: str) -> dict[str, Any]:
    """The entry of the tests' own server."""
    return {"command": sys.executable, "args": ["-m", "tests.support.upstream_server", *args], "cwd": str(HERE)}


def hostile_entry(*args: str) -> dict[str, Any]:
    """The entry of a server that misbehaves in that mode."""
    return {"command": sys.executable, "args": [str(hostile.__file__), *args]}


@contextmanager
def listening_program(module: str) -> Generator[dict[str, Any]]:
    """The entry of the server that this module serves over HTTP. It prints its port."""
    with subprocess.Popen([sys.executable, "-m", module], cwd=HERE, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            yield {"url": f"http://127.0.0.1:{int(process.stdout.readline())}/mcp"}
        finally:
            process.kill()


@pytest.fixture
def function() -> Iterator[Connecting]:
    """On AWS, what reaches the servers."""
    with connecting(only_public=False) as function:
        yield function


@pytest.fixture
def app(app: App, request: pytest.FixtureRequest) -> App:
    """On AWS, with that function."""
    if app.settings.mode == "aws":
        request.getfixturevalue("function")
    return app


@cache
def upstream_over_http() -> dict[str, Any]:
    """The entry of the same server where all tests share it: it keeps nothing."""
    lasting = ExitStack()
    atexit.register(lasting.close)
    folder = Path(lasting.enter_context(TemporaryDirectory(prefix="all-tests-")))
    return lasting.enter_context(over_http(folder)).entry("upstream")


@pytest.fixture
def served(app: App) -> App:
    """The app, with that server as `shop`, asked for its tools."""
    app.tools.add(LOCAL, "shop", upstream_over_http())
    app.tools.ask(LOCAL, "shop")
    return app


@contextmanager
def shop_app(folder: Path, entry: Mapping[str, Any] | None = None, **settings: Any) -> Generator[App]:
    """An app with these settings, and that server with more in its entry."""
    with closing(build_app(load_settings({"data": folder, "models": folder / "models", **settings}))) as app:
        app.tools.add(LOCAL, "shop", upstream_over_http() | dict(entry or {}))
        app.tools.ask(LOCAL, "shop")
        yield app


@pytest.fixture(scope="module")
def deno() -> Generator[DenoSandbox]:
    with sandbox(STRONGEST) as made:
        yield made


@pytest.fixture(scope="session")
def tame(tmp_path_factory: pytest.TempPathFactory) -> Generator[TameServers]:
    """Tool servers that tests share: they keep nothing."""
    with over_http(tmp_path_factory.mktemp("tame")) as servers:
        yield servers


@pytest.fixture
def bench(app: App, deno: DenoSandbox, tame: TameServers) -> Workbench:
    """The app, whose code has the tools of a shop. Its runs share one sandbox, also on AWS."""
    tame.configure(app, "shop")
    typescript = TypeScript(deno, lambda: app.tools, app.scratchpad, app.telemetry, cache=ResultsCache())
    return Workbench(with_typescript(app, typescript))


@pytest.fixture(autouse=True)
def _nobody_waits_for_a_person(monkeypatch: pytest.MonkeyPatch) -> None:
    """A call that a person must approve is answered at once as pending."""
    monkeypatch.setattr("loci.gateway.waiting_calls.PATIENCE", 0.0)
