"""Calls and requests that cannot be answered: what they are told to do instead."""

import re
from pathlib import Path
from typing import Any

import pytest
from mcp import Client
from mcp.shared.exceptions import MCPError
from mcp_types import EmptyResult, Request

from loci.app import App
from loci.compose import build_app
from loci.mcp.server import build_server
from tests.support.each import each
from tests.support.small_models import EMBEDDER, lay_out_embedder
from tests.surface.conftest import Connect
from tests.surface.results import call, failed, structured, written
from tests.surface.runtimes import take_in

pytestmark = pytest.mark.anyio
NONE: dict[str, object] = {}


@each(
    ("tool", "arguments", "said"),
    [
        ("search_documents", {"query": "x", "top_k": 3}, "'top_k'. Did you mean limit? The arguments are query, "),
        ("search_documents", {"q": "x"}, "'q'. Did you mean query? "),
        ("temporal_search", {"query": "x", "date_rnage": "2024"}, "'date_rnage'. Did you mean date_range? "),
        ("read_node_content", {"document": "x"}, "'document'. Did you mean id? "),
        ("list_directory_structure", {"folder": "x", "level": 2}, "'folder', 'level'. Did you mean prefix? "),
        ("query_by_tags", {"tags": ["a"], "tag": "b"}, "'tag'. Did you mean tags? "),
        (
            "search_documents",
            {"query": "x", "zzz": 1},
            "'zzz'. The arguments are query, limit, max_tokens, explain, folder, ",
        ),
    ],
)
async def test_an_unknown_argument_is_refused_with_the_nearest_known(
    connect: Connect, tool: str, arguments: dict[str, Any], said: str
) -> None:
    assert (await failed(connect, tool, **arguments)).startswith(f"INVALID_PARAMS: There is no argument {said}")


async def test_a_path_is_still_an_id(connect: Connect) -> None:
    assert (await failed(connect, "read_node_content", path="notes/x.md")).startswith("NODE_NOT_FOUND: ")


async def test_an_unknown_method_of_grouping_is_told_the_methods_in_plain_words(connect: Connect) -> None:
    said = await failed(connect, "cluster_documents", method="kmeans")
    assert said.startswith("INVALID_PARAMS: method: It is one of louvain, tags (louvain: by links ")
    assert "literal" not in said


@pytest.mark.parametrize("mode", ["legacy", "2026-07-28"])
@each(
    ("method", "params", "code", "said"),
    [
        ("prompts/get", {"arguments": NONE}, -32602, ": Field required. Give the `name` of a prompt; prompts/list"),
        ("tools/call", {"arguments": NONE}, -32602, ": Field required. Give the `name` of a tool; tools/list lists"),
        ("documents/search", NONE, -32601, "there is no method 'documents/search'. "),
        ("tool/list", NONE, -32601, "Did you mean tools/list? The methods are tools/list, "),
        ("search_documents", {"query": "x"}, -32601, "but a tool of that name. Send tools/call with "),
    ],
)
async def test_a_malformed_or_unknown_request_is_told_what_to_send(
    connect: Connect, method: str, params: dict[str, Any], code: int, said: str
) -> None:
    async with connect() as client:
        with pytest.raises(MCPError) as refused:
            await client.session.send_request(Request(method=method, params=params), EmptyResult)
    assert refused.value.error.code == code
    assert said in refused.value.error.message


async def test_an_unknown_prompt_is_told_the_known_ones(connect: Connect) -> None:
    async with connect() as client:
        with pytest.raises(MCPError, match=r"no prompt 'begin': use prompts/list\. There are: session_start, "):
            await client.get_prompt("begin")


@pytest.mark.parametrize("app", ["embedded"], indirect=True)
async def test_a_refused_question_is_told_the_three_nearest_documents(
    app: App, connect: Connect, tmp_path: Path
) -> None:
    parts = "\n\n".join(f"## Part {number}\n\nferry harbour night" for number in range(6))
    notes = {name: f"# {name[0]}\n\nferry of the lake\n" for name in ("b.md", "c.md", "d.md")}
    take_in(app, written(tmp_path / "notes", {"a.md": f"# a\n\n{parts}\n"} | notes))
    unknown = " ".join(f"{one}{other}qx" for one in "bcdfghjk" for other in "lmnprstv")
    metadata = (await call(connect, "search_documents", query=f"ferry harbour night {unknown}"))["metadata"]
    named = re.findall(r'"(.)" \(notes-(.)\)', metadata["reason"])
    assert named[0] == ("a", "a")
    assert len(set(named)) == len(named) == 3


@pytest.mark.parametrize("app", ["embedded"], indirect=True)
async def test_a_missing_reranker_is_not_the_embedder_that_is_there(app: App, tmp_path: Path) -> None:
    async def said(**settings: object) -> str:
        other = build_app(app.settings.model_copy(update=settings))
        async with Client(build_server(other)) as client:
            found = structured(await client.call_tool("search_documents", {"query": "ferry", "explain": True}))
        [note] = [one["note"] for one in found["metadata"]["stages"] if one["stage"] == "rerank"]
        return note

    lay_out_embedder(app.settings.models_folder)
    take_in(app, written(tmp_path / "notes", {"a.md": "A ferry.\n", "b.md": "Another ferry.\n"}))
    assert await said() == "No reranker is installed. Run: loci models pull bge-reranker-base."
    assert await said(reranker=EMBEDDER) == (
        f"{EMBEDDER} is installed, but is no reranker: its kind is embedder. Set reranker to another model: "
        "`loci models list` shows them."
    )
