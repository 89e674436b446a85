"""Finds a cited text in another, whatever its spaces, line ends, capitals, quotation marks and dashes."""

import re
from bisect import bisect_left
from collections.abc import Iterator
from itertools import accumulate

from loci.core.errors import Refused

QUOTES, APOSTROPHES, DASHES = '"“”„«»', "'’‘‚`´", "-–—‑−"  # noqa: RUF001
SPACES = (
    "\t\n\v\f\r\x1c\x1d\x1e\x1f \x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a"
    "\u2028\u2029\u202f\u205f\u3000|"
)
"""A bar stands between the cells of a row."""
ALIKE = str.maketrans(
    {one: group[0] for group in (QUOTES, APOSTROPHES, DASHES) for one in group}
    | dict.fromkeys(SPACES, " ")
    | {"ς": "σ"}  # noqa: RUF001
)
ENDS = f"{QUOTES}{APOSTROPHES}…"
GAP = re.compile(r" {2,}")
WORD_END = re.compile(r"[^a-z0-9_]|$")
ENDS_IN_WORD, GOES_ON = re.compile(r"([a-z0-9_]|\d[.,])\Z"), re.compile(r"[a-z0-9_]|[.,]\d")
"""Before and behind a place that is not the beginning or the end of a word or number."""


class WantedText:
    """A text that is looked for. Words and numbers must be whole: 40 is not in 1,240 or 40.5.

    The time grows with the other text alone, however the two are made: a pattern that also allowed for spaces would try
    each of a thousand words again at every place.
    """

    def __init__(self, text: str) -> None:
        words = _folded(text).strip(f" {_folded(ENDS)}").split()
        if not words:
            raise Refused("There is no text to check", "Give the words that you cite", code="EMPTY_TEXT")
        self._wanted = " ".join(words)
        self._begins_in_word, self._ends_in_word = _is_of_word(self._wanted[0]), _is_of_word(self._wanted[-1])

    def spans(self, text: str) -> Iterator[tuple[int, int]]:
        """The start and the end of each place that has it."""
        folded = _folded(text)
        gaps = [(one.start(), one.end() - one.start() - 1) for one in GAP.finditer(folded)]
        single = GAP.sub(" ", folded)
        left_out = [0, *accumulate(length for _, length in gaps)]
        cuts = [start - before for (start, _), before in zip(gaps, left_out, strict=False)]
        start = single.find(self._wanted)
        while start >= 0:
            end = start + len(self._wanted)
            if self._is_whole(single, start, end):
                yield start + left_out[bisect_left(cuts, start)], end + left_out[bisect_left(cuts, end - 1)]
                after = end
            else:  # inside a word nothing whole begins
                word = WORD_END.search(single, start) if self._begins_in_word else None
                after = max(start + 1, word.start() if word else 0)
            start = single.find(self._wanted, after)

    def _is_whole(self, text: str, start: int, end: int) -> bool:
        if self._begins_in_word and ENDS_IN_WORD.search(text[max(0, start - 2) : start]):
            return False
        return not (self._ends_in_word and GOES_ON.match(text, end))

    def is_in(self, text: str) -> bool:
        """True if the text has it somewhere."""
        return next(self.spans(text), None) is not None


def _folded(text: str) -> str:
    """The text in a form in which alike texts are equal, character by character."""
    return text.replace("İ", "i").lower().translate(ALIKE)


def _is_of_word(one: str) -> bool:
    return one.isascii() and one.isalnum()
