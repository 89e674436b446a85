"""Parsing a document: its title, headings, tags, date and blocks, and the problems in it."""

from loci.markdown.markdown import ParsedDocument, parse
from tests.support.each import each


def parsed(text: str | bytes, path: str = "notes/a.md") -> ParsedDocument:
    return parse(path, text if isinstance(text, bytes) else text.encode())


def headings(text: str) -> list[tuple[int, str, int]]:
    return [(one.level, one.title, one.line) for one in parsed(text).headings]


def texts(one: ParsedDocument) -> list[str]:
    return [one.text[block.start : block.end] for block in one.blocks]


@each(
    ("text", "title"),
    [
        ("---\ntitle: From above\n---\n# Heading\n", "From above"),
        ("text\n\n# Heading\n", "Heading"),
        ("## Shiny new things\n\n# Heading\n", "Heading"),
        ("text\n\n## Shiny new things\n", "a"),
        ("# \n\ntext", "a"),
        ("text", "a"),
        ("---\ntitle:\n---\ntext", "a"),
        ("---\ntitle: 'Auth: the fix'\n---\n", "Auth: the fix"),
    ],
)
def test_the_title_is_that_of_the_front_matter_else_a_heading_of_level_one_else_the_name(text: str, title: str) -> None:
    assert parsed(text).title == title


def test_headings_have_their_lines() -> None:
    assert headings("---\na: b\n---\n# One\n\ntext\n\n## Two ##\n") == [(1, "One", 4), (2, "Two", 8)]


def test_underlined_headings_count() -> None:
    assert headings("One\n===\n\nTwo\n---\n") == [(1, "One", 1), (2, "Two", 4)]


@each("code", ["```\n# no\n```", "~~~sh\n# no\n~~~", "    # no", "`#` no", "> # quoted"])
def test_what_looks_like_a_heading_in_code_or_a_quotation_is_none(code: str) -> None:
    assert headings(f"# Yes\n\n{code}\n") == [(1, "Yes", 1)]


def test_a_heading_is_told_without_its_markup() -> None:
    assert headings("# The **`run`** of [us](x.md), [[b|them]] and [[it]]\n")[0][1] == "The run of us, them and it"


@each(
    ("heading", "title"),
    [
        ("pino-http&nbsp;&nbsp;[![Build Status](https://x.dev/ci.svg)](https://x.dev/ci)", "pino-http"),
        ("![Logo](logo.png) Loci ![v1](https://x.dev/v1.svg) & more", "Loci & more"),
        ("![Loci, the library](logo.png)", "Loci, the library"),
        ("Links to ![[Picture.png]]", "Links to Picture.png"),
        ("A &lt;b&gt; c", "A <b> c"),
    ],
)
def test_badges_are_no_part_of_a_heading(heading: str, title: str) -> None:
    assert parse("a.md", f"# {heading}\n\ntext\n".encode()).title == title


def test_names_with_underscores_stay_whole_in_headings() -> None:
    assert headings("# snake_case_name and _this_\n")[0][1] == "snake_case_name and this"


def test_every_block_has_its_headings() -> None:
    one = parsed("before\n\n# A\n\nin a\n\n## B\n\nin b\n\n# C\n\nin c\n")
    assert [block.heading for block in one.blocks] == [(), ("A",), ("A", "B"), ("C",)]


def test_a_title_that_is_no_heading_is_above_all_headings() -> None:
    one = parsed("---\ntitle: T\n---\n# A\n\ntext\n")
    assert [block.heading for block in one.blocks] == [("T", "A")]


def test_the_name_of_the_file_is_above_the_headings_if_there_is_no_other_title() -> None:
    text = "text\n\n## Shiny new things\n\nmore\n"
    assert [block.heading for block in parsed(text, "n/Graph view.md").blocks] == [
        ("Graph view",),
        ("Graph view", "Shiny new things"),
    ]
    assert [block.heading for block in parsed(text, "n/0042.md").blocks] == [(), ("Shiny new things",)]


def test_a_front_matter_without_a_text_is_a_passage() -> None:
    one = parsed("---\ndescription: a pangolin\n---\n", "n/Pangolin.md")
    assert [(text, block.heading) for text, block in zip(texts(one), one.blocks, strict=True)] == [
        ("---\ndescription: a pangolin\n---", ("Pangolin",))
    ]


def test_a_title_that_is_the_first_heading_is_said_once() -> None:
    one = parsed("---\ntitle: A\n---\n# A\n\ntext\n")
    assert [block.heading for block in one.blocks] == [("A",)]


def test_a_heading_with_nothing_below_it_is_text_of_the_section_above() -> None:
    one = parsed("# A\n\n## B\n\n## C\n\ntext\n")
    assert [(text, block.heading) for text, block in zip(texts(one), one.blocks, strict=True)] == [
        ("## B", ("A",)),
        ("text", ("A", "C")),
    ]


def test_all_text_is_in_some_block() -> None:
    text = "a\n\n- b\n  - c\n\n> d\n\n```\ne\n\nf\n```\n\n| g | h |\n|---|---|\n| i | j |\n\n<div>k</div>\n\n[l]: http://m\n"
    joined = "\n".join(texts(parsed(text)))
    assert [letter for letter in "abcdefghijklm" if letter not in joined] == []


def test_a_list_comes_in_items() -> None:
    assert texts(parsed("- one\n  more\n- two\n\n1. three\n")) == ["- one\n  more", "- two", "1. three"]


def test_a_table_stays_together_whatever_is_above_it() -> None:
    one = parsed("Text:\n| a | b |\n|---|:-:|\n| 1 | 2 |\n")
    assert [(text, block.kind) for text, block in zip(texts(one), one.blocks, strict=True)] == [
        ("Text:", "prose"),
        ("| a | b |\n|---|:-:|\n| 1 | 2 |", "lines"),
    ]


@each(
    "talk",
    [
        "Ann: hi\n\nBob: hello\n\nAnn: bye\n",
        "Ann: hi\nBob: hello\nAnn: bye\n",
        "**Ann:** hi\n\n**Bob**: yes\n\n[10:32] Ann: no\n",
    ],
)
def test_turns_of_a_conversation_are_told_apart(talk: str) -> None:
    assert [block.kind for block in parsed(talk).blocks] == ["turn"] * 3


def test_two_paragraphs_that_begin_with_a_word_and_a_colon_are_no_conversation() -> None:
    assert [block.kind for block in parsed("Note: this\n\nHint: that\n").blocks] == ["prose", "prose"]


@each(
    "text",
    [
        "# A\n\nNote: one\n\nText\n\nWarning: two\n\nText\n\nText\n\nNote: three\n\nText\n\nWarning: four\n",
        "# A\n\n**Apple:** a fruit\n\n**Pear:** a fruit\n\n**User:** who eats it\n",
        "# A\n\nName: Ann\nRole: user\n\nName: Bob\nRole: user\n",
        "# A\n\n- User: who asks\n- Assistant: who answers\n",
        "# A\n\n## f\n\nArguments:\n\n- x\n\nReturns: y\n\n## g\n\nArguments:\n\n- x\n\nReturns: y\n",
        "# A\n\n## 1.1\n\n### Added\n\nx\n\n### Fixed\n\ny\n\n## 1.0\n\n### Added\n\nx\n\n### Fixed\n\ny\n",
        "# A\n\n## User\n\nhas a name\n\n## Group\n\nhas users\n",
        "# A\n\n```\nUser: hi\n\nAssistant: hello\n```\n\n| User: | Assistant: |\n|---|---|\n| a | b |\n",
    ],
)
def test_what_only_looks_like_a_conversation_is_none(text: str) -> None:
    one = parsed(text)
    assert all(block.after is None for block in one.blocks)
    assert [heading.level for heading in one.headings] == [line.count("#") for line in text.split("\n") if "#" in line]


def test_a_plain_text_has_no_headings() -> None:
    one = parsed("# no heading\nstill\n\nsecond\n", "notes/a.txt")
    assert (one.title, one.headings, texts(one)) == ("a", (), ["# no heading\nstill", "second"])


@each("text", ["a\r\nb\r\n", "a\rb\r", "\ufeffa\nb\n"])
def test_line_ends_and_a_byte_order_mark_do_not_matter(text: str) -> None:
    one = parsed(text)
    assert (one.text, one.lines) == ("a\nb\n", 2)


@each(("text", "lines"), [("", 0), ("\n", 1), ("a", 1), ("a\n", 1), ("a\n\nb", 3), ("a\u2028b\x0cc", 1)])
def test_lines_are_counted_as_editors_do(text: str, lines: int) -> None:
    assert parsed(text).lines == lines


def test_what_is_not_utf_8_is_told_with_its_line() -> None:
    [problem] = parsed(b"one\ntwo\ncaf\xe9\n").problems
    assert problem.line == 3


def test_nul_is_told_with_its_line() -> None:
    one = parsed(b"one\nt\0o\n")
    assert (one.problems[0].line, "\0" in one.text) == (2, False)


@each(
    ("text", "path", "date"),
    [
        ("---\ndate: 2026-01-17\n---\n# 2025-01-01\n", "n/2024-01-01-x.md", "2026-01-17"),
        ("---\ncreated: 2026-01-17T10:00:00Z\n---\n", "n/x.md", "2026-01-17"),
        ("# 2025-01-01 Standup\n", "n/2026-01-17-x.md", "2026-01-17"),
        ("# 2025-01-01 Standup\n", "n/x.md", "2025-01-01"),
        ("---\ndate: soon\n---\n", "n/2026-01-17.md", "2026-01-17"),
        ("In 2026-01-17 it was\n", "n/x.md", None),
        ("text", "2026-01-17/x.md", None),
    ],
)
def test_the_date_is_that_of_the_front_matter_else_the_name_else_the_first_heading(
    text: str, path: str, date: str | None
) -> None:
    found = parsed(text, path).date
    assert (found and found.day) == date


@each("text", ["> " * 5000 + "x", "- " * 5000 + "x", "[" * 50_000, "*" * 50_000, "`" * 50_000, "<" * 50_000])
def test_deep_nesting_is_text(text: str) -> None:
    assert parsed(text).blocks
