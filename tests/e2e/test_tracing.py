"""Traces and metrics at a collector: a client's call, and all that Loci does for it, on a laptop and on Lambda."""

import json
import subprocess
import sys
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest
from mcp import Client

from tests.e2e import test_lambda as lambda_module
from tests.e2e.test_lambda import OPEN, answers, asks
from tests.support.collector import Collector, Span, collector
from tests.support.deno import needs_deno
from tests.support.serving import call, clean_environment, loci, serving

TRACES = {name: f"{number:032x}" for number, name in enumerate(("search", "server", "plan", "lambda"), 0xABC)}
SECRET_WORDS = "the wet quarry"
TELLING = """
import json
from mcp.server.mcpserver import Context, MCPServer
server = MCPServer("telling")
@server.tool()
def told(ctx: Context, word: str) -> str:
    return json.dumps(dict(ctx.request_context.meta or {}), default=str)
server.run()
"""
"""A tool server whose tool gives the `_meta` of its call."""


@pytest.fixture
def taking() -> Generator[Collector]:
    with collector() as taking:
        yield taking


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """A data folder with a note and a tool server."""
    notes = tmp_path / "notes"
    notes.mkdir()
    (notes / "quarry.md").write_text(f"# Quarry\n\nPumps stand in {SECRET_WORDS}.\n")
    data = tmp_path / "data"
    assert loci(data, "ingest", str(notes)).returncode == 0
    added = loci(data, "tools", "add", "shop", "--", sys.executable, "-c", TELLING)
    assert added.returncode == 0, added.stderr
    return data


def of_trace(name: str) -> Any:
    return {"traceparent": f"00-{TRACES[name]}-00000000000000aa-01", "tracestate": "vendor=1", "baggage": "user=ann"}


def under(spans: dict[str, Span], child: str) -> list[str]:
    """The names of the spans above this one, up to what the client sent."""
    names, by_id, at = list[str](), {one.id: one for one in spans.values()}, spans[child]
    while (parent := by_id.get(at.parent)) is not None:
        names.append(parent.name)
        at = parent
    assert at.parent == "00000000000000aa"
    return names


@needs_deno
@pytest.mark.smoke
@pytest.mark.anyio
async def test_a_search_a_call_of_a_tool_server_and_a_plan_are_one_trace_each(data: Path, taking: Collector) -> None:
    code = 'return await shop.told({word: "a"})'
    tasks = [
        {"id": "first", "tool": "shop:told", "arguments": {"word": "a"}},
        {"id": "second", "type": "code_execution", "code": code, "dependsOn": ["first"]},
    ]
    with serving(data, **taking.variables, OTEL_SERVICE_NAME="loci-of-ann") as server:
        async with Client(f"{server.url}/mcp") as client:
            query = {"query": SECRET_WORDS}
            found = await client.call_tool("search_documents", query, meta=of_trace("search"))
            said = await client.call_tool("shop_told", {"word": "a"}, meta=of_trace("server"))
            ran = await client.call_tool("pml_execute_dag", {"workflow": {"tasks": tasks}}, meta=of_trace("plan"))
            wrong = await client.call_tool("a_name_of_the_caller", {}, meta=of_trace("search"))
        assert (found.is_error, said.is_error, ran.is_error, wrong.is_error) == (False, False, False, True), ran

        spans = taking.trace(TRACES["search"], "tools/call search_documents", "search words", "tools/call unknown")
        assert under(spans, "search words") == ["tools/call search_documents"]
        top = spans["tools/call search_documents"]
        assert (top.kind, top.attributes["mcp.method.name"], top.is_error) == ("server", "tools/call", False)
        assert top.began <= spans["search words"].began <= spans["search words"].ended <= top.ended
        assert spans["tools/call unknown"].attributes["error.type"] == "TOOL_NOT_FOUND"

        spans = taking.trace(TRACES["server"], "tools/call shop:told", "tools/call told")
        assert under(spans, "tools/call told") == ["tools/call shop:told"]
        sent = spans["tools/call told"]
        assert (sent.kind, sent.attributes["gen_ai.tool.name"]) == ("client", "told")
        meta = json.loads(said.content[0].text)  # type: ignore[union-attr]
        assert meta["traceparent"] == f"00-{TRACES['server']}-{sent.id}-01"
        assert (meta["tracestate"], "baggage" in meta) == ("vendor=1", False)

        names = "task shop:told", "task code_execution", "sandbox typescript", "execute_tool shop:told"
        spans = taking.trace(TRACES["plan"], *names, "tools/call pml_execute_dag")
        assert under(spans, "task shop:told") == ["tools/call pml_execute_dag"]
        assert under(spans, "sandbox typescript") == ["task code_execution", "tools/call pml_execute_dag"]
        inside = [one for one in taking.spans if one.trace == TRACES["plan"] and one.name == "execute_tool shop:told"]
        assert {one.parent for one in inside} == {spans["task shop:told"].id, spans["sandbox typescript"].id}

        server.stop()
    told = [("search_documents", "ok", "mcp"), *(("shop:told", "ok", door) for door in ("mcp", "workflow", "code"))]
    assert [taking.counted[one] for one in told] == [1, 1, 1, 1]
    assert taking.services == {"loci-of-ann"}
    everything = b"".join(taking.contents)
    assert not [one for one in (SECRET_WORDS, "quarry", "a_name_of_the_caller", "ann=") if one.encode() in everything]


def test_a_function_sends_its_traces_before_it_answers(
    data: Path, taking: Collector, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Nothing is sent at the end of a process that Lambda kills.
    monkeypatch.setattr(
        lambda_module, "PROGRAM", f"{lambda_module.PROGRAM}\nsys.stdout.flush(), __import__('os')._exit(0)"
    )
    header = asks(call("search_documents", {"query": "pumps"}), traceparent=str(of_trace("lambda")["traceparent"]))
    given = answers(data, header, **OPEN, OTEL_EXPORTER_OTLP_ENDPOINT=taking.url)
    assert [one.status for one in given] == [200, 200]
    spans = [one for one in taking.spans if one.trace == TRACES["lambda"]]
    assert [one.name for one in spans].count("tools/call search_documents") == 2
    assert under({one.name: one for one in spans}, "search words") == ["tools/call search_documents"]


def test_without_its_packages_a_server_says_once_what_to_install(tmp_path: Path) -> None:
    data = tmp_path / "data"
    # As if it were not installed: an import of what is None fails so.
    block = tmp_path / "sitecustomize.py"
    block.write_text("import sys\nsys.modules['opentelemetry.sdk'] = None\n")
    with serving(data, PYTHONPATH=str(block.parent), OTEL_TRACES_EXPORTER="otlp"):
        said = (tmp_path / "stderr.txt").read_text()
    assert said.count("OTEL_TRACES_EXPORTER is set, but opentelemetry.sdk") == 1
    assert "pip install 'loci-mcp[otel]'" in said


@pytest.mark.parametrize("variables", [{}, {"OTEL_TRACES_EXPORTER": "otlp", "OTEL_SDK_DISABLED": "true"}])
def test_nothing_of_it_is_loaded_unless_a_variable_asks_for_it(data: Path, variables: dict[str, str]) -> None:
    program = """
import sys
from loci.compose import build_app
build_app()
print(*sorted(one for one in sys.modules if one.startswith("opentelemetry")))
"""
    environment = clean_environment(data, **variables)
    ended = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True)
    assert ended.stdout.strip() == ""
