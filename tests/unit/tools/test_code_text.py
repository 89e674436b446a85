"""Which spellings of code are one code. Never may two codes be one."""

import pytest

from loci.gateway.capabilities.code_text import has_secret, identity_of
from tests.support.each import each


@each(
    ("one", "other"),
    [
        ("a + b", "a+b"),
        ("f( a , b )", "f(a,b)"),
        ("f(a) // c's", "/* `x */ f(a)"),
        ("const a = [\n  1,\n  2\n];", "const a = [1, 2];"),
        ("if (a) {\n  b();\n}", "if(a){b();}"),
        ("a.replace(/x y/g, 'b c')", "a.replace( /x y/g,'b c' )"),
        ("`a ${b} // c`; d", "`a ${b} // c`;  d // e"),
        ("return n / 2; // half", "return n/2;"),
        ("'https://a.example' // b", "'https://a.example'"),
    ],
)
def test_comments_and_white_space_make_no_other_code(one: str, other: str) -> None:
    assert identity_of(one) == identity_of(other)


@each(
    ("one", "other"),
    [
        ("'a  b'", "'a b'"),
        ("`a  b`", "`a b`"),
        ("/a  b/.test(c)", "/a b/.test(c)"),
        ("return\nx", "return x"),
        ("return\n(x)", "return (x)"),
        ("a[0]\n++b", "a[0]++\nb"),
        ("a++ + b", "a + ++b"),
        ("a - -b", "a-- - b"),
        ("a[0]\n!b()", "a[0]!\nb()"),
        ("break\n/[/*]/.test(a); b()", "break\n/[/*]/.test(a); c()"),
        ("if (a) /[/*]/.test('*/'); b()", "if (a) /[/*]/.test('*/'); c()"),
        ("if (a) /`/.test(b)\nc() // `", "if (a) /`/.test(b)\nd() // `"),
        ("return /[//]/.test(a) && b", "return /[//]/.test(a) && c"),
        ("(a as B<C>) / 2 /* http://x */ ; b()", "(a as B<C>) / 2 /* http://x */ ; c()"),
        ("a as B<C> / 2 /* http://x */ ; b()", "a as B<C> / 2 /* http://x */ ; c()"),
        ("x.return / 2 /* http://x */ + a", "x.return / 2 /* http://x */ + b"),
        ("`${/}`/.test('`')} // ${a}`", "`${/}`/.test('`')} // ${b}`"),
        ("let a: number[]\n/[/*]/.test(b); c()", "let a: number[]\n/[/*]/.test(b); d()"),
        ("<!-- a)\nb()", "<!-- a)b()"),
        ("a\n`b`", "a`b`"),
        ("async\n(a) => b", "async (a) => b"),
        ("ab", "a b"),
        ("rows", "all"),
    ],
)
def test_two_codes_are_never_one(one: str, other: str) -> None:
    assert identity_of(one) != identity_of(other)


@pytest.mark.parametrize(
    "code", ["(" * 30_000, "a/" * 16_000, "`${" * 10_000, ")/" * 16_000, "/*" * 16_000, "'" * 30_001]
)
def test_the_time_is_linear(code: str) -> None:
    assert identity_of(code) == identity_of(code)
    assert not has_secret(code)


@each(
    "code",
    [
        "const token = context.token; f(token)",
        "const { password } = context; login(password)",
        "f('a long text of words')",
    ],
)
def test_a_name_is_no_secret(code: str) -> None:
    assert not has_secret(code)
