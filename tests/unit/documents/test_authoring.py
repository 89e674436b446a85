"""Text added to documents or put in place of a part of them: all other bytes stay."""

import pytest

from loci.authoring.edit_draft import append, create, replace_all, replace_section
from loci.core.errors import NotFound, Refused
from tests.support.each import each

NOTE = """\
---
title: Login
---
# Login

Before.

## Errors

One.

### Codes

Two.

## After

Three.

<!-- tags: a -->
"""


def test_a_new_document_ends_with_one_line_end() -> None:
    assert create("# A\r\n\r\nB\r\n\r\n") == b"# A\n\nB\n"


@each("content", [b"A\n", b"A\n\n\n", b"A\r\n", b"\xef\xbb\xbfA\n", b"\xff\n", b"A"])
def test_what_was_there_stays_when_text_is_added(content: bytes) -> None:
    after = append("a.md", content, "New.\n", None)
    stem = content.rstrip()
    assert after.startswith(stem)
    assert after.endswith(content[len(stem) :])
    assert after[len(stem) :].split() == [b"New."]


def test_text_is_added_before_the_last_comment_with_tags() -> None:
    after = append("a.md", NOTE.encode(), "Four.", None).decode()
    assert after == NOTE.replace("Three.\n", "Three.\n\nFour.\n")


def test_text_is_added_to_a_section() -> None:
    after = append("a.md", NOTE.encode(), "More.", "Errors").decode()
    assert after == NOTE.replace("Two.\n", "Two.\n\nMore.\n")


def test_text_is_added_to_an_empty_document() -> None:
    assert append("a.md", b"", "A", None) == b"A\n"
    assert append("a.md", b"<!-- tags: a -->\n", "A", None) == b"A\n\n<!-- tags: a -->\n"


def test_a_section_is_replaced_with_what_is_below_it() -> None:
    after = replace_section("a.md", NOTE.encode(), "Nothing.\n", "Errors").decode()
    assert after == NOTE.replace("One.\n\n### Codes\n\nTwo.\n", "Nothing.\n")


def test_the_last_section_keeps_the_comment_with_tags() -> None:
    after = replace_section("a.md", NOTE.encode(), "Four.", "After").decode()
    assert after == NOTE.replace("Three.", "Four.")


def test_a_section_may_bring_its_heading() -> None:
    after = replace_section("a.md", NOTE.encode(), "## Failures\n\nNone.", "Errors").decode()
    assert after == NOTE.replace("## Errors\n\nOne.\n\n### Codes\n\nTwo.\n", "## Failures\n\nNone.\n")


def test_a_section_can_be_emptied() -> None:
    after = replace_section("a.md", NOTE.encode(), "", "Errors").decode()
    assert after == NOTE.replace("\nOne.\n\n### Codes\n\nTwo.\n", "")


@each(
    ("before", "after"),
    [
        ("Title\n=====\nOld.\n", "Title\n=====\n\nNew.\n"),
        ("Title\r\nof two\r\n---\r\nOld.\r\n", "Title\r\nof two\r\n---\r\n\r\nNew.\r\n"),
        ("# Title", "# Title\n\nNew.\n"),
        ("# Title\nOld.\n# Other\n", "# Title\n\nNew.\n\n# Other\n"),
    ],
)
def test_headings_of_every_kind_stay(before: str, after: str) -> None:
    heading = "Title of two" if "two" in before else "Title"
    assert replace_section("a.md", before.encode(), "New.", heading).decode() == after


def test_the_line_ends_are_those_of_the_document() -> None:
    assert replace_all(b"\xef\xbb\xbfA\r\nB\r\n", "C\nD") == b"\xef\xbb\xbfC\r\nD\r\n"
    assert append("a.md", b"# A\r\n", "C\nD", "A") == b"# A\r\n\r\nC\r\nD\r\n"


@each("content", [b"A", b"A\n\n\n", b"\xef\xbb\xbfA\r\nB\nC\r", b"caf\xe9\n", b"A\0\n", b"# A\n\n\n\n## B\n\n\n"])
def test_a_text_that_is_written_as_it_was_read_changes_no_byte(content: bytes) -> None:
    read = content.decode(errors="replace")
    for text in (read, read.replace("\r\n", "\n").replace("\r", "\n"), read.removeprefix("\ufeff")):
        assert replace_all(content, text) == content


def test_a_section_that_is_written_as_it_was_read_changes_no_byte() -> None:
    content = b"# A\r\n\r\n## B\r\n\r\nText.\r\n\r\n\r\n## C\r\n\r\nMore.\r\n<!-- tags: a -->"
    assert replace_section("a.md", content, "## B\r\n\r\nText.\r\n\r\n", "B") == content
    assert replace_section("a.md", content, "## C\n\nMore.\n<!-- tags: a -->", "C") == content


def test_a_new_text_has_one_byte_order_mark_and_ends_as_the_old_one() -> None:
    assert replace_all(b"\xef\xbb\xbfA\n", "\ufeffB\n") == b"\xef\xbb\xbfB\n"
    assert replace_all(b"A", "B") == b"B"
    assert replace_all(b"A", "B\n") == replace_all(b"A\n", "B") == b"B\n"


def test_an_unknown_heading_is_told_with_those_that_are_there() -> None:
    with pytest.raises(NotFound) as failure:
        replace_section("a.md", NOTE.encode(), "x", "Eror")
    assert "'Errors'" in str(failure.value)


@each("text", ["```\nno end", "<!-- no end", "~~~"])
def test_text_that_hides_other_headings_is_refused(text: str) -> None:
    with pytest.raises(Refused) as refusal:
        replace_section("a.md", NOTE.encode(), text, "Errors")
    assert refusal.value.code == "BAD_TEXT"
