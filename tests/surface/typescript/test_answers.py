"""The answers of pml_execute_code, through tools/call."""

import asyncio
import json
from pathlib import Path

import pytest
from mcp import Client

from loci.code.run_tools import SandboxConfig
from loci.compose import build_app
from loci.core.settings import Settings, load_settings
from loci.mcp.server import build_server
from tests.support.deno import needs_deno
from tests.support.each import each
from tests.surface.results import error_of, structured, texts
from tests.surface.typescript.conftest import Desk

pytestmark = [pytest.mark.anyio, needs_deno]


@each("name", ["pml_execute_code", "pml:execute_code", "execute_code"])
async def test_every_spelling_of_its_name_reaches_it(desk: Desk, name: str) -> None:
    async with Client(build_server(desk.app), mode="2026-07-28") as client:
        assert structured(await client.call_tool(name, {"code": "2 + 2"}))["result"] == 4


async def test_the_answer_has_exactly_the_fields_of_the_reference(desk: Desk) -> None:
    told = await desk.told("40 + 2 + context.none", context={"none": 0})
    assert list(told) == ["result", "logs", "metrics"]
    assert (told["result"], told["logs"]) == (42, [])
    assert list(told["metrics"]) == ["execution_time_ms", "memory_used_mb"]
    assert told["metrics"]["execution_time_ms"] > 0
    assert told["metrics"]["memory_used_mb"] > 10


@each(
    "code",
    [
        "```ts\nconst n: number = 4;\nn\n```",
        "\n\n```typescript\n2 + 2\n```\n",
        "```\n2 + 2```",
        "import { sep } from 'node:path';\nimport * as path from 'path';\nsep === path.sep ? 4 : 0",
        "import path, { sep as other } from 'node:path'; import type { X } from 'y';\npath.sep === other ? 4 : 0",
    ],
)
async def test_fences_and_imports_of_modules_of_node_are_taken(desk: Desk, code: str) -> None:
    assert await desk.value(code) == 4


async def test_code_in_a_fence_keeps_the_numbers_of_its_lines(desk: Desk) -> None:
    assert "(line 4, column 6)" in (await desk.failure("\n```ts\n1;\nnull.x\n```"))["message"]
    told = await desk.failure("import {\n sep,\n join\n} from 'node:path'; \nnull.x")
    assert "(line 5, column 6)" in told["message"]


async def test_an_import_of_what_is_not_there_says_how_to_do_without(desk: Desk) -> None:
    told = await desk.failure("import axios from 'axios'; await axios.get('https://x')")
    assert "There is no module 'axios' here (line 1, column 1)" in told["message"]
    assert "Tools need no import" in told["resolution"]


async def test_the_example_of_the_reference_filters_the_context(desk: Desk) -> None:
    code = """
const items = context.data;
const filtered = items.filter(x => x.active);
return {
  total: filtered.length,
  summary: filtered.slice(0, 5)
};
"""
    data = [{"id": n, "active": n % 2 == 0} for n in range(20)]
    told = await desk.value(code, context={"data": data})
    assert told == {"total": 10, "summary": [one for one in data if one["active"]][:5]}


async def test_the_example_of_the_reference_sums_files(desk: Desk) -> None:
    code = """
const files = context.files;
return {
totalFiles: files.length,
totalLines: files.reduce((sum, f) => sum + f.lines, 0),
avgLinesPerFile: Math.round(files.reduce((sum, f) => sum + f.lines, 0) / files.length)
};
"""
    told = await desk.value(code, context={"files": [{"lines": 10}, {"lines": 25}]})
    assert told == {"totalFiles": 2, "totalLines": 35, "avgLinesPerFile": 18}


async def test_the_tool_says_what_it_runs(desk: Desk) -> None:
    async with Client(build_server(desk.app), mode="2026-07-28") as client:
        [tool] = [tool for tool in (await client.list_tools()).tools if tool.name == "pml_execute_code"]
    assert "Run TypeScript in a sandbox" in (tool.description or "")
    config = tool.input_schema["properties"]["sandbox_config"]["properties"]
    for name, default in (("timeout", 30000), ("memoryLimit", 512), ("allowedReadPaths", None)):
        assert config[name].get("default") == default
    assert tool.input_schema["required"] == ["code"]


async def test_code_that_gives_nothing_is_told_how_to(desk: Desk) -> None:
    told = await desk.told("const x = 5")
    assert (told["result"], told["result_type"]) == (None, "undefined")
    assert "use return" in told["hint"]


async def test_the_answer_is_one_text_that_holds_it_as_json(desk: Desk) -> None:
    result = await desk.ask("({a: [1, null]})")
    assert [block.type for block in result.content] == ["text"]
    assert json.loads(texts(result)[0]) == structured(result)
    assert structured(result)["result"] == {"a": [1, None]}


async def test_what_is_not_needed_can_be_left_out_or_given(desk: Desk) -> None:
    assert await desk.value("6 * 7") == 42
    more = {"intent": "multiply", "context": {"n": 7}, "sandbox_config": {"timeout": 5000, "memoryLimit": 128}}
    assert await desk.value("6 * context.n", **more) == 42


async def test_logs_have_levels(desk: Desk) -> None:
    told = await desk.told("console.log('a', {b: 1}); console.error('c'); null")
    assert told["logs"] == [{"level": "log", "text": "a { b: 1 }"}, {"level": "error", "text": "c"}]


async def test_a_failure_has_its_place_its_logs_and_its_figures(desk: Desk) -> None:
    told = await desk.failure("console.log('soon');\nnull.x")
    assert told["code"] == "CODE_ERROR"
    assert "(line 2, column 6)" in told["message"]
    assert told["logs"] == [{"level": "log", "text": "soon"}]
    assert told["metrics"]["execution_time_ms"] > 0
    assert told["stack"] == [{"name": "(top level)", "line": 2, "column": 6}]
    assert "soon" in texts(await desk.ask("console.log('soon'); null.x"))[1]


async def test_a_large_result_is_kept_whole_in_the_scratchpad(desk: Desk) -> None:
    async with Client(build_server(desk.app), mode="2026-07-28") as client:
        result = await client.call_tool("pml_execute_code", {"code": "Array.from({length: 20000}, (_, i) => i)"})
        read = await client.call_tool("scratchpad_read", {"id": structured(result)["scratchpad_id"]})
    assert json.loads(structured(read)["result"])["result"] == list(range(20_000))


@each(
    ("code", "limits", "expected"),
    [
        ("for (;;) {}", {"timeout": 300}, ("SANDBOX_TIMEOUT", "sandbox_config.timeout")),
        (
            "const a = []; for (;;) a.push(new Array(1e5).fill(1.5))",
            {"memoryLimit": 96},
            ("SANDBOX_MEMORY", "memoryLimit"),
        ),
        ("Deno.exit(1)", {}, ("SANDBOX_EXITED", "Return the value")),
        ("'x'.repeat(7e6)", {}, ("SANDBOX_OUTPUT", "Return a part")),
    ],
)
async def test_each_limit_has_a_code_and_says_what_to_do(
    desk: Desk, code: str, limits: dict[str, object], expected: tuple[str, str]
) -> None:
    error = await desk.failure(code, sandbox_config=limits)
    assert error["code"] == expected[0]
    assert expected[1] in error["resolution"]


async def test_code_of_exactly_100_kb_runs_and_more_is_refused(desk: Desk) -> None:
    code = "1 //" + "é" * ((100 * 1024 - 4) // 2)
    assert len(code.encode()) == 100 * 1024
    assert await desk.value(code) == 1
    assert (await desk.failure(code + "x"))["code"] == "CODE_TOO_LARGE"


async def test_nothing_raises_the_limit_on_the_size_of_code(desk: Desk) -> None:
    most = {"timeout": 300_000, "memoryLimit": 2048}
    told = await desk.failure("1 //" + "x" * 100 * 1024, sandbox_config=most)
    assert told["code"] == "CODE_TOO_LARGE"
    assert SandboxConfig.model_fields.keys() == {*most, "allowedReadPaths"}
    assert {name for name in Settings.model_fields if "code" in name} == {"code_cache", "code_read_paths"}


@each(
    "arguments",
    [
        {},
        {"code": 5},
        {"code": "1", "intent": 5},
        {"code": "1", "context": []},
        {"code": "1", "sandbox_config": []},
        {"code": "1", "sandbox_config": {"allowedReadPaths": "/srv"}},
        {"code": "1", "sandbox_config": {"timeout": 0}},
        {"code": "1", "sandbox_config": {"timeout": 300_001}},
        {"code": "1", "sandbox_config": {"memoryLimit": 4096}},
        {"code": "1", "sandbox_config": {"allowNet": True}},
    ],
)
async def test_senseless_arguments_are_refused(desk: Desk, arguments: dict[str, object]) -> None:
    async with Client(build_server(desk.app), mode="2026-07-28") as client:
        result = await client.call_tool("pml_execute_code", arguments)
    assert error_of(result)["code"] == "INVALID_PARAMS"


async def test_one_failing_run_disturbs_no_other(desk: Desk) -> None:
    codes = ["const a = []; for (;;) a.push(new Array(1e5).fill(1.5))", "for (;;) {}", "Deno.exit(1)"]
    limits = [{"timeout": seconds * 1000, "memoryLimit": 96} for seconds in (60, 1, 60)]
    bad = [desk.ask(code, sandbox_config=limit) for code, limit in zip(codes, limits, strict=True)]
    good = [desk.value(f"{n} * 2") for n in range(20)]
    answers = await asyncio.gather(*bad, *good)
    assert [error_of(one)["code"] for one in answers[:3]] == [*("SANDBOX_MEMORY", "SANDBOX_TIMEOUT", "SANDBOX_EXITED")]
    assert answers[3:] == [n * 2 for n in range(20)]


async def test_without_deno_the_tool_says_what_to_install(tmp_path: Path) -> None:
    settings = load_settings({"data": tmp_path / "data", "models": tmp_path / "models", "deno": tmp_path / "none"})
    async with Client(build_server(build_app(settings)), mode="2026-07-28") as client:
        error = error_of(await client.call_tool("pml_execute_code", {"code": "1"}))
    assert error["code"] == "SANDBOX_UNAVAILABLE"
    assert "pip install" in error["resolution"]
