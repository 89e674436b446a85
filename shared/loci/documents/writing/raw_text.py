"""A text as lines that can be edited while every other byte of it stays."""

import re
from bisect import bisect_right
from codecs import BOM_UTF8, BOM_UTF16_BE, BOM_UTF16_LE
from collections import Counter
from dataclasses import dataclass
from itertools import accumulate

from loci.core.errors import Refused

END = re.compile(r"(\r\n|\r|\n)")
# What is not UTF-8 is a lone surrogate here, each byte one.
UNSHOWN = re.compile("[\0\udc80-\udcff]")


@dataclass(frozen=True, slots=True)
class Raw:
    """The bytes, cut into lines."""

    bom: bytes
    text: str
    """As it stands, with its own line ends."""
    lines: tuple[str, ...]
    """As a document's parser sees them; each has as many characters as in `text`."""
    starts: tuple[int, ...]
    """Where in `text` each line begins."""
    newline: str
    """The line end that it has most of."""

    @property
    def joined(self) -> str:
        """The lines with one kind of line end."""
        return "\n".join(self.lines)

    def place(self, at: int) -> int:
        """Where in `text` the character is that is the one at `at` in `joined`."""
        begins = list(accumulate((len(line) + 1 for line in self.lines), initial=0))[:-1]
        line = bisect_right(begins, at) - 1
        return self.starts[line] + at - begins[line]

    def end_of(self, line: int) -> int:
        """Where in `text` the line ends, before its line end."""
        return self.starts[line] + len(self.lines[line])

    def replaced(self, start: int, behind: int, new: str) -> bytes:
        """The bytes with something else from one place in `text` to another; its line ends are those of the text."""
        put = plain(new).replace("\n", self.newline)
        return self.bom + (self.text[:start] + put + self.text[behind:]).encode("utf-8", "surrogateescape")


def raw(content: bytes) -> Raw:
    """The bytes as they can be edited; `Refused` where a character has two bytes at least."""
    if content.startswith((BOM_UTF16_LE, BOM_UTF16_BE)):
        raise Refused("The document is UTF-16", "Save it as UTF-8, then try again", code="NOT_UTF8")
    bom = BOM_UTF8 if content.startswith(BOM_UTF8) else b""
    text = content[len(bom) :].decode("utf-8", "surrogateescape")
    parts = END.split(text)
    ends = Counter(parts[1::2])
    starts = list(accumulate(map(len, parts), initial=0))[:-1:2]
    lines = tuple(UNSHOWN.sub("\ufffd", line) for line in parts[::2])
    return Raw(bom, text, lines, tuple(starts), max(ends, key=lambda end: ends[end], default="\n"))


def plain(text: str) -> str:
    """The text with one kind of line end."""
    return END.sub("\n", text)
