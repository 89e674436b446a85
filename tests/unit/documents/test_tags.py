"""The tags of a document, from its front matter, its comments and its text."""

from loci.markdown.markdown import parse
from loci.markdown.tags import normal_tag
from tests.support.each import each


def tags(text: str) -> tuple[str, ...]:
    return parse("notes/a.md", text.encode()).tags


@each(
    "field",
    [
        "tags: [Web Sites, b]",
        "tags: Web Sites, b",
        "tags:\n  - Web Sites\n  - '#b'",
        "tags: '#Web-Sites #b'",
        "Tags: ['web  sites', B, b]",
    ],
)
def test_front_matter_has_them_as_a_list_or_a_line(field: str) -> None:
    assert tags(f"---\n{field}\n---\n") == ("web-sites", "b")


def test_a_comment_has_them_anywhere() -> None:
    assert tags("one <!-- tags: A, b c -->\n\n<!-- Tags:\nd -->\n") == ("a", "b-c", "d")


def test_relations_in_the_comment_are_no_tags() -> None:
    assert tags("<!-- tags: [implements: brief-auth], a -->") == ("a",)


def test_other_comments_have_none() -> None:
    assert tags("<!-- #todo tagsoup: a -->") == ()


def test_text_has_them_behind_a_hash() -> None:
    assert tags("#first and (#second), #area/sub, #snake_case, #größe, #2026-plan.") == (
        "first", "second", "area/sub", "snake_case", "größe", "2026-plan",
    )  # fmt: skip


@each(
    "text",
    [
        "#123",
        "# Heading",
        "## Two",
        "C# a#b",
        "http://x.org/#part",
        "[a](#part)",
        "[[note#part]]",
        "[[#part]]",
        "&#38;",
        "`#code`",
        "``a `#code` b``",
        "```\n#code\n```",
        "- x\n\n      #code\n",
        "#",
        "##no",
        "\\#no",
        "#a1b2c3",
        "color: #fff000;",
    ],
)
def test_not_every_hash_is_one(text: str) -> None:
    assert tags(text) == ()


def test_each_is_told_once_those_of_the_front_matter_first() -> None:
    assert tags("---\ntags: [b]\n---\n#a #B\n") == ("b", "a")


@each(("said", "kept"), [(" #Web  Sites ", "web-sites"), ("C++", "c++"), ("Cafe\u0301", "café"), ("#", "")])
def test_a_tag_has_one_form(said: str, kept: str) -> None:
    assert normal_tag(said) == kept


def test_a_line_of_a_million_hashes_is_no_tag() -> None:
    assert tags("#a " * 500_000) == ()
