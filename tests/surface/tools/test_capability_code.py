"""The code of capabilities: it is what its author wrote, and holds no secrets."""

import json

import pytest

from loci.app import App
from loci.core.identity import LOCAL
from loci.core.stores import every
from tests.support.deno import needs_deno
from tests.support.each import each
from tests.surface.tools.workbench import INTENT, Workbench

pytestmark = [pytest.mark.anyio, needs_deno]
GITHUB = "ghp_0123456789abcdefghijABCDEFGHIJ012345"
# ruff: noqa: E501 (lines of code are as long as they are)
ODD = {
    "an expression": "[3, 40].map((n) => n * 7)",
    "the last expression": "const all = [30, 10, 20];\nall.sort((a, b) => a - b);\nall",
    "an object alone": "{ name: 'ferry', berth: 12, 'at sea': true }",
    "an object with a semicolon and a comment": "\n  {a: 'first thing', /* and */ ...{b: [1, 2]}};\n",
    "a call of a tool": "(await shop.addNumbers({a: 30, b: 12})).sum",
    "a call by id": "await mcp['shop:add_numbers']({ 'a': 30, 'b': 12 })",
    "typed code": "interface One { name: string; size?: number }\nconst all: Array<One> = [{ name: 'x', size: 300 }];\n"
    "const names = all.map((one: One): string => one.name as string);\n"
    "return { names, first: all[0]!.size satisfies number }",
    "an enum": "enum Colour { Red = 'red', Blue = 'blue' }\nreturn [Colour.Red, Object.keys(Colour).length, 'green']",
    "a class": "class Box<T> { #held = 40; constructor(private extra: T) {}\n"
    "get sum() { return this.#held + Number(this.extra) } }\n"
    "return new Box('25').sum",
    "regular expressions with quotes": "return 'it\\'s \"so\"'.replace(/[\"'`/]/g, '-').split(/\\s+/)",
    "nested templates": "const n = 5;\nreturn `a ${`b ${[1, 2].map((x) => `<${x + n}>`).join(`, `)}`} c`",
    "a switch": "const kind = ['loud'][0];\nswitch (kind) { case 'loud': return 'LOUD'; default: return 'quiet' }",
    "a comparison": "return ['a', 'b', 'stop', 'c'].filter((one) => one !== 'stop')",
    "defaults": "function greet({ name = 'nobody', times = 3 } = {}, sign = '!!') {\n"
    "return (name + sign).repeat(times) }\n"
    "return greet({ times: 4 })",
    "names that are taken": "const path = 'outer'; const limit = 70;\n"
    "const f = ({ path, limit }) => `${path}:${limit}`;\nreturn [path, limit, f({ path: 'inner', limit: 99 })]",
    "keys that are no names": "return { 'Content-Type': 'text/plain', default: 'none', class: 'first', 1: 'one', 'é t é': 'summer' }",
    "unicode": "const größe = { länge: 120, 名前: '船' };\nreturn { ...größe, emoji: '🦑 squid' }",
    "escapes": "return { text: 'a\\n\\t\\u0041\\x42 \\u{1F991} \\\\', other: \"quote ' and \\\" here\" }",
    "numbers": "return { hex: 0xff, big: 1_000_000, small: 1e-7, minus: -40, half: .5, huge: String(12345678901234567890n) }",
    "a loop": "let total = 0;\nfor (let i = 0; i < 50; i++) { if (i % 7 === 3) continue; total += i }\nreturn { total, label: 'all' }",
    "labels": "outer: for (const a of [1, 2, 3]) { for (const b of [4, 5]) { if (b === 5) continue outer; if (a === 3) break outer } }\n"
    "return 'ended'",
    "a generator": "function* count(from = 10) { yield from; yield* [from + 20, 'end'] }\nreturn [...count()]",
    "hoisted": "return later('now');\nfunction later(word) { return { word, more: 'then' } }",
    "strict mode": "'use strict';\nreturn [typeof this, 'strict']",
    "a node module": "const { basename } = await import('node:path');\nreturn basename('/srv/files/a.txt')",
    "a tagged template": "const tag = (parts, ...values) => parts.raw.join('|') + values.join();\nreturn tag`one${'two'}three`",
    "a sequence": "let a = (10, 20), b;\n({ b = 'given' } = {});\nreturn [a, b]",
    "no semicolons": "const a = 'x1'\nconst b = [a, 'y2']\nreturn b\n  .map((one) => one.concat('z3'))",
    "a shebang": "#!/usr/bin/env deno\nreturn 'from a script'",
    "a default from the context": "const { limit = 30, mode = 'fast' } = context;\nreturn { limit, mode, unit: 'ms' }",
    "its own context": "const run = (context: { deep: string }) => context.deep;\nreturn run({ deep: 'inner value' })",
    "plain names of the context": "return [typeof items, items?.length, { items: 'shadow' }]",
    "optional chains": "const box: any = { a: { b: () => 'deep' } };\nreturn [box?.a?.b?.(), box.x?.y.z, (box?.q)?.r, 'x'.at?.(0)]",
    "a getter": "return { get size() { return 77 }, set size(x) {}, ['na' + 'me']: 'computed', async run() { return 'ran' } }.size",
    "a comment like code": "/* const { x = 'no' } = context; */ return 'yes' // return 'no'",
}


@each("name", ODD)
async def test_the_code_is_what_its_author_wrote(bench: Workbench, name: str) -> None:
    bench.forget()
    context = {"items": ["one"]} if "plain names" in name else {}
    await bench.run(ODD[name], context=context)
    [found] = await bench.search()
    assert found["code"] == ODD[name].strip()
    await bench.run(found["code"], context=context)
    [again] = await bench.search()
    assert again == found | {"reuse_count": 1, "success_rate": again["success_rate"]}


async def test_it_says_which_keys_of_the_context_it_needs(bench: Workbench) -> None:
    made = await bench.learned("return context.rows.length + more", context={"rows": [1, 2], "more": 5, "unused": 1})
    assert made["needs"] == ["rows", "more"]


async def test_the_same_code_with_another_literal_is_a_version(bench: Workbench) -> None:
    for text in ("a  b", "a b", "https://a.example/x", "https://b.example/x"):
        await bench.run(f"return '{text}'.length")
    [found] = await bench.search()
    assert len(found["other_versions"]) == 3


async def test_layout_and_comments_are_no_other_code(bench: Workbench) -> None:
    for code in (
        "const rows = [1, 2, 3];\nreturn rows.filter((row) => row > 1).length",
        "// count\nconst rows=[1,2,3];return rows.filter(( row )=>row > 1).length",
        "```ts\nconst rows = [1, 2, /* now */ 3]; return rows.filter((row) => row > 1).length\n```",
    ):
        assert (await bench.run(code))["result"] == 2
    [found] = await bench.search()
    assert (found["reuse_count"], "other_versions" in found) == (2, False)
    await bench.run("const all = [1, 2, 3];\nreturn all.filter((row) => row > 1).length")
    assert len((await bench.search())[0]["other_versions"]) == 1


SECRETS = {
    "a literal": (f"const key = '{GITHUB}'; return key.length", GITHUB),
    "a property": ("return { user: 'bob', password: 'hunter2' }.password.length", "hunter2"),
    "a sum": ("return ('ghp_' + '0123456789abcdefghij' + 'ABCDEFGHIJ').length", "0123456789abcdefghij"),
    "a template": (f"return `token ${{1 + 1}} {GITHUB}`.length", GITHUB),
    "a template of constants": (
        "return `ghp_${'0123456789abcdefghijABCDEFGHIJ'}`.length",
        "0123456789abcdefghijABCDEFGHIJ",
    ),
    "a comment": (f"// {GITHUB}\nreturn 1", GITHUB),
    "a url": ("return 'postgres://bob:s3cr3t@db.example/x'.length", "s3cr3t"),
    "a header": (
        "return { headers: { Authorization: 'Bearer abc123def456' } }.headers.Authorization.length",
        "abc123def456",
    ),
    "a default of the header": (f"const {{ token = '{GITHUB}' }} = context; return token.length", GITHUB),
    "a default": ("const f = (apiKey = 'k3y-of-mine') => apiKey.length; return f()", "k3y-of-mine"),
    "a setter": ("return new Map().set('api_key', 'k3y-of-mine').size", "k3y-of-mine"),
    "an assignment": ("const o: any = {}; o.clientSecret = 'qwerty99'; return o.clientSecret.length", "qwerty99"),
    "a random text": ("return ['zX81kQ0pLmN4vB7wR2tY6uI9'].length", "zX81kQ0pLmN4vB7wR2tY6uI9"),
}


def _stored(app: App) -> str:
    kinds = ("capability", "capability_code", "capability_vectors")
    return json.dumps([[one.key, one.value] for kind in kinds for one in every(app.records, LOCAL, kind)])


@each("name", SECRETS)
async def test_code_with_a_secret_is_not_learned(bench: Workbench, name: str) -> None:
    bench.forget()
    code, secret = SECRETS[name]
    await bench.run(code, f"use {GITHUB} and password=hunter2 for it")
    assert bench.app.tools.capabilities.all(LOCAL) == []
    assert secret not in _stored(bench.app)


async def test_a_secret_of_the_intent_is_stored_nowhere(bench: Workbench) -> None:
    await bench.run("return 7", f"use {GITHUB} and password=hunter2 for it")
    stored = _stored(bench.app)
    assert "for it" in stored
    assert GITHUB not in stored
    assert "hunter2" not in stored


@each(
    "code",
    [
        f"return {{ '{GITHUB}': 1 }} && 2",
        f"return /{GITHUB}/.test('x')",
        f"const {GITHUB} = 1; return 2",
        f"const a = 'ghp_'; const b = '{GITHUB[4:]}'.slice(0); return (a + '{'abcdefgh' * 3}').length",
        f"const a = 'ghp_'; return `${{a}}{'abcdefgh' * 3}`.length",
        f"return ['ghp_', '{'abcdefgh' * 3}'].join('').length",
        f"const f = (context) => context; return f('{GITHUB}').length",
        f"return String.raw`{GITHUB}`.length // {'x' * 40_000}",
    ],
)
async def test_code_with_a_secret_in_pieces_or_odd_places_is_not_learned(bench: Workbench, code: str) -> None:
    await bench.run(code)
    assert await bench.search() == []
    assert GITHUB not in _stored(bench.app)


async def test_code_that_is_too_long_runs_and_is_not_learned(bench: Workbench) -> None:
    await bench.run("const f = () => 1;\n" + "f();\n" * 9000 + "return 1")
    assert await bench.search(INTENT) == []
