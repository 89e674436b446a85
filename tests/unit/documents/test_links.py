"""The links of a document: which forms count, their lines, and their relations."""

from loci.markdown.front_matter import read_front_matter
from loci.markdown.links import mentions_in
from loci.markdown.nouns import Mention
from loci.markdown.outline import outline_of_markdown
from tests.support.each import each


def mentions(text: str) -> list[Mention]:
    lines = text.split("\n")
    matter = read_front_matter(lines)
    return list(mentions_in(lines, outline_of_markdown(lines, matter.lines), matter.lines, is_markdown=True))


def targets(text: str) -> list[str]:
    return [one.target for one in mentions(text)]


@each(
    ("text", "target", "anchor"),
    [
        ("[[Auth Guide]]", "Auth Guide", None),
        ("[[Auth Guide|the guide]]", "Auth Guide", None),
        ("[[Auth Guide#Errors]]", "Auth Guide", "Errors"),
        ("[[Auth Guide#Errors|errors]]", "Auth Guide", "Errors"),
        ("[[Auth Guide^b12]]", "Auth Guide", "^b12"),
        ("[[Auth Guide#^b12]]", "Auth Guide", "^b12"),
        ("![[diagram.md]]", "diagram.md", None),
        ("| a |\n|---|\n| [[Auth\\|x]] |", "Auth", None),
        ("- item\n  - [[Auth]]", "Auth", None),
        ("> [[Auth]]", "Auth", None),
        ("# About [[Auth]]", "Auth", None),
        ("[t](auth.md)", "auth.md", None),
        ("[t](../a/auth.md#errors)", "../a/auth.md", "errors"),
        ("[t](/auth.md 'Title')", "/auth.md", None),
        ("[t](a%20b.md)", "a b.md", None),
        ("[t](<a b.md>)", "a b.md", None),
        ("[t](auth)", "auth", None),
        ("[t](auth.md?plain=1)", "auth.md", None),
        ("[a *b* `c`](auth.md)", "auth.md", None),
        ("see [t][r]\n\n[r]: auth.md", "auth.md", None),
        ("see [r][]\n\n[R]: <a b.md> 'Title'", "a b.md", None),
        ("see [r]\n\n[r]: ./auth.md", "./auth.md", None),
    ],
)
def test_every_form_is_found(text: str, target: str, anchor: str | None) -> None:
    [one] = mentions(text)
    assert (one.target, one.anchor, one.relation) == (target, anchor, "references")


@each(
    "text",
    [
        "`[[code]]`",
        "```\n[[code]] [t](code.md)\n```",
        "    [[code]]",
        "[web](https://example.com/a.md)",
        "[mail](mailto:a@example.com)",
        "[[https://example.com]]",
        "<https://example.com/a.md>",
        "[here](#heading)",
        "[[#heading]]",
        "\\[t](auth.md)",
        "[unknown][r]",
        "[[]] [[ ]] []()",
        "---\ntitle: none\ndate: 2026-01-01\n---\ntext",
    ],
)
def test_what_is_no_link_is_none(text: str) -> None:
    assert mentions(text) == []


def test_each_has_its_line_and_the_line_is_the_evidence() -> None:
    found = mentions("---\nfollows: x\n---\n# T\n\none\ntwo [t](a.md)\nthree [[b]]\n")
    assert [(one.target, one.line, one.evidence) for one in found] == [
        ("x", 2, "follows: x"),
        ("a.md", 7, "two [t](a.md)"),
        ("b", 8, "three [[b]]"),
    ]


@each(
    ("matter", "said"),
    [
        ("follows: brief-auth", [("brief-auth", "follows")]),
        ('follows: "[[brief-auth|b]]"', [("brief-auth", "follows")]),
        ("follows: [[brief-auth]]", [("brief-auth", "follows")]),
        ("implements: [spec-a, spec-b]", [("spec-a", "implements"), ("spec-b", "implements")]),
        ("related:\n  - one\n  - '[[two]]'", [("one", "references"), ("two", "references")]),
        ("author: ann\nsource: '[[three]]'", [("three", "references")]),
    ],
)
def test_fields_say_as_what(matter: str, said: list[tuple[str, str]]) -> None:
    assert [(one.target, one.relation) for one in mentions(f"---\n{matter}\n---\ntext")] == said


def test_what_stands_below_implements_is_implemented() -> None:
    text = "[[a]]\n\n## Implements\n\n[[b]]\n\n### Parts\n\n[c](c.md)\n\n## Else\n\n[[d]]"
    said = {one.target: one.relation for one in mentions(text)}
    assert said == {"a": "references", "b": "implements", "c.md": "implements", "d": "references"}


def test_the_comments_of_the_reference_are_read() -> None:
    said = {one.target: one.relation for one in mentions("<!-- tags: a, [IMPLEMENTS: spec], [CITES: note], [x: y] -->")}
    assert said == {"spec": "implements", "note": "references"}


def test_one_target_counts_once_a_line() -> None:
    assert targets("[[a]] and [[A]] and [[a|again]]\n[[a]]") == ["a", "a"]
