"""Faster ways for plain text find the same as the full rules."""

import pytest
from markdown_it import MarkdownIt

from loci.markdown.nouns import Heading
from loci.markdown.outline import outline_of_markdown
from loci.search.words import index_words

TEXTS = (
    "One line\nand another\n\nNext",
    "A heading\n===\ntext\n\nAnother\n---\nmore",
    "Text:\n- an item\n- another\n  lazy line\n\nafter",
    "Text\n    as indented as code\n\n    code\n\ntext\n```\nfence\n```\nend",
    "> quoted\nlazy line\n> - item\nlazy item\n\n1. one\n2) two",
    "Text\n<div>\nhtml\n</div>\n\ntext\n<b>inline</b>\n***\ntext\n# Heading\ntext",
    "- item\n\n      code in it\n  text\n=====\n\n  - deeper\ntext\n----",
    "Text\n1. may interrupt\n\nText\n2. may not\n\n\ttabbed\nText\n\t> not quoted",
)
SIGNS = ("\u2014", "\u2026", "\u2192", "\u201c", "\u00a0", "\u200d", "\u00b7", "\ufe0f", "\u2011", "\uff1a", "\uff0e")


@pytest.mark.parametrize("text", TEXTS)
def test_parts_begin_where_commonmark_has_them(text: str) -> None:
    tokens = MarkdownIt("commonmark").disable(["inline", "reference"]).parse(text)
    at_top = [one for one in tokens if one.map and one.level == 0 and not one.type.endswith("_list_open")]
    items = [one for one in tokens if one.map and one.level == 1 and one.type == "list_item_open"]
    expected = sorted(one.map[0] for one in (*at_top, *items) if one.map)
    parts = outline_of_markdown(text.split("\n"), 0).parts
    assert [one.line - 1 if isinstance(one, Heading) else one.first for one in parts] == expected


@pytest.mark.parametrize("sign", SIGNS)
def test_a_sign_parts_words_as_it_does_beside_letters_outside_ascii(sign: str) -> None:
    text = f"it\u2019s foo{sign}bar re-run v1.9{sign}7 a{sign}.b"
    assert [*index_words(text), *index_words("é")] == index_words(f"{text} é")
