"""Whatever code does to the language and to its streams, its run is answered, and with its own value."""

import itertools
import json
import os
import re
import signal
from contextlib import suppress
from typing import Any, cast

from loci.adapters.local.deno_sandbox import DenoSandbox
from loci.code.ports import Completed, Failed
from loci.code.typescript import LARGEST_CODE
from tests.attack.sandbox.conftest import Tried
from tests.attack.sandbox.deno.test_own import launchers
from tests.support.deno import STRONGEST, Given, failed, needs_deno, run, sandbox, steady, value
from tests.support.each import each
from tests.support.polling import until
from tests.support.processes import descendants, threads

pytestmark = needs_deno
PATIENT = Given(timeout_ms=30_000)
WRITTEN = {
    "by process": "process.stdout.write('no end')",
    "by Deno": "Deno.stdout.writeSync(new TextEncoder().encode('no end'))",
    "to the descriptor": "(await import('node:fs')).writeSync(1, 'no end')",
    "half a line of ours": 'process.stdout.write(\'no end{"t":"result","value":\')',
}
PATCHES = {
    "every object becomes a text": ""
    "Object.prototype.toJSON = Array.prototype.toJSON = () => 'x'; String.prototype.toJSON = 1",
    "JSON": "JSON.stringify = () => '\"bad\"'; JSON.parse = null",
    "arrays": "Array.prototype[Symbol.iterator] = null; Array.prototype.map = Array.prototype.push = Array.from = null",
    "texts": "for (const k of ['toWellFormed', 'slice', 'split', 'replace', 'indexOf', 'startsWith'])"
    " String.prototype[k] = () => 'bad'",
    "promises": "Promise.prototype.then = null; globalThis.Promise = null",
    "functions": "Function.prototype.call = Function.prototype.apply = Function.prototype.bind = null",
    "objects": "Object.keys = Object.entries = Object.create = Object.getPrototypeOf = null; Reflect.apply = null",
    "setters of our names": "for (const k of ['t', 'kind', 'seen', 'json', '0', 'above', 'left', 'value'])"
    " Object.defineProperty(Object.prototype, k, {get() { throw 1 }, set() { throw 1 }, configurable: true})",
    "sets and maps": "Set.prototype.add = Set.prototype.has = Map.prototype.get = Map.prototype.forEach = null",
    "typed arrays": "Object.getPrototypeOf(Uint8Array.prototype).subarray = globalThis.Uint8Array = null;"
    " TextEncoder.prototype.encode = null",
    "regular expressions": "RegExp.prototype.exec = () => null; RegExp.prototype[Symbol.replace] = () => 'bad'",
    "instances": "for (const one of [Error, Map, Set, DataView, RegExp, Promise, ArrayBuffer, Number, String])"
    " Object.defineProperty(one, Symbol.hasInstance, {value: () => true})",
    "numbers": "Number.isFinite = () => false; globalThis.String = null; Array.isArray = () => false",
}
HIDING = {
    "a set that takes nothing": "Set.prototype.add = function () { return this }",
    "a set that shows nothing": "Set.prototype[Symbol.iterator] = function* () {}",
    "arrays that show nothing": "Array.prototype[Symbol.iterator] = function* () {}",
    "objects that are known already": "Object.prototype['Math.random'] = Object.prototype.Date = true",
    "a reflection that lies": "Reflect.construct = Reflect.get = Reflect.apply = () => 1",
    "no texts": "JSON.stringify = () => '[]'; Array.prototype.push = () => 0",
}
READS = {
    "chance": "Math.random()",
    "the clock": "new Date().getTime() + Date.now()",
    "the clock's own function": "Object.getOwnPropertyDescriptor(Object.getPrototypeOf(class extends Date {}),"
    " 'now').value()",
    "all that the clock has": "Object.getOwnPropertyDescriptors(Date).now.value()",
}


@each("name", WRITTEN)
def test_text_without_an_end_loses_no_result(deno: DenoSandbox, tried: Tried, name: str) -> None:
    with tried(name):
        ended = run(deno, f"{WRITTEN[name]}; ({{a: [1, 'b']}})", PATIENT)
        assert isinstance(ended, Completed), ended
        assert ended.value == {"a": [1, "b"]}
        assert any("no end" in line.text for line in ended.measured.logs)


@each("name", WRITTEN)
def test_text_without_an_end_loses_no_error(deno: DenoSandbox, tried: Tried, name: str) -> None:
    with tried(name):
        ended = failed(deno, f"{WRITTEN[name]};\nthrow new Error('own')", PATIENT)
        assert ended.message.startswith("Error: own (line 2")


@each("name", PATCHES)
def test_no_patched_prototype_changes_a_result(deno: DenoSandbox, tried: Tried, name: str) -> None:
    with tried(name):
        code = f"const list = [1, 'b', null, [true], {{__proto__: null, a: 1}}]; {PATCHES[name]}; list"
        assert value(deno, code, PATIENT) == [1, "b", None, [True], {"a": 1}]
        assert value(deno, f"const s = 'b'.concat('c'); {PATCHES[name]}; s", PATIENT) == "bc"


@each("name", PATCHES)
def test_no_patched_prototype_loses_an_error_or_a_log(deno: DenoSandbox, tried: Tried, name: str) -> None:
    with tried(name):
        code = f"const made = new Error('own'); console.log('said'); {PATCHES[name]}; throw made"
        ended = failed(deno, code, PATIENT)
        assert ended.code == "CODE_ERROR"
        assert ended.message == "Error: own (line 1, column 14)"
        assert [(one["name"], one["line"]) for one in ended.stack] == [("(top level)", 1)]
        assert [line.text for line in ended.measured.logs] == ["said"]


@each(
    "code",
    [
        "class E extends Error { get name() { throw 1 } }; throw new E('own')",
        "class E extends Error { get message() { throw 1 } }; throw new E()",
        "class E extends Error { get stack() { throw 1 } }; throw new E('own')",
        "class E extends Error { get cause() { throw 1 } }; throw new E('own')",
        "throw new Proxy({}, {get() { throw 1 }, ownKeys() { throw 1 }, getPrototypeOf() { throw 1 }})",
        "const {proxy, revoke} = Proxy.revocable(new Error('x'), {}); revoke(); throw proxy",
        "const e = new Error('x'); e.cause = e; throw e",
        "let e = new Error('0'); for (let i = 0; i < 5000; i++) e = new Error(`${i}`, {cause: e}); throw e",
        "throw new AggregateError(Array.from({length: 1e4}, (_, i) => new Error(`${i}`)))",
        "Error.prepareStackTrace = () => { throw 1 }; null.x",
        "Error.prepareStackTrace = () => 5; null.x",
        "Error.stackTraceLimit = 0; null.x",
        "throw Object.create(null)",
        "throw Symbol('s')",
        "throw {message: '\\ud800', name: '\\udfff', toString() { throw 1 }}",
        "setTimeout(() => { throw new Error('late') }); await new Promise(done => setTimeout(done, 3000))",
        "queueMicrotask(() => { throw {late: 1} }); await new Promise(done => setTimeout(done, 3000))",
        "reportError(new Error('reported')); await new Promise(done => setTimeout(done, 3000))",
    ],
)
def test_whatever_is_thrown_is_told_as_an_error_of_the_code(deno: DenoSandbox, tried: Tried, code: str) -> None:
    with tried(code):
        ended = failed(deno, code, PATIENT)
        assert ended.code == "CODE_ERROR"
        assert len(ended.message) < 20_000
        json.dumps(ended.message).encode()


@each(
    "code",
    [
        "Error.prepareStackTrace = (_, all) => all.map(one => "
        "[one.getFileName(), one.getScriptNameOrSourceURL(), one.getEvalOrigin(), `${one}`]); new Error().stack",
        "Error.prepareStackTrace = undefined; new Error().stack",
        "const old = Error.prepareStackTrace; Error.prepareStackTrace = (e, all) => old(e, all); new Error().stack",
    ],
)
def test_code_that_prepares_stacks_itself_learns_no_path(deno: DenoSandbox, tried: Tried, code: str) -> None:
    with tried(code):
        told = json.dumps(value(deno, code))
        assert "code.ts" in told
        assert "runner" not in told
        assert "compile" not in told


def test_code_can_save_how_stacks_are_prepared_and_set_it_again(deno: DenoSandbox) -> None:
    code = """
    const usual = Error.prepareStackTrace;
    let asked = 0;
    Error.prepareStackTrace = (error, sites) => { asked += 1; return sites.length; };
    const mine = Error.prepareStackTrace;
    for (let round = 0; round < 5000; round += 1) Error.prepareStackTrace = Error.prepareStackTrace;
    const depth = new Error().stack;
    Error.prepareStackTrace = usual;
    const text = new Error("as before").stack;
    Error.prepareStackTrace = mine;
    ({ isNumber: typeof depth === "number", asked: new Error().stack && asked, text });
    """
    told = cast("dict[str, Any]", value(deno, code))
    assert (told["isNumber"], told["asked"]) == (True, 2)
    assert told["text"].startswith("Error: as before\n    at code.ts:")


@each(("read", "hidden"), itertools.product(READS, HIDING))
def test_no_patched_prototype_hides_what_was_read(deno: DenoSandbox, tried: Tried, read: str, hidden: str) -> None:
    with tried(f"{read}: {hidden}"):
        assert not steady(deno, f"const read = () => {READS[read]}; {HIDING[hidden]}; read(); 1")


DEEP = ("if(1);else ", "if (x === 1) {} else ", "if(1)", "1?1:", "(", "[", "{", "!", "a=>", "a?b,c=>1:")


@each(("part", "before"), itertools.product(DEEP, ("", "let x: number = 1;\n")))
def test_the_longest_code_is_read_in_time_however_deep_it_is(
    deno: DenoSandbox, tried: Tried, part: str, before: str
) -> None:
    """The parser of types is slow at long chains of `else if`: code of a megabyte took half a minute."""
    with tried(before + part):
        code = before + part * ((LARGEST_CODE - len(before)) // len(part)) + "1"
        ended = failed(deno, code, Given(timeout_ms=30_000))
        assert ended.code == "CODE_ERROR"
        assert re.search(r"nested too deeply|\(line \d+, column \d+\)", ended.message), ended


def _has_stopped(pid: int) -> bool:
    """True if none of its threads runs any more, or it has ended."""
    try:
        states = [(one / "stat").read_text().rpartition(")")[2].split()[0] for one in threads(pid)]
    except OSError:
        return False
    return set(states) <= {"T", "Z", "X"}


@each("size", [10, 200_000])
def test_a_spare_that_dies_before_it_has_read_its_job_costs_no_call(size: int) -> None:
    """It is stopped when it is taken, so that it reads nothing, and then killed."""
    before = launchers()
    with sandbox(STRONGEST, spares=1) as made:
        assert value(made, "1") == 1
        [launcher] = launchers() - before
        taken = made._runner.spares.take  # pyright: ignore

        def doomed(*given: object, **more: object) -> object:
            child = taken(*given, **more)  # pyright: ignore
            doomed_ones = [] if more.get("is_new") else [one for one in descendants(launcher) if _stops(one)]
            until(lambda: all(_has_stopped(one) for one in doomed_ones))
            sent = child.send

            def send(line: bytes) -> None:
                sent(line)
                for one in doomed_ones:
                    with suppress(ProcessLookupError):  # it went with the one before
                        os.kill(one, signal.SIGKILL)

            child.send = send
            return child

        made._runner.spares.take = doomed  # pyright: ignore
        assert value(made, "context.text.length", Given(context={"text": "x" * size})) == size


def _stops(pid: int) -> bool:
    try:
        os.kill(pid, signal.SIGSTOP)
    except ProcessLookupError:  # it has just ended
        return False
    return True


def test_it_is_not_run_twice_if_it_has_begun(deno: DenoSandbox) -> None:
    ended = run(deno, "Deno.stdin.close(); Deno.exit(3)")
    assert isinstance(ended, Failed)
    assert ended.code == "SANDBOX_EXITED"
