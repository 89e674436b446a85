"""`create_memory_code_runner` and `run_memory_code` as clients call them."""

import base64
import json
import socket
import threading
from collections.abc import AsyncGenerator, Generator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp import Client
from mcp_types import CallToolResult, ImageContent

from loci.app import App
from loci.code.runs import RunQueue
from loci.compose import build_app
from loci.core.settings import load_settings
from loci.mcp.server import build_server
from tests.support.each import each
from tests.support.executors import runner_packages
from tests.support.polling import until
from tests.surface.results import error_of, structured, texts

pytestmark = pytest.mark.anyio
PACKAGES = ("pandas", "numpy", "openpyxl", "xlrd", "scipy", "sklearn", "xgboost", "matplotlib")
NOT_YET = "they are saved when the executor is put away, or when the server stops"
KEPT = {"state": "kept", "kept": ["x"], "lost": [], "older": [], "persisted": False, "reason": NOT_YET}


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> Generator[App]:
    """Loci with the runner's packages, for all tests here: its fork server starts once."""
    runner_packages()
    app = build_app(load_settings({"data": tmp_path_factory.mktemp("data"), "log_level": "ERROR"}))
    yield app
    app.close()


@asynccontextmanager
async def client(app: App) -> AsyncGenerator[Client]:
    async with Client(build_server(app, "files")) as one:
        yield one


async def created(one: Client) -> str:
    answer = structured(await one.call_tool("create_memory_code_runner", {}))
    assert answer.keys() == {"result"}
    assert answer["result"].keys() == {"executor_id"}
    return answer["result"]["executor_id"]


async def run(one: Client, id: str, code: str) -> dict[str, Any]:
    answer = await one.call_tool("run_memory_code", {"executor_id": id, "code": code})
    assert not answer.is_error, texts(answer)
    return structured(answer)["result"]


async def refused(one: Client, id: str, code: str) -> CallToolResult:
    answer = await one.call_tool("run_memory_code", {"executor_id": id, "code": code})
    assert answer.is_error
    assert error_of(answer)["code"] == texts(answer)[0].split(":")[0]
    assert error_of(answer)["resolution"]
    return answer


async def test_an_executor_has_an_id_that_nobody_guesses(python: App) -> None:
    async with client(python) as one:
        first, second = await created(one), await created(one)
    assert first.startswith("executor-")
    assert len(first) == len("executor-") + 32
    assert first != second


async def test_what_is_printed_and_the_last_value_are_the_answer(python: App) -> None:
    async with client(python) as one:
        answer = await run(one, await created(one), "print('hello')\nimport sys\nprint('e', file=sys.stderr)\n6 * 7")
    assert (answer["stdout"], answer["stderr"]) == ("hello\n", "e\n")
    assert (answer["value"], answer["value_type"], answer["error"]) == ("42", "int", None)
    assert (answer["truncated"], answer["executor"]["state"]) == (False, "new")
    assert answer["elapsed_ms"] >= 0


@each(
    ("code", "said"),
    [
        ("(await tool('loci:scratchpad_list'))['entries']", "[]"),
        ("tool('loci:scratchpad_list').result()['entries']", "[]"),
        ("async def ask():\n    return await tool('scratchpad_list')\n[*await ask()]", "['entries', 'stats']"),
        ("import asyncio\nawait asyncio.sleep(0)\n6 * 7", "42"),
    ],
)
async def test_code_calls_tools_by_their_names(python: App, code: str, said: str) -> None:
    async with client(python) as one:
        assert (await run(one, await created(one), code))["value"] == said


@each(
    ("call", "said"),
    [
        ("tool('pml:approval_response', {'workflow_id': 'a', 'checkpoint_id': 'b', 'approved': True})", "TOOL_DENIED"),
        ("tool('pml:call_tool', {'tool': 'loci:scratchpad_list'})", "TOOL_DENIED"),
        ("tool('loci:run_memory_code', {'code': '1'})", "TOOL_DENIED"),
        ("tool('loci:scratchpad_lits')", "TOOL_NOT_FOUND: There is no tool 'loci:scratchpad_lits'. The nearest are"),
        ("tool('loci:scratchpad_read', {'id': float('nan')})", "INVALID_PARAMS"),
        ("tool('loci:scratchpad_read', {'id': 'x' * 300_000})", "TOOL_DENIED"),
        ("tool('loci:scratchpad_read', [1])", "INVALID_PARAMS"),
    ],
)
async def test_a_call_that_may_not_be_made_says_why(python: App, call: str, said: str) -> None:
    async with client(python) as one:
        assert f"ToolError: {said}" in texts(await refused(one, await created(one), call))[0]


async def test_state_stays_and_belongs_to_its_executor(python: App) -> None:
    async with client(python) as one:
        first, second = await created(one), await created(one)
        await run(one, first, "x = 1\nopen('kept.txt', 'w').write('kept')")
        answer = await run(one, first, "print(x, open('kept.txt').read())")
        assert (answer["stdout"], answer["executor"]) == ("1 kept\n", KEPT)
        assert "NameError" in texts(await refused(one, second, "x"))[0]


async def test_where_there_is_nothing_to_save_all_is_persisted(python: App) -> None:
    async with client(python) as one:
        executor = (await run(one, await created(one), "print(1)"))["executor"]
    assert executor == {"state": "new", "kept": [], "lost": [], "older": [], "persisted": True, "reason": None}


async def test_a_complete_program_runs_in_any_call(python: App) -> None:
    code = "import pandas as pd\ndf = pd.DataFrame({'a': [1, 2]})\nprint(df.head())"
    async with client(python) as one:
        id = await created(one)
        assert (await run(one, id, code))["stdout"] == (await run(one, id, code))["stdout"] == "   a\n0  1\n1  2\n"


async def test_what_is_neither_printed_nor_last_is_not_shown(python: App) -> None:
    async with client(python) as one:
        answer = await run(one, await created(one), "6 * 7\nx = 1")
    assert (answer["stdout"], answer["stderr"], answer["value"]) == ("", "", None)


async def test_it_is_python_3(python: App) -> None:
    async with client(python) as one:
        assert (await run(one, await created(one), "import sys\nprint(sys.version_info[0])"))["stdout"] == "3\n"


@each("package", PACKAGES)
async def test_a_package_can_be_imported(python: App, package: str) -> None:
    async with client(python) as one:
        answer = await run(one, await created(one), f"import {package}\nprint({package}.__name__)")
    assert answer["stdout"] == f"{package}\n"


async def test_code_reaches_neither_files_of_the_host_nor_the_network(python: App, tmp_path: Path) -> None:
    (tmp_path / "secret.txt").write_text("CANARY")
    paths = [str(python.settings.data), str(tmp_path / "secret.txt"), "/etc/passwd"]
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.setblocking(False)
        code = f"""
import os, socket
def tries(what, *given):
    try: print("reached", what(*given))
    except OSError: pass
for path in {paths}:
    tries(os.listdir, path), tries(lambda: open(path).read())
tries(socket.create_connection, {server.getsockname()}, 1)
print("tried all")
"""
        async with client(python) as one:
            assert (await run(one, await created(one), code))["stdout"] == "tried all\n"
        with pytest.raises(BlockingIOError):
            server.accept()


async def test_an_error_of_the_code_is_told_with_what_was_printed(python: App) -> None:
    async with client(python) as one:
        id = await created(one)
        answer = await refused(one, id, "x = 5\nprint('before')\ndef f(): return 1 / 0\nf()")
        result = error_of(answer)["result"]
        assert (result["stdout"], result["error"]["code"]) == ("before\n", "CODE_ERROR")
        assert result["error"]["message"] == "ZeroDivisionError: division by zero"
        assert result["error"]["traceback"].count('File "<run 1>"') == result["error"]["traceback"].count("File ") == 2
        assert "before" in texts(answer)[0]
        assert (await run(one, id, "x"))["value"] == "5"


HALVES = {
    "an error": "raise ValueError('\\ud800')",
    "a type of an error": "raise type('E\\ud800', (Exception,), {})",
    "a type of a value": "type('T\\ud800', (), {'__repr__': lambda self: '\\ud800'})()",
    "a variable": "globals()['\\ud800'] = (i for i in [])",
    "an end": "import sys; sys.exit('\\ud800')",
    "output": "import os; os.write(1, b'\\xed\\xa0\\x80')",
}


@each("code", HALVES.values())
async def test_half_a_character_anywhere_in_a_run_can_be_sent(python: App, code: str) -> None:
    async with client(python) as one:
        id = await created(one)
        for run_now in (code, "1"):
            answer = await one.call_tool("run_memory_code", {"executor_id": id, "code": run_now})
            json.dumps([answer.meta, answer.structured_content, *texts(answer)], ensure_ascii=False).encode()


async def test_an_error_after_much_output_still_fits(python: App) -> None:
    async with client(python) as one:
        answer = await refused(one, await created(one), "print('x' * 500_000 + 'end')\n1 / 0")
    result = error_of(answer)["result"]
    assert len(result["stdout"]) < 5000
    assert result["stdout"].endswith("xend\n")
    assert result["truncated"]


async def test_half_a_character_that_code_wrote_keeps_no_answer_from_being_sent(python: App) -> None:
    half = "class A:\n def __repr__(self): return '\\ud800'\nglobals()['\\ud801'] = 1\n"
    async with client(python) as one:
        id = await created(one)
        for code in ("A()", "raise ValueError('\\ud800')", "open('\\udc80.txt', 'w').write('a')"):
            answer = await one.call_tool("run_memory_code", {"executor_id": id, "code": half + code})
            assert "?" in answer.model_dump_json()


async def test_figures_come_back_as_images(python: App) -> None:
    code = "import matplotlib.pyplot as plt\nplt.plot([1, 3, 2])\nplt.title('t');"
    async with client(python) as one:
        answer = await one.call_tool("run_memory_code", {"executor_id": await created(one), "code": code})
    [image] = [block for block in answer.content if isinstance(block, ImageContent)]
    assert image.mime_type == "image/png"
    assert base64.b64decode(image.data).startswith(b"\x89PNG")
    [artifact] = structured(answer)["result"]["artifacts"]
    assert (artifact["kind"], artifact["name"]) == ("figure", "figure-1.png")


async def test_files_that_the_code_wrote_are_named(python: App) -> None:
    async with client(python) as one:
        id = await created(one)
        answer = await run(one, id, "import os\nos.mkdir('out')\nopen('out/a.csv', 'w').write('a,b')")
        assert answer["artifacts"] == [{"kind": "file", "name": "out/a.csv", "size_bytes": 3}]
        assert (await run(one, id, "1"))["artifacts"] == []


async def test_an_unknown_executor_is_an_error_that_says_what_to_do(python: App) -> None:
    async with client(python) as one:
        for id in ("executor-" + "0" * 32, "executor-x", "../../etc", "executor-" + "A" * 32):
            answer = await refused(one, id, "1")
            assert texts(answer)[0].startswith("EXECUTOR_NOT_FOUND: There is no executor")
            assert "create_memory_code_runner()" in texts(answer)[0]


async def test_a_file_that_is_not_there_is_a_clear_error(python: App) -> None:
    async with client(python) as one:
        answer = await refused(one, await created(one), "get_memory_path('ds-none', 'a.xlsx')")
    assert "MEMORY_NOT_FOUND: There is no file 'ds-none'" in texts(answer)[0]


async def test_stored_files_are_asked_for_by_place_or_by_name(python: App) -> None:
    signature = "import inspect\nprint(inspect.signature(get_memory_path))"
    async with client(python) as one:
        id = await created(one)
        assert (await run(one, id, signature))["stdout"].startswith("(memory_id: str, memory_name: str")
        for given in ("'ds-none', 'a.xlsx'", "memory_name='a.xlsx', memory_id='ds-none'"):
            assert "There is no file 'ds-none'" in texts(await refused(one, id, f"get_memory_path({given})"))[0]


async def test_code_that_is_too_long_is_refused(python: App) -> None:
    async with client(python) as one:
        id = await created(one)
        assert "CODE_TOO_LARGE" in texts(await refused(one, id, "#" * 1_000_001))[0]


async def test_long_output_is_kept_whole_in_the_scratchpad(python: App) -> None:
    async with client(python) as one:
        answer = await one.call_tool(
            "run_memory_code", {"executor_id": await created(one), "code": "print('x' * 100_000)"}
        )
        kept = structured(answer)["scratchpad_id"]
        whole = structured(await one.call_tool("scratchpad_read", {"id": kept}))["result"]
    assert "x" * 100_000 in whole


async def test_an_executor_that_was_ended_says_what_is_lost_and_goes_on(python: App) -> None:
    async with client(python) as one:
        id = await created(one)
        await run(one, id, "x = 1")
        answer = await refused(one, id, "import os; os._exit(1)")
        assert texts(answer)[0].startswith("SANDBOX_EXITED: ")
        assert [gone["name"] for gone in error_of(answer)["result"]["executor"]["lost"]] == ["x"]
        assert (await run(one, id, "2"))["value"] == "2"


async def test_without_its_packages_it_says_what_to_run(tmp_path: Path) -> None:
    app = build_app(load_settings({"data": tmp_path, "runner": tmp_path / "none"}))
    async with client(app) as one:
        answer = await one.call_tool("create_memory_code_runner", {})
    app.close()
    assert answer.is_error
    assert texts(answer)[0].startswith("SANDBOX_UNAVAILABLE: ")
    assert "Run: loci runner install" in texts(answer)[0]


async def test_the_tools_are_offered_with_the_files(python: App) -> None:
    async with client(python) as one:
        tools = {tool.name: tool for tool in (await one.list_tools()).tools}
    assert "Create a Python environment" in (tools["create_memory_code_runner"].description or "")
    assert "one per session" in (tools["create_memory_code_runner"].description or "")
    assert tools["create_memory_code_runner"].input_schema["properties"] == {}
    assert tools["run_memory_code"].input_schema["properties"].keys() == {"executor_id", "code"}
    assert "Python 3" in (tools["run_memory_code"].description or "")


@pytest.mark.parametrize("mode", ["legacy", "2026-07-28"])
async def test_a_call_that_is_cancelled_ends_its_run_and_the_state_stays(python: App, mode: str) -> None:
    async with Client(build_server(python, "files"), mode=mode) as one:
        id = await created(one)
        await run(one, id, "x = 41")
        code = "x += 1\nopen('begun', 'w').close()\nwhile True: pass"
        work = python.settings.data / "executors" / id
        async with anyio.create_task_group() as calls:
            calls.start_soon(one.call_tool, "run_memory_code", {"executor_id": id, "code": code})
            await anyio.to_thread.run_sync(until, lambda: any(work.rglob("begun")))
            calls.cancel_scope.cancel()
        answer = await run(one, id, "x")
    assert (answer["value"], answer["executor"]["state"]) == ("42", "kept")


async def test_code_whose_call_is_cancelled_before_its_turn_does_not_begin(
    python: App, monkeypatch: pytest.MonkeyPatch
) -> None:
    entered, enter = threading.Event(), RunQueue.enter

    def enter_late(queue: RunQueue, owner: str, work: Any) -> None:
        entered.set()
        until(work.args[0].was_cancelled)
        enter(queue, owner, work)

    async with client(python) as one:
        id = await created(one)
        await run(one, id, "x = 41")
        monkeypatch.setattr(RunQueue, "enter", enter_late)
        async with anyio.create_task_group() as calls:
            calls.start_soon(one.call_tool, "run_memory_code", {"executor_id": id, "code": "x = 0"})
            await anyio.to_thread.run_sync(until, entered.is_set)
            calls.cancel_scope.cancel()
        monkeypatch.undo()
        answer = await run(one, id, "x")
    assert answer["value"] == "41"


async def test_code_without_an_executor_gets_a_new_one_and_names_it(python: App) -> None:
    async with client(python) as one:
        answer = structured(await one.call_tool("run_memory_code", {"code": "x = 20\nprint(x)"}))
        assert (answer["result"]["stdout"], answer["result"]["executor"]["state"]) == ("20\n", "new")
        assert (await run(one, answer["executor_id"], "print(x + 1)"))["stdout"] == "21\n"
        wrong = await one.call_tool("run_memory_code", {"code": "y = 3\n1 / 0"})
        id = error_of(wrong)["executor_id"]
        assert id in texts(wrong)[-1]
        assert (await run(one, id, "print(y)"))["stdout"] == "3\n"
