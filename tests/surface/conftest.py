"""Loci on each of its runtimes, and a client that speaks the newest revision of the protocol."""

import contextlib
import secrets
from collections.abc import AsyncGenerator, Callable, Generator
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager
from pathlib import Path
from typing import Literal

import pytest
from mcp import Client

from loci.adapters.aws.index import OpenSearchIndex
from loci.app import App
from loci.compose import build_app
from loci.core.settings import load_settings
from loci.mcp.module import tool_families
from loci.mcp.server import build_server
from loci.mcp.tool import LociTool, Surface
from loci.mcp.tool_catalog import ToolFamily, family_of
from tests.servers.java.nodes import Node, opensearch_node
from tests.support.moto_aws import BUCKET, CONNECT, KEY, MACHINE, SECRET, TABLE, VECTORS, moto_aws
from tests.surface.hosted import hosted

Mode = Literal["legacy", "auto", "2026-07-28"]
Connect = Callable[..., AbstractAsyncContextManager[Client]]


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


on_both = pytest.mark.parametrize("app", ["embedded", "aws"], indirect=True)
"""For a test whose way differs between the runtimes. What their adapters promise, tests/contract holds."""


@pytest.fixture
def app(request: pytest.FixtureRequest, tmp_path: Path) -> Generator[App, None, None]:
    """The whole product on this machine, or on the runtime that a test asks for.

    `aws`: on stand-ins for AWS; `opensearch`, `vectors`: there with an index; `sandbox`: there with the names of the
    functions that run code.
    """
    with _running(request, tmp_path) as app:
        yield app


@pytest.fixture(scope="module")
def lasting_app(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Generator[App]:
    """The same for a module whose tests leave nothing that the others would notice, and use no other."""
    with _running(request, tmp_path_factory.mktemp("app")) as app:
        yield app


@contextmanager
def _running(request: pytest.FixtureRequest, folder: Path) -> Generator[App]:
    runtime: str = getattr(request, "param", "embedded")
    if runtime == "embedded":
        app = build_app(load_settings({"data": folder, "models": folder / "models"}))
        with contextlib.closing(app):
            yield app
        return
    settings: dict[str, object] = {"mode": "aws", "table": TABLE, "bucket": BUCKET, "secrets_from": SECRET}
    settings |= {"secret_key": KEY, "connect_function": CONNECT, "workflow_machine": MACHINE}
    if runtime.startswith("opensearch"):
        node: Node = request.getfixturevalue("node" if runtime == "opensearch" else "node_of_3")
        settings |= {"search_url": node.url, "search_index": f"{node.prefix}{secrets.token_hex(4)}"}
    if runtime == "vectors":
        settings |= {"search": "vectors", "vector_bucket": VECTORS}
    if runtime == "sandbox":
        settings |= hosted(folder).aws.model_dump(
            include={"run_deno_function", "run_python_function", "run_role", "run_table", "executor_bucket"}
        )
    with moto_aws():
        app = build_app(load_settings({**settings, "models": folder / "models"}))
        yield app
        app.finish()  # as on Lambda: nothing is left for a time without these stand-ins
        if isinstance(app.documents.parts.index, OpenSearchIndex):
            app.documents.parts.index.cluster.close()


@pytest.fixture(scope="session")
def node() -> Generator[Node]:
    """For documents on AWS."""
    with opensearch_node() as node:
        yield node


@pytest.fixture(scope="session")
def node_of_3() -> Generator[Node]:
    """For a walk on the newest OpenSearch."""
    with opensearch_node("opensearch3") as node:
        yield node


@pytest.fixture
def mode() -> Mode:
    """The newest revision. test_revisions.py checks that every other one gets the same answers."""
    return "2026-07-28"


@pytest.fixture
def connect(app: App, mode: Mode) -> Connect:
    """A client at an endpoint of the app, with more tools if a test brings some."""
    own = tool_families(app)

    @asynccontextmanager
    async def connected(
        surface: Surface = "all", extra: tuple[LociTool | ToolFamily, ...] = ()
    ) -> AsyncGenerator[Client, None]:
        more = [one if isinstance(one, ToolFamily) else family_of(one) for one in extra]
        async with Client(build_server(app, surface, [*own, *more]), mode=mode) as client:
            yield client

    return connected
