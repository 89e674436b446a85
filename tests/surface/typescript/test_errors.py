"""Errors of TypeScript that say what was thrown and where, in lines of the code that was sent."""

import json
from pathlib import Path
from typing import Any

import pytest

import loci
from tests.support.deno import needs_deno
from tests.support.each import each
from tests.surface.typescript.conftest import Desk

pytestmark = [pytest.mark.anyio, needs_deno]
INSTALLED = str(Path(loci.__path__[0]).resolve())


async def message(desk: Desk, code: str, **more: object) -> str:
    told = await desk.failure(code, **more)
    assert told["code"] == "CODE_ERROR", told
    assert INSTALLED not in json.dumps(told)
    assert "runner.js" not in json.dumps(told)
    return told["message"]


@each(
    ("thrown", "shown"),
    [
        ("{a: 1}", "{ a: 1 }"),
        ("{code: 'E1', message: 'm', at: [1, {b: 2}]}", '{ code: "E1", message: "m", at: [ 1, { b: 2 } ] }'),
        ("[1, 2]", "[ 1, 2 ]"),
        ("new Map([['k', 1]])", 'Map(1) { "k" => 1 }'),
        ("'plain'", "plain"),
    ],
)
async def test_what_was_thrown_is_shown(desk: Desk, thrown: str, shown: str) -> None:
    for code in (f"throw {thrown}", f"await Promise.reject({thrown})"):
        assert shown in await message(desk, code)


async def test_errors_in_errors_are_shown_with_their_places(desk: Desk) -> None:
    code = "await Promise.any([\n Promise.reject(new Error('first')),\n Promise.reject(new TypeError('second'))])"
    told = await message(desk, code)
    assert "[1] Error: first (line 2, column 17)" in told
    assert "[2] TypeError: second (line 3, column 17)" in told


async def test_causes_are_shown_with_their_places(desk: Desk) -> None:
    code = "try {\n  null.x\n} catch (cause) {\n  throw new Error('outer', {cause: new Error('middle', {cause})})\n}"
    told = await message(desk, code)
    assert told.startswith("Error: outer (line 4, column 9)")
    assert "Caused by: Error: middle (line 4" in told
    assert "Caused by: TypeError: Cannot read properties of null (reading 'x') (line 2, column 8)" in told
    assert "Caused by: { why: 5 }" in await message(desk, "throw new Error('e', {cause: {why: 5}})")


@each(
    "code", ["console.error(new Error('x'))", "console.log(new Error('x'))", "console.log('%o', {e: new Error('x')})"]
)
async def test_a_printed_error_names_the_callers_lines(desk: Desk, code: str) -> None:
    told = await desk.told(f"\nconst f = () => {{\n  {code}\n}};\nf(); null")
    [log] = told["logs"]
    assert "code.ts:3:" in log["text"]
    assert "code.ts:5:1" in log["text"]
    assert INSTALLED not in log["text"]
    assert "runner.js" not in log["text"]


@each("code", ["new Error('x').stack", "(() => { try { null.x } catch (e) { return e.stack } })()"])
async def test_a_stack_that_code_reads_names_the_callers_lines(desk: Desk, code: str) -> None:
    stack = await desk.value(f"enum A {{ X }}\n\nconst told = {code};\ntold")
    assert "code.ts:3:" in stack
    assert "file:" not in stack
    assert INSTALLED not in stack


async def test_code_that_was_rewritten_keeps_its_lines(desk: Desk) -> None:
    told = await desk.told("namespace N { export const a = 1 }\nenum A { X, Y }\nconsole.error(new Error('x')); N.a")
    assert "code.ts:3:15" in told["logs"][0]["text"]


async def test_a_module_made_of_text_is_named_without_its_address(desk: Desk) -> None:
    source = b"export const f = () => {\n  throw new Error('in it')\n}".hex()
    url = f"'data:text/javascript,' + '{source}'.replace(/../g, '%$&')"
    told = await desk.failure(f"const m = await import({url});\nm.f()")
    assert "Error: in it (line 2, column 3)" in told["message"]
    assert {"name": "Module.f (module)", "line": 2, "column": 9} in told["stack"]
    assert "data:" not in json.dumps(told)
    wrong = await desk.failure("await import('data:text/javascript,let a = ;')")
    assert "data:" not in json.dumps(wrong)
    assert "module:1:9" in wrong["message"]


async def test_a_path_of_the_installation_is_in_no_error(desk: Desk) -> None:
    for code in (
        "await import('./x.js')",
        "await import('../x.js')",
        "Deno.readTextFileSync('x')",
        "new Worker('x')",
    ):
        await message(desk, code)


async def test_this_is_undefined(desk: Desk) -> None:
    assert await desk.value("[typeof this, (() => typeof this)()]") == ["undefined", "undefined"]


@each(
    "code",
    [
        pytest.param("1;\n" + "[" * 20_000 + "]" * 20_000, id="lists"),
        pytest.param("\n\n" + "f(" * 20_000 + ")" * 20_000, id="calls"),
        pytest.param("1;\n" + "!" * 90_000 + "1", id="operators"),
        pytest.param("a" + ".b" * 40_000, id="members"),
        pytest.param("1" + "+1" * 45_000, id="sums"),
        pytest.param("1;\nlet x: " + "[" * 30_000 + "]" * 30_000, id="types"),
        pytest.param("enum A {X}\n" + "(" * 20_000 + "1" + ")" * 20_000, id="rewritten"),
    ],
)
async def test_what_the_parser_cannot_take_is_an_error_of_the_code(desk: Desk, code: str) -> None:
    told = await desk.failure(code)
    assert told["code"] == "CODE_ERROR"
    assert told["message"] == "The code is nested too deeply for the parser"


async def test_worker_threads_work_or_are_not_offered(desk: Desk) -> None:
    code = """
const { Worker } = await import("node:worker_threads");
const one = new Worker("require('worker_threads').parentPort.postMessage(7)", {eval: true});
await new Promise((done, failed) => { one.on("message", done); one.on("error", failed); })
"""
    answer = await desk.ask(code)
    if answer.is_error:
        told: dict[str, Any] = await desk.failure(code)
        assert told["message"].startswith("Worker threads are not offered")
        assert "node:worker_threads" in told["resolution"]
    else:
        assert await desk.value(code) == 7


async def test_data_named_like_a_global_is_only_in_the_context(desk: Desk) -> None:
    data = {
        "Date": 1,
        "NaN": 2,
        "undefined": 3,
        "Math": 4,
        "JSON": 5,
        "fetch": 6,
        "close": [7],
        "name": "n",
        "Custom": 8,
    }
    assert await desk.value(
        "[typeof Date, NaN, typeof undefined, Math.max(1), JSON.stringify(1), typeof fetch]", context=data
    ) == [*("function", "NaN", "undefined", 1, "1", "function")]
    assert await desk.value("[context.Date, context.NaN, close[0], name, Custom]", context=data) == [1, 2, 7, "n", 8]


async def test_the_order_of_keys_is_another_context(desk: Desk) -> None:
    code = "Object.keys(context.data).join() + '; // order'"
    first, second = {"data": {"a": 1, "b": 2}}, {"data": {"b": 2, "a": 1}}
    assert (await desk.told(code, context=first))["result"].startswith("a,b")
    told = await desk.told(code, context=second)
    assert told["result"].startswith("b,a")
    assert "cached" not in told
    assert (await desk.told(code, context=first))["cached"] is True


async def test_a_result_of_too_many_values_says_so(desk: Desk) -> None:
    told = await desk.failure("Array.from({length: 300_000}, () => [])")
    assert told["code"] == "SANDBOX_OUTPUT"
    assert "250,000 values" in told["message"]
    assert (await desk.told("Array.from({length: 200_000}, (_, i) => i)"))["scratchpad_id"]
