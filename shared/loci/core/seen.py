"""Texts that a person decides about: what cannot be seen in them is written out, and what looks alike is found."""

import re
import unicodedata
from functools import lru_cache
from typing import Final

# They turn the line around, or take no place. The joiners of scripts and of pictures stay, but not behind a letter of
# ASCII or behind each other: a hidden text can be written with them.
UNSEEN: Final = re.compile(
    "[\\x00-\\x08\\x0b-\\x1f\\x7f-\\x9f\\xad\\u034f\\u061c\\u115f\\u1160\\u17b4\\u17b5\\u180b-\\u180f\\u200b\\u200e"
    "\\u200f\\u2028-\\u202e\\u2060-\\u206f\\u2800\\u3164\\ufe00-\\ufe0d\\ufeff\\uffa0\\ufff0-\\ufffb"
    "\\U00013430-\\U0001343f\\U0001bca0-\\U0001bca3\\U0001d173-\\U0001d17a\\U000e0000-\\U000e0fff]"
    "|(?<![^\\x00-\\x7f])[\\u200c\\u200d]|(?<![^\\x00-\\x22\\x24-\\x29\\x2b-\\x2f\\x3a-\\x7f])[\\ufe0e\\ufe0f]"
    "|(?<=[\\u200c\\u200d])[\\u200c\\u200d\\ufe0e\\ufe0f]|(?<=[\\ufe0e\\ufe0f])[\\u200c\\ufe0e\\ufe0f]"
)


def visible(text: str) -> str:
    """The text, with each character that hides something as an escape: it stays JSON if it was."""
    return UNSEEN.sub(lambda found: _escape(ord(found[0])), text)


def _escape(code: int) -> str:
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


LATIN: Final = str.maketrans(
    "\u0430\u0432\u0435\u043a\u043c\u043d\u043e\u0440\u0441\u0442\u0443\u0445\u0455\u0456\u0458\u04bb\u0501\u051b"
    "\u051d\u0475\u04cf\u03b1\u03b2\u03b5\u03b7\u03b9\u03ba\u03bd\u03bf\u03c1\u03c4\u03c5\u03c7\u03c9\u0585"
    "\u057d\u0570\u0578\u0251\u0261\u0131\u1d00",
    "abekmhopctyxsijhdqwvlabenikvoptuxwouhnagia",
)
"""Letters of other scripts by the Latin ones that they look like."""
_ALIKE: Final = str.maketrans("i1|0", "lllo")
ALIKE: Final = {one: ord(chr(latin).translate(_ALIKE)) for one, latin in LATIN.items()} | _ALIKE
"""The same, and those that look alike in Latin."""


@lru_cache(10_000)
def skeleton(text: str) -> str:
    """The skeleton of a name, which is asked for again and again."""
    return skeleton_of(text)


def skeleton_of(text: str) -> str:
    """The text as it looks at a glance: the same for two that differ in case, in signs, or in alike letters."""
    shown = unicodedata.normalize("NFKD", UNSEEN.sub("", text)).casefold().translate(ALIKE)
    letters = "".join(one for one in shown if one.isalnum())
    return letters.replace("rn", "m").replace("vv", "w") or shown
