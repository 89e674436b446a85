"""What code gives: the value of its last expression, in a form that JSON has."""

from loci.adapters.local.deno_sandbox import DenoSandbox
from loci.code.ports import Completed
from loci.core.json import Json
from tests.support.deno import Given, needs_deno, run, value
from tests.support.each import each

pytestmark = needs_deno

EXPRESSIONS: list[tuple[str, Json]] = [
    ("2 + 2", 4),
    ("2+2;", 4),
    ("2 + 2;;;  \n", 4),
    ("2+2 // note", 4),
    ("2 + 2; // c", 4),
    ("/* c */ 1 /* d */", 1),
    ("(2+2)", 4),
    ("(2+2); /* c */ // d", 4),
    ("2 as number", 2),
    ("{a: 1, b: 2}", {"a": 1, "b": 2}),
    ("{}", {}),
    ("  {a: 1}; ", {"a": 1}),
    ("({a:1})", {"a": 1}),
    ("await Promise.resolve(1)", 1),
    ("'use strict'", "use strict"),
    ("`a${1}`", "a1"),
    ("'a;// b'", "a;// b"),
    ("/;/.source;", ";"),
    ("(x => x)(3)", 3),
    ("await (async () => { await 1; return 2 })()", 2),
    ("1\n2", 2),
    ("a\n++\nb", None),
    ("let a = 1\nlet b = 2\na\n++\nb", 3),
    ("const a = 1;\nconst f = () => a\n;[f()]", [1]),
    ("do {} while (false) 7", 7),
    ("let a = 1; a++, a", 2),
    ("null", None),
    ("#!/usr/bin/env deno\n5", 5),
    ("label: 1", None),
    ("{ let x = 1; return x }", 1),
    ("const x = 1; return x", 1),
    ("const x: number = 1\nreturn x", 1),
    ("if (true) return 2; 3", 2),
    ("function f() { return 1 }", None),
    ("class A {}", None),
    ("if (1) 2", None),
    ("", None),
    ("// nothing", None),
    ("enum A {X, Y}; return A.Y", 1),
    ("namespace N { export const a = 5 }\nN.a", 5),
    ("class P { constructor(readonly x: number) {} }\nnew P(4).x", 4),
    ("let z = <number>5; z", 5),
    ("let y = <T,>(a: T) => a; return y(1)", 1),
    ("interface A { x: number }\nconst a: A = { x: 3 };\na.x", 3),
    ("type T = Readonly<{ a?: string }>;\nconst t = { a: 'b' } satisfies T; t!.a", "b"),
    ("import type { A } from './a.ts'; 6", 6),
    ("abstract class A { abstract f(): number }\nnew (class extends A { f() { return 8 } })().f()", 8),
    ("function f<T>(this: unknown, ...a: T[]): a is never { return !!a.length }\nf(1)", True),
    ("const { default: a } = await import('node:path'); a.join('a', 'b')", "a/b"),
    ("for await (const x of [Promise.resolve(1)]) { return x }", 1),
    ("using x = { [Symbol.dispose]() {} }; 9", 9),
    ("'a'.concat('}); evil(); (() => {')", "a}); evil(); (() => {"),
]
UNWRAPPED = {"a\n++\nb"}  # neither is there


@each(("code", "expected"), [one for one in EXPRESSIONS if one[0] not in UNWRAPPED])
def test_the_value_is_that_of_the_last_expression(deno: DenoSandbox, code: str, expected: Json) -> None:
    assert value(deno, code) == expected


FORMS: list[tuple[str, Json, str | None]] = [
    ("undefined", None, "undefined"),
    ("10n", "10n", "bigint"),
    ("NaN", "NaN", "number"),
    ("[1/0, -1/0, undefined, {a: undefined}]", ["Infinity", "-Infinity", None, {}], None),
    ("new Date(0)", "1970-01-01T00:00:00.000Z", "Date"),
    ("new Date(NaN)", None, "Date"),
    ("new Map([['a', 1n], ['b', new Set([1])]])", {"a": "1n", "b": [1]}, "Map"),
    ("new Map([[1, 2]])", [[1, 2]], "Map"),
    ("new Set([1, 'a'])", [1, "a"], "Set"),
    ("new Uint8Array([1, 2])", [1, 2], "Uint8Array"),
    ("Object.assign(new TypeError('no'), {code: 5})", {"name": "TypeError", "message": "no", "code": 5}, "Error"),
    ("/a/g", "/a/g", "RegExp"),
    ("function f() {}; return f", "[Function: f]", "function"),
    ("Symbol('s')", "Symbol(s)", "symbol"),
    ("const a: any = {b: 1}; a.a = [a]; a", {"b": 1, "a": ["[Circular]"]}, None),
    ("const s = {x: 1}; [s, s]", [{"x": 1}, {"x": 1}], None),
    ("class P { constructor(public x = 1, private y = 2) {} }; new P()", {"x": 1, "y": 2}, None),
    ("({toJSON: () => 'short'})", "short", None),
    ("new ArrayBuffer(2)", "ArrayBuffer { [Uint8Contents]: <00 00>, byteLength: 2 }", "ArrayBuffer"),
    ("[Promise.resolve(1)]", ["Promise { 1 }"], None),
    ("'\\ud800'", "\ufffd", None),
    ("'Grüße 世界 🌍'", "Grüße 世界 🌍", None),
    ("Object.create(null, {a: {value: 1, enumerable: true}})", {"a": 1}, None),
    ("({__proto__: {up: 1}, a: 1})", {"a": 1}, None),
    ("JSON.parse('{\"__proto__\": 1}')", {"__proto__": 1}, None),
]


@each(("code", "expected", "kind"), FORMS)
def test_what_json_has_no_form_for_gets_one(deno: DenoSandbox, code: str, expected: Json, kind: str | None) -> None:
    ended = run(deno, code)
    assert isinstance(ended, Completed), ended
    assert (ended.value, ended.kind) == (expected, kind)


def test_a_deep_value_ends_in_a_text(deno: DenoSandbox) -> None:
    found = value(deno, "let a: any = 'end'; for (let i = 0; i < 5000; i++) a = [a]; a")
    depth = 0
    while isinstance(found, list):
        [found] = found
        depth += 1
    assert depth == 100
    assert isinstance(found, str)


CONTEXT: dict[str, Json] = {"items": [1, 2], "data": {"a": 1}, "not a name": 1, "class": 2, "mcp": 3, "console": 4}


@each(
    ("code", "expected"),
    [
        ("context.items.length + items.length", 4),
        ("const data = context.data; data.a", 1),
        ("function items() { return 'own' }\nitems()", "own"),
        ("context['not a name'] + context.class", 3),
        ("typeof mcp + typeof console.log", "objectfunction"),
        ("items = [9]; context.items.length", 2),
    ],
)
def test_the_context_is_there_whole_and_by_its_keys(deno: DenoSandbox, code: str, expected: Json) -> None:
    assert value(deno, code, Given(context=CONTEXT)) == expected
