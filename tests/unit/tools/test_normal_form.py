"""Which code is the same, and which is not."""

from loci.gateway.capabilities.learned_code import learned_code
from tests.support.each import each

SAME = [
    ("const a = 1; return a", "const b=1\nreturn b;"),
    ("return f('x')", 'return (f)("x")'),
    ("const g = x => x * 2; g(3)", "const g = (y) => { return y * 2 }; g(3)".replace("{ return y * 2 }", "y * 2")),
    ("return { a: 1, 'b': 2, }", "return { 'a': 1, b: 2 }"),
    ("const n: number = 5 as number; return n!", "const n = 5; return n"),
    ("const x = 1; { const x = 2; f(x) } return x", "const a = 1; { const b = 2; f(b) } return a"),
    ("const { a: one, b = 3 } = q; return [one, b]", "const { a, b: two = 3 } = q; return [a, two]"),
    ("for (const [k, v] of m) { log(k, v) }", "for (const [key, value] of m) {\n  log(key, value);\n}"),
    ("try { f() } catch (e) { g(e) }", "try { f() } catch (error) { g(error) }"),
    ("function one(a, ...rest) { return rest }\none()", "function two(b, ...more) { return more }\ntwo()"),
    ("class A { go() { return new A() } }\nnew A().go()", "class B { go() { return new B() } }\nnew B().go()"),
    ("const a = 1; return { a }", "const b = 1; return { a: b }"),
    ("{ a: 'x1', b: 2 }", "({ a: 'x1', b: 2 })"),
    ("const { path = 'a.json' } = context;\nread({ path: path })", "read({ path: 'a.json' })"),
    ("const { rows } = context; return rows.length", "return context.rows.length"),
    ("interface A { x: string }\nreturn 5", "return 5 // five"),
    ("var a = 1; if (b) { var a = 2 } return a", "var x = 1; if (b) { var x = 2 } return x"),
]
OTHER = [
    ("return 'a  b'", "return 'a b'"),
    ("fetch('https://a.example')", "fetch('https://b.example')"),
    ("await shop.add({a: 1})", "await shop.sub({a: 1})"),
    ("await shop.add({a: 1})", "await bank.add({a: 1})"),
    ("return { a: 1 }", "return { b: 1 }"),
    ("return x.name", "return x.size"),
    ("return a - b", "return b - a"),
    ("const a = 1; return a", "let a = 1; return a"),
    ("return [1, , 2]", "return [1, 2]"),
    ("return (a?.b).c", "return a?.b.c"),
    ("return a + b * c", "return (a + b) * c"),
    ("const a = f(); const b = g(); return a", "const a = f(); const b = g(); return b"),
    ("const x = 1; { const x = 2; f(x) } return x", "const x = 1; { const y = 2; f(x) } return x"),
    ("return /a b/.test(x)", "return /a  b/.test(x)"),
    ("return `a ${x} b`", "return `a ${x}  b`"),
    ("return 1", "return 1n"),
    ("f(); g()", "g(); f()"),
    ("const f = async () => 1; f()", "const f = () => 1; f()"),
    ("for (;;x++) { break }", "for (x++;;) { break }"),
    ("return context.rows", "return context.lines"),
    ("const fetch = 1; return fetch", "return fetch"),
    ("while (f()); g()", "while (f()) g()"),
    ("return '1'", "return 1"),
]


def identity(code: str) -> str:
    learned = learned_code(code)
    assert learned is not None, code
    return learned.identity


@each(("one", "other"), SAME)
def test_code_is_the_same_that_differs_in_layout_names_and_types(one: str, other: str) -> None:
    assert identity(one) == identity(other)


@each(("one", "other"), OTHER)
def test_code_is_another_that_does_something_else(one: str, other: str) -> None:
    assert identity(one) != identity(other)


@each("code", ["", "   ", "// nothing", "return (", "const = 5", "interface A {}", "\0", "<<<<"])
def test_what_is_no_code_is_not_learned(code: str) -> None:
    assert learned_code(code) is None


@each("pair", [*SAME, *OTHER])
def test_stored_code_is_learned_as_itself(pair: tuple[str, str]) -> None:
    for code in pair:
        first = learned_code(code)
        assert first is not None
        assert learned_code(first.code) == first
