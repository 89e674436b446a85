"""The texts that authors write: a new document, or text added to one or put in place of a part of it.

Every other byte of the document stays as it was: its line ends, its byte order mark, and bytes that are not UTF-8.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import takewhile
from typing import Literal

from loci.authoring.raw_text import UNDERLINE, RawText, checked, raw_text, with_line_feeds
from loci.core.errors import NotFound, Refused
from loci.markdown.encodings import decode_text
from loci.markdown.excerpt import section_lines
from loci.markdown.nouns import BOM
from loci.markdown.scanners import COMMENT_END, COMMENT_START
from loci.markdown.tags import TAGS_COMMENT

Mode = Literal["create", "append", "replace", "edit"]
SHOWN_PLACES = 10
"""Lines that an error names."""
SHOWN = 200
"""Characters of a line that an error quotes."""
MOST_SEARCHED = 1_000_000
"""Characters in which the nearest line is looked for. It takes 0.2 s."""
LEAST_LIKE = 0.5
"""The share of the text's pairs of letters that a line must have to be near it."""
HASH_HEADING = re.compile(r" {0,3}(#{1,6})(?:\s|$)")


@dataclass(frozen=True, slots=True)
class EditDraft:
    """A text to write, and how to write it."""

    mode: Mode
    text: str
    heading: str | None = None
    """The section to append to or to replace; None: the whole document."""
    old: str = ""
    """The text that an edit replaces."""

    def apply(self, path: str, before: bytes | None) -> bytes:
        """The new content of the document at that path. `before` is its content now, None if it does not exist."""
        if self.mode == "create":
            after = create(self.text)
            if before is not None and before != after:
                advice = "Choose another path, or read it and use mode append or replace"
                raise Refused(f"{path} already exists", advice, code="ALREADY_THERE")
            return after
        if before is None:
            raise missing(path)
        if self.mode == "edit":
            return replace_exact(path, before, self.old, self.text)
        if self.mode == "append":
            return append(path, before, self.text, self.heading)
        if self.heading is not None:
            return replace_section(path, before, self.text, self.heading)
        return replace_all(before, self.text)


def checked_draft(
    mode: Mode, text: str, heading: str | None, expected_hash: str | None, old: str | None, new: str | None
) -> EditDraft:
    """The draft. `Refused` if these arguments do not go together."""
    if mode == "edit":
        if not old or new is None or text or heading is not None:
            advice = "Give `old`, the exact text, and `new`, the text to put there, without `content` and `heading`"
            raise Refused("Mode edit replaces `old` by `new`", advice, code="BAD_ARGUMENTS")
        return EditDraft(mode, new, old=old)
    if old or new:
        raise Refused(f"Mode {mode} takes no `old` and `new`", "Use mode edit, or `content`", code="BAD_ARGUMENTS")
    if mode == "create" and heading is not None:
        raise Refused("A new document has no sections yet", "Put the heading into the content", code="BAD_ARGUMENTS")
    if not text.strip() and not (mode == "replace" and heading is not None):
        raise Refused("There is nothing to write", "Give some content", code="BAD_ARGUMENTS")
    if mode == "replace" and expected_hash is None:
        raise Refused(
            "Only a text that you have read can be replaced",
            "Read it with read_node_content, and give its `hash` as expected_hash",
            code="HASH_NEEDED",
        )
    return EditDraft(mode, text, heading)


def missing(path: str) -> NotFound:
    """The error for a change to a document that does not exist."""
    advice = "Create it with write_document(mode='create')"
    return NotFound(f"There is no document {path}", advice, code="NO_SUCH_DOCUMENT")


def create(text: str) -> bytes:
    """A new document of that text."""
    return f"{with_line_feeds(text).rstrip()}\n".encode()


def replace_all(content: bytes, text: str) -> bytes:
    """The document with a new text, and with its line ends and byte order mark as before.

    A text that was read and did not change gives the same bytes.
    """
    old, new = raw_text(content), text.removeprefix(BOM)
    if with_line_feeds(new) == with_line_feeds(decode_text(content)[0].removeprefix(BOM)):
        return content
    after = create(new).decode()
    is_ended = old.lines[-1] == "" or new.endswith(("\r", "\n"))
    return old.replace(0, len(old.text), after if is_ended else after.removesuffix("\n"))


def append(path: str, content: bytes, text: str, heading: str | None) -> bytes:
    """The document with the text added at its end or at the end of a section. A last comment with tags stays last."""
    old = raw_text(content)
    first, end = _section(old, heading)
    while end > first and not old.lines[end - 1].strip():
        end -= 1
    body = with_line_feeds(text).strip("\n").rstrip()
    if end == 0:  # there is no text above
        following = "\n\n" if any(old.lines) else "\n"
        return checked(path, old, old.replace(0, 0, f"{body}{following}"), 0, 0)
    at = old.line_end(end - 1)
    return checked(path, old, old.replace(at, at, f"\n\n{body}"), end, end)


def replace_section(path: str, content: bytes, text: str, heading: str) -> bytes:
    """The document with a new text below the heading, up to the next heading of its level or above.

    The heading itself stays, unless the text begins with a heading of the same level.
    """
    old = raw_text(content)
    section = slice(*_lines_of_section(old, heading))
    if with_line_feeds(text).rstrip("\n") == "\n".join(old.lines[section]).rstrip("\n"):
        return content
    above, end_line = _section(old, heading)
    body = with_line_feeds(text).strip("\n").rstrip()
    hashes = HASH_HEADING.match(old.lines[above])
    below = above + (1 if hashes else 2)
    while not hashes and below < end_line and not UNDERLINE.fullmatch(old.lines[below - 1]):
        below += 1  # a heading may have several lines above its underline
    level = len(hashes[1]) if hashes else 1 if "=" in old.lines[below - 1] else 2
    given = HASH_HEADING.match(body)
    brings_heading = given is not None and len(given[1]) == level
    first = above if brings_heading else below
    start = old.starts[first] if first < len(old.lines) else len(old.text)
    end = old.starts[end_line] if end_line < len(old.lines) else len(old.text)
    before = "" if brings_heading or not body else "\n"
    if start and old.text[start - 1] not in "\r\n":
        before += "\n"
    after = "\n" if end == len(old.text) else "\n\n"
    new = f"{before}{body}{after}" if body else f"{before}{after[1:]}"
    return checked(path, old, old.replace(start, end, new), above, end_line)


def _section(old: RawText, heading: str | None) -> tuple[int, int]:
    """The first line of the section or document, and its end, which is before a last comment with tags."""
    first, last = _lines_of_section(old, heading) if heading else (0, len(old.lines))
    end = _last_tags_comment(old)
    return first, min(last, max(first + 1, end)) if heading else min(last, end)


def _lines_of_section(old: RawText, heading: str) -> tuple[int, int]:
    first, last = section_lines(old.lines, heading)
    return first - 1, last


def _last_tags_comment(old: RawText) -> int:
    """The line where a comment with tags begins that ends the document. Without one, the number of lines."""
    text = old.joined
    start = text.rfind(COMMENT_START)
    rest = text[start + len(COMMENT_START) :].rstrip() if start >= 0 else ""
    is_alone = start == 0 or text[start - 1 : start] == "\n"
    is_last = is_alone and rest.endswith(COMMENT_END) and TAGS_COMMENT.fullmatch(rest[: -len(COMMENT_END)])
    return text.count("\n", 0, start) if is_last else len(old.lines)


def replace_exact(path: str, content: bytes, old: str, new: str) -> bytes:
    """The document with `new` in place of `old`. Every byte that is the same in both stays, line ends, too."""
    document = raw_text(content)
    wanted, wished = (with_line_feeds(one.removeprefix(BOM)) for one in (old, new))
    text = document.joined
    at = text.find(wanted)
    if at < 0:
        raise _no_such_text(path, document, wanted)
    if text.find(wanted, at + 1) >= 0:
        raise _ambiguous(path, text, wanted)
    if wanted == wished:
        return content
    same = _same(wanted, wished)
    rest = min(len(wanted), len(wished)) - same
    alike = _same(wanted[::-1][:rest], wished[::-1][:rest])
    first, last = at + same, at + len(wanted) - alike
    start, end = (document.position(one) for one in (first, last))
    changed = document.replace(start, end, wished[same : len(wished) - alike])
    above, below = text.count("\n", 0, first), text.count("\n", 0, last)
    # The line below a heading may be the rule that makes it one.
    is_rule = UNDERLINE.fullmatch(document.lines[above]) is not None
    return checked(path, document, changed, above - is_rule, below + 1)


def _same(one: Sequence[str], other: Sequence[str]) -> int:
    """The number of characters that both begin with."""
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False)))


def _no_such_text(path: str, document: RawText, wanted: str) -> NotFound:
    lines = [line for line in wanted.split("\n") if line.strip()] or [wanted]
    held = set(document.lines)
    missing = next((line for line in lines if line not in held), lines[0])
    near = _nearest(document, missing)
    shown = f". The nearest to {_quoted(missing)} is line {near[0]}: {_quoted(near[1])}" if near else ""
    return NotFound(
        f"{path} does not have this text{shown}",
        "Read it again, and give `old` exactly as it is there, with all its spaces and line ends",
        code="NO_SUCH_TEXT",
    )


def _ambiguous(path: str, text: str, wanted: str) -> Refused:
    places, at = list[int](), -1
    while len(places) < SHOWN_PLACES and (at := text.find(wanted, at + 1)) >= 0:
        places.append(text.count("\n", 0, at) + 1)
    times = max(text.count(wanted), len(places))
    where = ", ".join(map(str, dict.fromkeys(places)))
    more = ", …" if times > len(places) else ""
    return Refused(
        f"{path} has this text {times} times, at lines {where}{more}",
        "Give more of the text around it, so that it occurs once",
        code="AMBIGUOUS_TEXT",
    )


def _nearest(document: RawText, wanted: str) -> tuple[int, str] | None:
    """The line, or part of a long one, that has the most of the pairs of letters of the wanted text."""
    pairs = _pairs(wanted[:SHOWN])
    best, found, searched = LEAST_LIKE, None, 0
    for number, line in enumerate(document.lines, 1):
        searched += len(line)
        if searched > MOST_SEARCHED or not pairs:
            break
        for begin in range(0, max(1, len(line) - SHOWN // 2), SHOWN // 2):
            part = line[begin : begin + SHOWN]
            other = _pairs(part)
            whole = len(pairs) + len(other) if len(line) <= SHOWN else 2 * len(pairs)
            like = 2 * len(pairs & other) / whole
            if like > best:
                best, found = like, (number, part)
    return found


def _pairs(text: str) -> set[str]:
    plain = " ".join(text.casefold().split())
    return {plain[at : at + 2] for at in range(len(plain) - 1)} or ({plain} if plain else set())


def _quoted(line: str) -> str:
    return f"“{line}”" if len(line) <= SHOWN else f"“{line[:SHOWN]}…”"
