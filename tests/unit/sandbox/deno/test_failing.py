"""Code that is wrong, or fails: which line, which column, and what to do."""

from loci.adapters.local.deno_sandbox import DenoSandbox
from tests.support.deno import failed, needs_deno, value
from tests.support.each import each

pytestmark = needs_deno


@each(
    ("code", "says"),
    [
        ("const x: number = ;", "SyntaxError: Expression expected (line 1, column 19)"),
        ("let a = 1;\nlet b: string = 'x;", "SyntaxError: Unterminated string constant (line 2, column 17)"),
        ("const a: number[] = [];\nfor (let i = 0; i < 3; i++ {\n}", "Expected ')', got '{' (line 2, column 28)"),
        ("let s = 'é世界🌍'; let b: = 3", "(line 1, column 24)"),
        ("foo(1, 2", "(line 1, column 9)"),
        ("}{", "SyntaxError: Unexpected token (line 1, column 1)"),
        ("1); evil(); (2", "(line 1, column 2)"),
        ("}); evil(); (() => {", "(line 1, column 2)"),
        ("x as", "(line 1, column 5)"),
        ("const a = 1;\nconst a = 2;", "(line 2, column 7)"),
        ("1;\nimport _ from 'lodash'; _", "There is no module 'lodash' here (line 2, column 1)"),
        ("1;\n/(?<a>x)(?<a>y)/", "Duplicate capture group name (line 2, column 1)"),
        ("const a = 1;\nexport const x = a", "Nothing can be exported (line 2, column 1)"),
    ],
)
def test_a_syntax_error_names_line_and_column(deno: DenoSandbox, code: str, says: str) -> None:
    ended = failed(deno, code)
    assert ended.code == "CODE_ERROR"
    assert says in ended.message


@each(
    ("code", "says", "frames"),
    [
        ("  foo.bar(1)", "ReferenceError: foo is not defined (line 1, column 3)", [("(top level)", 1, 3)]),
        ("const a = 1;\n\nnull.x", "(line 3, column 6)", [("(top level)", 3, 6)]),
        (
            "function f(a: number): never {\n  throw new RangeError('far')\n}\nf(1)",
            "RangeError: far (line 2, column 9)",
            [("f", 2, 9), ("(top level)", 4, 1)],
        ),
        (
            "enum A { X }\n\nconst g = async () => { throw new Error('late') };\nawait g()",
            "Error: late (line 3, column 31)",
            [("g", 3, 31), ("(top level)", 4, 7)],
        ),
    ],
)
def test_an_error_names_the_callers_own_lines(
    deno: DenoSandbox, code: str, says: str, frames: list[tuple[str, int, int]]
) -> None:
    ended = failed(deno, code)
    assert says in ended.message
    assert [(one["name"], one["line"], one["column"]) for one in ended.stack] == frames


@each(
    "code",
    [
        "setTimeout(JSON.parse, 1, '{bad'); await new Promise(done => setTimeout(done, 3000))",
        "await import('data:text/javascript,JSON.parse(\"{bad\")')",
        "setTimeout(new Function('JSON.parse(\"{bad\")'), 1); await new Promise(done => setTimeout(done, 3000))",
        "Error.stackTraceLimit = 0; JSON.parse('{bad')",
    ],
)
def test_a_syntax_error_without_a_place_in_the_code_is_told_as_it_is(deno: DenoSandbox, code: str) -> None:
    assert (
        failed(deno, code).message
        == "SyntaxError: Expected property name or '}' in JSON at position 1 (line 1 column 2)"
    )


@each("code", ["throw 'text'", "throw {a: 1}", "throw null", "await Promise.reject(undefined)"])
def test_what_is_thrown_need_not_be_an_error(deno: DenoSandbox, code: str) -> None:
    assert failed(deno, code).code == "CODE_ERROR"


def test_what_nobody_catches_is_told(deno: DenoSandbox) -> None:
    code = "Promise.reject(new Error('forgotten')); await new Promise(done => setTimeout(done, 5000)); 1"
    assert "forgotten" in failed(deno, code).message


def test_code_that_waits_for_nothing_is_told_at_once(deno: DenoSandbox) -> None:
    ended = failed(deno, "await new Promise(() => {})")
    assert ended.message == "The code waits for something that never comes"
    assert ended.advice == "Await only promises that something settles"


@each(
    ("code", "advice"),
    [
        ("import { a } from 'npm:left-pad'; a", "Only modules of Node"),
        ("await fetch('http://127.0.0.1:8080')", "no network"),
        ("Deno.readTextFileSync('/etc/hostname')", "allowedReadPaths"),
    ],
)
def test_what_is_not_there_says_what_is(deno: DenoSandbox, code: str, advice: str) -> None:
    assert advice in (failed(deno, code).advice or "")


@each("name", ["npm:left-pad", "jsr:@std/path", "https://deno.land/std/version.ts", "file:///etc/x"])
def test_nothing_is_imported_from_elsewhere(deno: DenoSandbox, name: str) -> None:
    assert failed(deno, f"await import({name!r})").code == "CODE_ERROR"


@each("get", ["(await import('node:vm')).default", "process.getBuiltinModule('node:vm')"])
@each("error", ["new (vm.runInNewContext('Error'))('x')", "vm.runInNewContext('new Error()')"])
def test_stacks_of_other_realms_have_no_path_of_the_install(deno: DenoSandbox, get: str, error: str) -> None:
    stack = value(deno, f"const vm = {get}; ({error}).stack")
    assert "code.ts" in str(stack)
    assert "file:" not in str(stack)
    assert "/typescript/" not in str(stack)
