"""A document as elements: what markdown makes of it, where its links lead, and that nothing in it takes effect."""

import json
from collections.abc import Iterator
from typing import Any, cast

import pytest

from loci.core.json import Json
from loci.markdown import readable as module
from loci.markdown.nouns import Mention
from loci.markdown.readable import readable
from tests.support.each import each

KNOWN = {"Other": "notes-other", "other.md": "notes-other", "Grüße.md": "notes-gruesse"}
MADE = {
    *("p", "h1", "h2", "h3", "h4", "h5", "h6", "ul", "ol", "li", "blockquote", "hr", "br", "pre", "code", "a", "span"),
    *("table", "thead", "tbody", "tr", "th", "td", "em", "strong", "s"),
}


def elements(text: str) -> list[Json]:
    def resolve(mention: Mention) -> str | None:
        return KNOWN.get(mention.target)

    return readable(text.split("\n"), resolve)


def walked(nodes: list[Json]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Each element with its attributes."""
    for node in nodes:
        if isinstance(node, list):
            name, attributes, *inside = node
            yield cast("str", name), cast("dict[str, Any]", attributes)
            yield from walked(inside)


def links(text: str) -> list[dict[str, Any]]:
    return [attributes for name, attributes in walked(elements(text)) if name == "a"]


def test_blocks_and_what_is_in_them() -> None:
    assert elements("# A *b*\n\n1. c\n2. `d`\n") == [
        ["h1", {}, "A ", ["em", {}, "b"]],
        ["ol", {}, ["li", {}, ["p", {}, "c"]], ["li", {}, ["p", {}, ["code", {}, "d"]]]],
    ]
    assert elements("```py\n<b>\n```\n\n---\n\n3. x")[:2] == [["pre", {}, "<b>\n"], ["hr", {}]]
    assert ["ol", {"start": 3}, ["li", {}, ["p", {}, "x"]]] in elements("3. x")
    names = [name for name, _ in walked(elements("| a |\n|---|\n| ~~b~~ |\n\n> **q**\n"))]
    assert names == ["table", "thead", "tr", "th", "tbody", "tr", "td", "s", "blockquote", "p", "strong"]


@each(
    ("text", "leads"),
    [
        ("[[Other]]", {"to": "notes-other"}),
        ("[[Other#Part|label]]", {"to": "notes-other", "part": "Part"}),
        ("[[Other#Whole#Part]]", {"to": "notes-other", "part": "Part"}),
        ("[[Other#^block]]", {"to": "notes-other"}),
        ("[[#My part]]", {"part": "My part"}),
        ("![[Other]]", {"to": "notes-other"}),
        ("| a |\n|---|\n| [[Other\\|x]] |", {"to": "notes-other"}),
        ("[o](other.md#my%20part)", {"to": "notes-other", "part": "my part"}),
        ("[g](Gr%C3%BC%C3%9Fe.md)", {"to": "notes-gruesse"}),
        ("[o][r]\n\n[r]: other.md", {"to": "notes-other"}),
        ("[[Nowhere]]", {"missing": "Nowhere"}),
        ("[n](nowhere.md)", {"missing": "nowhere.md"}),
        ("[w](https://example.org/a?b=c)", {"url": "https://example.org/a?b=c"}),
        ("<https://example.org/>", {"url": "https://example.org/"}),
        ("<me@example.org>", {"url": "mailto:me@example.org"}),
        ("[part](#part)", {"part": "part"}),
        ("[top](#)", dict[str, str]()),
    ],
)
def test_where_links_lead(text: str, leads: dict[str, str]) -> None:
    assert links(text) == [leads]


def test_a_note_stays_in_the_text() -> None:
    for note in ("word", "two words"):
        assert elements(f"a [^1]\n\n[r]: other.md\n[^1]: {note}") == [["p", {}, "a [^1]"], ["p", {}, f"[^1]: {note}"]]


def test_a_picture_is_named_and_not_loaded() -> None:
    assert elements("![a map](http://evil.test/map.png)") == [
        ["p", {}, ["a", {"url": "http://evil.test/map.png", "picture": True}, "a map"]]
    ]


@each(
    "text",
    [
        "<script>alert(1)</script>",
        "a <img src=x onerror=alert(1)> b",
        "<svg onload=alert(1)><script>alert(1)</script></svg>",
        "<!-- x --><iframe src='javascript:alert(1)'>",
        "<style>*{display:none}</style>\n\n<base href=//evil.test>\n\n<form action=//evil.test><button>",
        "`<b onclick=x>`\n\n    <u>\n\n~~~html\n<script>alert(1)</script>\n~~~",
        "| <b> |\n|---|\n| <svg/onload=alert(1)> |",
        "&lt;script&gt; &#60;script&#62;",
        '[a](other.md "onmouseover=alert(1)")',
        "[<img src=x onerror=alert(1)>](other.md)",
        "[[<img src=x onerror=alert(1)>]]",
        "[[#<img src=x onerror=alert(1)>]] [a](#<svg/onload=alert(1)>)",
    ],
)
def test_markup_stays_text(text: str) -> None:
    """The page makes only these elements, and gives them only these attributes."""
    for name, attributes in walked(elements(text)):
        assert name in MADE
        assert attributes.keys() <= {"to", "part", "url", "missing", "picture", "start"}


@each(
    "address",
    [
        "javascript:alert(1)",
        "JaVaScRiPt:alert(1)",
        "\\x01javascript:alert(1)",
        "java&#10;script:alert(1)",
        "&#106;avascript:alert(1)",
        "%6aavascript:alert(1)",
        "vbscript:x",
        "data:text/html,<script>alert(1)</script>",
        "data:image/svg+xml;base64,PHN2Zz4=",
        "data:image/png;base64,AAAA",
        "file:///etc/passwd",
        "blob:https://x/y",
        "//evil.test",
        "ftp://evil.test/",
        "https:evil",
    ],
)
def test_no_link_leads_to_a_program_or_to_another_kind_of_place(address: str) -> None:
    for text in (
        f"[a]({address})",
        f"[a](<{address}>)",
        f"![a]({address})",
        f"<{address}>",
        f"[a][r]\n\n[r]: {address}",
    ):
        for one in links(text):
            assert "url" not in one, text
            assert "to" not in one, text


def test_what_takes_too_long_is_shown_as_it_is_written(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "PATIENCE", -1.0)
    assert elements("*a*") == [["p", {}, "*a*"]]
    monkeypatch.undo()
    long = f"*{'a' * module.LONGEST_INLINE}*"
    assert elements(long) == [["p", {}, long]]


def test_hostile_nesting_ends() -> None:
    assert json.dumps(elements("> " * 20_000 + "a" + "\n" + "- " * 20_000 + "b" + "\n" + "[" * 3_000))
