"""A client of the official TypeScript SDK, over HTTP and over stdio."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from loci.compose import build_app
from loci.core.identity import LOCAL
from loci.core.settings import load_settings
from tests.support.serving import LOCI, clean_environment, serving

from .node import search_from_typescript

pytestmark = pytest.mark.conformance

NOTES = 12


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The data of a library in which one note says more of ferries than the others."""
    data = tmp_path_factory.mktemp("typescript") / "data"
    documents = build_app(load_settings({"data": data, "models": data.parent / "models"})).documents
    for number in range(NOTES):
        documents.parts.library.add(LOCAL, f"{number}.md", f"# Note {number}\n\nA ferry, and more.\n".encode())
    documents.parts.library.add(LOCAL, "ferries.md", b"# Ferry\n\nFerry, ferries, ferry.\n")
    return data


@pytest.fixture(params=["http", "stdio"])
def target(request: pytest.FixtureRequest, data: Path) -> Iterator[tuple[str, ...]]:
    if request.param == "stdio":
        yield "stdio", *LOCI, "serve"
        return
    with serving(data) as server:
        yield "http", f"{server.url}/mcp"


def test_it_searches_and_reads_the_first_result(target: tuple[str, ...], data: Path) -> None:
    done = search_from_typescript("ferry", *target, env=clean_environment(data))
    assert done.returncode == 0, done.stdout + done.stderr
    told = json.loads(done.stdout)
    assert (told["count"], told["first"]["id"]) == (10, "ferries")
