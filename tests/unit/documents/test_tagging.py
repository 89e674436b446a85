"""Tags added to documents: where they go, and that nothing else changes."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from loci.authoring.tagging import tagged
from loci.core.errors import Refused
from loci.markdown.markdown import parse
from loci.markdown.scanners import without_comments
from loci.markdown.tags import normal_tag
from tests.support.each import each

# A document, and what it is with the tags "new" and "also new".
CASES = {
    "no tags": ("# A\n\nText.\n", "# A\n\nText.\n\n<!-- tags: new, also-new -->\n"),
    "no final newline": ("Text.", "Text.\n\n<!-- tags: new, also-new -->"),
    "an empty line at the end": ("Text.\n\n", "Text.\n\n<!-- tags: new, also-new -->\n"),
    "nothing": ("", "<!-- tags: new, also-new -->\n"),
    "Windows": ("A\r\nB\r\n", "A\r\nB\r\n\r\n<!-- tags: new, also-new -->\r\n"),
    "comment at the end": ("A\n<!-- tags: a, b -->\n", "A\n<!-- tags: a, b, new, also-new -->\n"),
    "comment in the middle": ("<!--tags:a-->\n\nA\n", "<!--tags:a, new, also-new-->\n\nA\n"),
    "empty comment": ("A\n<!-- tags: -->\n", "A\n<!-- tags: new, also-new -->\n"),
    "comment of several lines": ("<!-- tags:\n a,\n b\n-->\nA\n", "<!-- tags:\n a,\n b, new, also-new\n-->\nA\n"),
    "comment with a relation": (
        "A\n\n<!-- tags: a [FOLLOWS: b] -->\n",
        "A\n\n<!-- tags: a [FOLLOWS: b], new, also-new -->\n",
    ),
    "comment in code": (
        "```\n<!-- tags: a -->\n```\nA\n",
        "```\n<!-- tags: a -->\n```\nA\n\n<!-- tags: new, also-new -->\n",
    ),
    "comment in a line's code": (
        "Write `<!-- tags: a -->`.\n",
        "Write `<!-- tags: a -->`.\n\n<!-- tags: new, also-new -->\n",
    ),
    "code without an end": ("# A\n\n```\ncode\n", "<!-- tags: new, also-new -->\n\n# A\n\n```\ncode\n"),
    "comment without an end": ("A\n\n<!-- here\n", "<!-- tags: new, also-new -->\n\nA\n\n<!-- here\n"),
    "flow": ("---\ntags: [a, b]\n---\nA\n", "---\ntags: [a, b, new, also-new]\n---\nA\n"),
    "empty flow": ("---\ntags: []  # none\n---\nA\n", "---\ntags: [new, also-new]  # none\n---\nA\n"),
    "flow with a last comma": ("---\ntags: [a, ]\n---\nA\n", "---\ntags: [a, new, also-new, ]\n---\nA\n"),
    "flow of several lines": (
        "---\ntags: [\n  a,\n  b # two\n]\nx: 1\n---\nA\n",
        "---\ntags: [\n  a,\n  b, new, also-new # two\n]\nx: 1\n---\nA\n",
    ),
    "list": (
        "---\ntags:\n  - a\n  - b # c\nx: 1\n---\n",
        "---\ntags:\n  - a\n  - b # c\n  - new\n  - also-new\nx: 1\n---\n",
    ),
    "list without indentation": ("---\ntags:\n- a\n---\nA\n", "---\ntags:\n- a\n- new\n- also-new\n---\nA\n"),
    "scalar": ("---\ntags: a, b\n---\nA\n", "---\ntags: a, b, new, also-new\n---\nA\n"),
    "quoted scalar": ('---\ntags: "a, b"\n---\nA\n', '---\ntags: "a, b, new, also-new"\n---\nA\n'),
    "nothing in the field": ("---\ntags:\nx: 1\n---\nA\n", "---\ntags: [new, also-new]\nx: 1\n---\nA\n"),
    "null": ("---\ntags: ~\n---\nA\n", "---\ntags: [new, also-new]\n---\nA\n"),
    "capitals": ("---\nTags: a\n---\nA\n", "---\nTags: a, new, also-new\n---\nA\n"),
    "block scalar": (
        "---\ntags: |\n  a, b\n---\nA\n",
        "---\ntags: |\n  a, b\n---\nA\n\n<!-- tags: new, also-new -->\n",
    ),
    "alias": (
        "---\nkinds: &k [a]\ntags: *k\n---\nA\n",
        "---\nkinds: &k [a]\ntags: *k\n---\nA\n\n<!-- tags: new, also-new -->\n",
    ),
    "front matter without tags": ("---\nx: 1\n---\nA\n", "---\nx: 1\n---\nA\n\n<!-- tags: new, also-new -->\n"),
    "broken front matter": ("---\nx: [\n---\nA\n", "---\nx: [\n---\nA\n\n<!-- tags: new, also-new -->\n"),
    "Windows front matter": ("---\r\ntags:\r\n- a\r\n---\r\n", "---\r\ntags:\r\n- a\r\n- new\r\n- also-new\r\n---\r\n"),
}
WANTED = ["New", "also  new"]
each_case = each(("before", "after"), [pytest.param(*case, id=name) for name, case in CASES.items()])


@each_case
def test_tags_go_where_tags_are(before: str, after: str) -> None:
    assert tagged("a.md", before.encode(), WANTED).content.decode() == after


@each_case
def test_a_byte_order_mark_stays(before: str, after: str) -> None:
    assert tagged("a.md", b"\xef\xbb\xbf" + before.encode(), WANTED).content == b"\xef\xbb\xbf" + after.encode()


@each("before", [pytest.param(before, id=name) for name, (before, _) in CASES.items()])
def test_a_strict_parser_shows_what_it_showed(before: str) -> None:
    def shown(text: str) -> str:
        body = text.partition("\n---\n")[2] if text.startswith("---") else text
        return without_comments(MarkdownIt("commonmark").render(body)).strip()

    assert shown(tagged("a.md", before.encode(), WANTED).content.decode()) == shown(before)


def test_bytes_that_are_no_text_stay() -> None:
    before = b"---\ntags: [a]\nx: \xff\n---\n\xfe\x00\r\xc3\n<!-- tags: b -->\n\x80"
    after = tagged("a.md", before, ["c"])
    assert after.content in (before.replace(b" b ", b" b, c "), before.replace(b"[a]", b"[a, c]"))


def test_tags_that_are_there_are_not_added() -> None:
    some = tagged("a.md", b"---\ntags: [One]\n---\nA #two\n", ["one", "TWO", "three"])
    assert (some.added, some.is_merged) == (("three",), True)
    assert some.content == b"---\ntags: [One, three]\n---\nA #two\n"


def test_the_first_tags_are_injected_and_further_ones_merged() -> None:
    first = tagged("a.md", b"A\n", ["one"])
    assert (first.is_merged, tagged("a.md", first.content, ["two"]).is_merged) == (False, True)


@each("tag", ["", " #, ", "a --> b", "[x]", "`x`", "a\0b", "a\u202eb"])
def test_what_would_not_be_read_again_is_refused(tag: str) -> None:
    with pytest.raises(Refused) as refusal:
        tagged("a.md", b"A\n", [tag])
    assert refusal.value.code == "BAD_TAG"


def test_damaged_utf_16_is_refused() -> None:
    with pytest.raises(Refused) as refusal:
        tagged("a.md", "A\n".encode("utf-16") + b"\n", ["a"])
    assert refusal.value.code == "NOT_UTF8"


def test_a_hundred_tags_are_enough() -> None:
    full = f"<!-- tags: {', '.join(f't{n}' for n in range(100))} -->\n".encode()
    assert tagged("a.md", full, ["t7"]).content == full
    with pytest.raises(Refused) as refusal:
        tagged("a.md", full, ["more"])
    assert refusal.value.code == "TOO_MANY_TAGS"


NEWLINES = st.sampled_from(["\n", "\r\n", "\r"])
BLOCKS = st.sampled_from(
    [
        "# Heading",
        "Some text with #inline and `code`.",
        "- a list\n- of two",
        "```\n<!-- tags: fake -->\n```",
        "~~~\nno end",
        "<!-- tags: one, two -->",
        "<!--tags:three-->",
        "<!-- TAGS:\nfour,\nfive,\n-->",
        "<!-- a remark -->",
        "    <!-- tags: indented -->",
        "`<!-- tags: inline -->`",
        "> quoted <!-- tags: q -->",
        "<!-- no end",
        "Title\n=====",
        "\u2028odd \x0b lines\x85",
        "",
    ]
)
MATTERS = st.sampled_from(
    [
        "",
        "---\ntitle: A\n---\n",
        "---\ntags: [a, 'b c']\ntitle: A\n---\n",
        '---\ntags:\n  - a\n  - "b"\n---\n',
        "---\ntags: a, b\n...\n",
        "---\ntags: 'a'\n---\n",
        "---\ntags:\n---\n",
        "---\ntags: # none\ntitle: A\n---\n",
        "---\ntag: null\n---\n",
        "---\ntags: {a: b}\n---\n",
        "---\n{tags: [a]}\n---\n",
        "---\ntags: >\n  a,\n  b\n---\n",
        "---\n? tags\n: - a\n---\n",
        "---\ntags: &t [a]\nother: *t\n---\n",
        "---\ntags: !!str a\n---\n",
        "---\ntags: [a]\ntags: [b]\n---\n",
        "---\ntags:\n  -\n---\n",
        "---\ntags:\n  - - a\n---\n",
        "---\nno end",
        "---\nbroken: [\n---\n",
    ]
)
TAGS = st.lists(st.sampled_from(["one", "a", "B c", "новый", "yes", "2026", "c++", "x:y", "#tag", "fake"]), min_size=1)


@st.composite
def documents(draw: st.DrawFn) -> bytes:
    text = draw(MATTERS) + "\n".join(draw(st.lists(BLOCKS, max_size=6))) + draw(st.sampled_from(["", "\n", "\n\n"]))
    raw = text.replace("\n", draw(NEWLINES)).encode()
    at = draw(st.integers(0, len(raw)))
    odd = draw(st.sampled_from([b"", b"", b"", b"\xff", b"\x00", b"\xc3"]))
    return draw(st.sampled_from([b"", b"\xef\xbb\xbf"])) + raw[:at] + odd + raw[at:]


@settings(deadline=None)
@given(documents(), TAGS)
def test_twice_is_the_same_as_once(content: bytes, tags: list[str]) -> None:
    try:
        once = tagged("a.md", content, tags)
    except Refused:
        return
    again = tagged("a.md", once.content, tags)
    assert (again.content, again.added) == (once.content, ())


@settings(deadline=None)
@given(documents(), TAGS)
def test_every_other_byte_stays(content: bytes, tags: list[str]) -> None:
    try:
        after = tagged("a.md", content, tags).content
    except Refused:
        return
    if b"null" in content:  # what was there instead of tags
        return
    begin = next(
        (at for at, (one, other) in enumerate(zip(content, after, strict=False)) if one != other), len(content)
    )
    assert after.endswith(content[begin:])


@settings(deadline=None)
@given(documents(), TAGS)
def test_the_document_has_its_tags_and_the_new_ones(content: bytes, tags: list[str]) -> None:
    before = parse("a.md", content)
    try:
        after = parse("a.md", tagged("a.md", content, tags).content)
    except Refused:
        return
    assert set(after.tags) == {*before.tags, *map(normal_tag, tags)}
    assert [one.title for one in after.headings] == [one.title for one in before.headings]
