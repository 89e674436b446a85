"""Scanners find what a pattern or markdown-it would find, on every text but the ones that would take them minutes."""

import re

from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from markdown_it.token import Token

from loci.markdown.links import inline_links
from loci.markdown.outline import EMPHASIS, TABLE_RULE
from loci.markdown.scanners import (
    comments,
    without_brackets,
    without_code_spans,
    without_comments,
)

COMMENT = re.compile(r"<!--(.*?)-->", re.DOTALL)
CODE = re.compile(r"(?<!`)(`+)(?!`).*?(?<!`)\1(?!`)")
SLOW_RULE = re.compile(r"\s*\|?\s*:?-+:?\s*(?:\|\s*:?-+:?\s*)*\|?\s*")
SLOW_EMPHASIS = re.compile(r"[*`]+|(?<!\w)_+|_+(?!\w)")
PIECES = "[ ] [[ ]] | ( ) ! a b: : _ * ` `` - -- <!-- --> é [a:b] [a](b)"
SPACES = (" ", "\n", "\t")
TEXTS = st.lists(st.sampled_from((*PIECES.split(), *SPACES)), max_size=14).map("".join)
REFERENCES = {"FOO": {"href": "foo.md", "title": ""}, "A B": {"href": "ab.md", "title": ""}}
WELL_FORMED = """
[foo]; [a b]; [x](y.md); ![i](p.png); [[w]]; [w|t]; `code [x](y.md)`; ``a ` b``; <b class='x'>; </b>; <a@b.c>;
<http://x.y>; \\[x](y.md); [t][foo]; [t][none]; [foo][]; [a `]` b](z.md); [t](<a b.md> "title");
[t](a(b)c.md 'it'); [t](q.md (t)); [![i](p.png)](r.md); *_a_*; &amp; ; [a
b](c.md); [x](data:,a); é; a < b; 2 > 1; [ ]; [x] y; (a); [t](a b.md); !
"""
PARAGRAPHS = st.lists(st.sampled_from(WELL_FORMED.strip().split("; ")), max_size=8).map(" ".join)


@given(TEXTS)
@settings(max_examples=300, deadline=None)
def test_scanners_find_what_the_patterns_find(text: str) -> None:
    line = text.replace("\n", " ")
    assert [one[1] for one in comments(text)] == COMMENT.findall(text)
    assert without_comments(text) == COMMENT.sub("", text)
    assert without_code_spans(line) == CODE.sub("", line)
    assert without_brackets(text) == re.sub(r"\[[^\]]*\]", "", text)
    assert EMPHASIS.sub("", text) == SLOW_EMPHASIS.sub("", text)
    assert bool(TABLE_RULE.fullmatch(line)) == bool(SLOW_RULE.fullmatch(line))


@given(PARAGRAPHS)
@settings(max_examples=300, deadline=None)
def test_links_are_those_of_markdown_it(text: str) -> None:
    markdown, tokens = MarkdownIt("commonmark"), list[Token]()
    markdown.inline.parse(text, markdown, {"references": REFERENCES}, tokens)
    wanted = [one.attrs["href"] for one in tokens if one.type == "link_open" and one.info != "auto"]
    assert [destination for _, destination, _ in inline_links(text, REFERENCES)] == wanted


def test_a_link_is_on_its_line_whatever_is_above_it() -> None:
    text = "`code\nover lines` ![a\nb](c.png 'a\ntitle')\n[d](e.md)"
    assert list(inline_links(text, {})) == [(4, "e.md", text.index("[d]"))]
