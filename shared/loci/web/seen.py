"""Texts that a person decides about: what cannot be seen in them is written out."""

import re
from typing import Final

# They turn the line around, or take no place. The joiners of scripts and of pictures stay.
UNSEEN: Final = re.compile(
    "[\\x00-\\x08\\x0b-\\x1f\\x7f-\\x9f\\xad\\u034f\\u061c\\u115f\\u1160\\u17b4\\u17b5\\u180e\\u200b\\u200e"
    "\\u200f\\u2028-\\u202e\\u2060-\\u206f\\u2800\\u3164\\ufeff\\uffa0\\ufff9-\\ufffb\\U000e0000-\\U000e007f]"
)


def seen(text: str) -> str:
    """The text, with each character that hides something as an escape: it stays JSON if it was."""
    return UNSEEN.sub(lambda found: _escape(ord(found[0])), text)


def _escape(code: int) -> str:
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
