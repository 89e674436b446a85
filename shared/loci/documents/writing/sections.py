"""A document with a part of it added or replaced, as bytes: all the rest of them stays."""

import re
from collections.abc import Sequence

from loci.core.errors import Refused
from loci.documents.content.excerpt import section
from loci.documents.content.front_matter import read_front_matter
from loci.documents.content.markdown import outline_of
from loci.documents.content.tags import COMMENT, TAGS_COMMENT
from loci.documents.document import Heading
from loci.documents.writing.raw_text import Raw, plain, raw

ATX = re.compile(r" {0,3}(#{1,6})(?:\s|$)")
UNDERLINE = re.compile(r" {0,3}(?:=+|-+)\s*")


def created(text: str) -> bytes:
    """A new document of that text."""
    return f"{plain(text).rstrip()}\n".encode()


def rewritten(content: bytes, text: str) -> bytes:
    """The document with another text, and the line ends of before."""
    old = raw(content)
    return old.replaced(0, len(old.text), created(text).decode())


def appended(path: str, content: bytes, text: str, heading: str | None) -> bytes:
    """The document with the text at its end, or at the end of a section; a comment with tags stays the last of it."""
    old = raw(content)
    first, behind = _span(old, heading)
    while behind > first and not old.lines[behind - 1].strip():
        behind -= 1
    body = plain(text).strip("\n").rstrip()
    if behind == 0:  # there is nothing above
        following = "\n\n" if any(old.lines) else "\n"
        return _checked(path, old, old.replaced(0, 0, f"{body}{following}"), 0, 0)
    at = old.end_of(behind - 1)
    return _checked(path, old, old.replaced(at, at, f"\n\n{body}"), behind, behind)


def replaced(path: str, content: bytes, text: str, heading: str) -> bytes:
    """The document with another text below the heading, down to the next one of its level or above.

    The heading stays, unless the text begins with one of the same level.
    """
    old = raw(content)
    above, behind = _span(old, heading)
    body = plain(text).strip("\n").rstrip()
    own = ATX.match(old.lines[above])
    first = above + (1 if own else 2)
    while not own and first < behind and not UNDERLINE.fullmatch(old.lines[first - 1]):
        first += 1  # a heading may have several lines above its underline
    level = len(own[1]) if own else 1 if "=" in old.lines[first - 1] else 2
    given = ATX.match(body)
    brings_heading = given is not None and len(given[1]) == level
    begin = above if brings_heading else first
    start = old.starts[begin] if begin < len(old.lines) else len(old.text)
    end = old.starts[behind] if behind < len(old.lines) else len(old.text)
    before = "" if brings_heading or not body else "\n"
    if start and old.text[start - 1] not in "\r\n":
        before += "\n"
    after = "\n" if end == len(old.text) else "\n\n"
    new = f"{before}{body}{after}" if body else f"{before}{after[1:]}"
    return _checked(path, old, old.replaced(start, end, new), above, behind)


def _span(old: Raw, heading: str | None) -> tuple[int, int]:
    """The first line of the section, or document, and the one behind its last; a last comment with tags is no part."""
    first, last = section(old.lines, heading) if heading else (1, len(old.lines))
    return first - 1, min(last, max(first, _tail(old))) if heading else min(last, _tail(old))


def _tail(old: Raw) -> int:
    """The line of a comment with tags that ends the document, else the number of its lines."""
    text = old.joined
    start = text.rfind("<!--")
    comment = COMMENT.fullmatch(text[start:].rstrip()) if start >= 0 else None
    is_alone = start == 0 or text[start - 1 : start] == "\n"
    is_last = comment is not None and is_alone and TAGS_COMMENT.fullmatch(comment[1])
    return text.count("\n", 0, start) if is_last else len(old.lines)


def _checked(path: str, old: Raw, new: bytes, first: int, behind: int) -> bytes:
    """The new bytes; `Refused` where other headings than those in these lines would be lost in code or a comment."""
    before, after = _headings(path, old.lines), _headings(path, raw(new).lines)
    head = [one.title for one in before if one.line <= first]
    tail = [one.title for one in before if one.line > behind]
    titles = [one.title for one in after]
    if titles[: len(head)] != head or titles[len(titles) - len(tail) :] != tail:
        raise Refused(
            "The text would hide other headings of the document",
            "Close its code blocks and comments, then write it again",
            code="BAD_TEXT",
        )
    return new


def _headings(path: str, lines: Sequence[str]) -> tuple[Heading, ...]:
    return outline_of(path, lines, read_front_matter(lines).lines).headings
