"""The bytes of a document as lines that can be edited while every other byte stays."""

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate

from loci.core.errors import Refused
from loci.markdown.encodings import Encoding, encoding_of
from loci.markdown.nouns import Heading

LINE_END = re.compile(r"(\r\n|\r|\n)")
# What is not in the encoding is decoded to lone surrogates.
UNREADABLE = re.compile("[\0\ud800-\udfff]")
UNDERLINE = re.compile(r" {0,3}(?:=+|-+)\s*")


@dataclass(frozen=True, slots=True)
class RawText:
    """The bytes of a document as lines that can be edited while every other byte stays."""

    encoding: Encoding
    text: str
    """The decoded bytes with their own line ends."""
    lines: tuple[str, ...]
    """The lines that a parser sees, without unreadable characters. Each is as long as in `text`."""
    starts: tuple[int, ...]
    """The position in `text` where each line begins."""
    begins: tuple[int, ...]
    """The position in `joined` where each line begins."""
    newline: str
    """The line end that it uses most."""

    @property
    def joined(self) -> str:
        """The lines, with LF as line ends."""
        return "\n".join(self.lines)

    def position(self, at: int) -> int:
        """The position in `text` of the character at `at` in `joined`."""
        line = bisect_right(self.begins, at) - 1
        return self.starts[line] + at - self.begins[line]

    def line_end(self, line: int) -> int:
        """The position in `text` where the line ends, before its line end."""
        return self.starts[line] + len(self.lines[line])

    def replace(self, start: int, end: int, new: str) -> bytes:
        """The bytes with `new` between two positions of `text`. `new` gets the line ends of the text."""
        inserted = with_line_feeds(new).replace("\n", self.newline)
        return self.encoding.encode(self.text[:start] + inserted + self.text[end:])


def raw_text(content: bytes) -> RawText:
    """The bytes, ready to be edited. `Refused` if they are damaged UTF-16."""
    encoding = encoding_of(content)
    text = encoding.decode(content)
    parts = LINE_END.split(text)
    ends = Counter(parts[1::2])
    starts = list(accumulate(map(len, parts), initial=0))[:-1:2]
    lines = tuple(UNREADABLE.sub("\ufffd", line) for line in parts[::2])
    begins = list(accumulate((len(line) + 1 for line in lines), initial=0))[:-1]
    return RawText(
        encoding, text, lines, tuple(starts), tuple(begins), max(ends, key=lambda end: ends[end], default="\n")
    )


def with_line_feeds(text: str) -> str:
    """The text with LF as line ends."""
    return LINE_END.sub("\n", text)


def checked(path: str, old: RawText, new: bytes, first: int, end: int) -> bytes:
    """The new bytes. `Refused` if code or a comment would hide headings or tags outside lines `first` to `end`."""
    from loci.markdown.tags import tags_of

    before, prose = _headings_and_prose(path, old.lines)
    after, new_prose = _headings_and_prose(path, raw_text(new).lines)
    head = [one.title for one in before if one.line <= first]
    tail = [one.title for one in before if one.line > end]
    titles = [one.title for one in after]
    tags = tags_of((), "\n".join([*prose[:first], *prose[end:]]))
    hides_tags = bool({*tags} - {*tags_of((), "\n".join(new_prose))})
    if titles[: len(head)] != head or titles[len(titles) - len(tail) :] != tail or hides_tags:
        raise Refused(
            f"The text would hide other {'tags' if hides_tags else 'headings'} of the document",
            "Close its code blocks and comments, then write it again",
            code="BAD_TEXT",
        )
    return new


def _headings_and_prose(path: str, lines: Sequence[str]) -> tuple[tuple[Heading, ...], Sequence[str]]:
    from loci.markdown.front_matter import read_front_matter  # 0.1 s, which a search does not pay
    from loci.markdown.markdown import outline_of
    from loci.markdown.outline import prose_lines

    skip = read_front_matter(lines).lines
    outline = outline_of(path, lines, skip)
    return outline.headings, [""] * skip + [*prose_lines(lines, outline, skip)[skip:]]
