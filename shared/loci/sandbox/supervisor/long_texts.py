"""Long texts of a JSON message, read block by block: in one step, 6 MB of `\\n` keep all other threads waiting."""

import json
import re
import secrets
from collections.abc import Iterator

BLOCK = 1 << 16
PAIR = b"\1\2"
"""Stands for an escaped backslash or quotation mark in a mask. Neither byte may be in a text of JSON."""
FIRST_HALF = re.compile(rb"\\u[dD][89abAB][0-9a-fA-F]{2}")
SPACE = b" \t\r\n"


class LongNameError(ValueError):
    """It has a name that is too long."""


def mask(content: bytes) -> bytes:
    """The content, without its escaped backslashes and quotation marks: each other mark begins or ends a text."""
    if b"\\" not in content:
        return content
    blocks: list[bytes] = []
    at = 0
    while at < len(content):
        block = content[at : at + BLOCK]
        if (len(block) - len(block.rstrip(b"\\"))) % 2:  # the last one escapes the next byte
            block = content[at : at + BLOCK + 1]
        blocks.append(block.replace(b"\\\\", PAIR).replace(b'\\"', PAIR))
        at += len(block)
    return b"".join(blocks)


def taken_out(content: bytes, mask: bytes) -> tuple[bytes, dict[str, str]]:
    """The content with a number in the place of each long text, and the texts by their numbers.

    Nobody can guess the numbers: a number may be read by our own function, which a text may not.
    """
    parts: list[bytes] = []
    texts: dict[str, str] = {}
    secret, at = secrets.randbelow(10**20), 0
    for start, end in _places(mask):
        if content[end + 1 : end + 1 + BLOCK].lstrip(SPACE).startswith(b":"):
            raise LongNameError(f"a name in it has more than {BLOCK:,} characters")
        number = f"0.{secret:020}{len(texts)}"
        texts[number] = "".join(_decoded(content[start + 1 : end], mask[start + 1 : end]))
        parts += (content[at:start], number.encode())
        at = end + 1
    return b"".join([*parts, content[at:]]), texts


def _places(mask: bytes) -> Iterator[tuple[int, int]]:
    """The places of the marks that begin and end each text of a block or more."""
    marks = end = 0
    for at in range(0, len(mask), BLOCK):
        found = mask.count(b'"', at, at + BLOCK)
        if not found and marks % 2 and at > end:
            end = mask.find(b'"', at)
            if end < 0:
                raise ValueError("a text has no end")
            yield mask.rfind(b'"', 0, at), end
        marks += found


def _decoded(text: bytes, mask: bytes) -> Iterator[str]:
    at = 0
    while at < len(text):
        end = _before(text, mask, at + BLOCK)
        yield json.loads(f'"{text[at:end].decode()}"')
        at = end


def _before(text: bytes, mask: bytes, at: int) -> int:
    """The nearest place before this one that is in no character, and between no two halves of one."""
    if at >= len(text):
        return len(text)
    if mask[at : at + 1] == PAIR[1:]:
        return at - 1
    escape = mask.rfind(b"\\", at - 5, at)
    if escape >= 0 and escape + (6 if mask[escape + 1 : escape + 2] == b"u" else 2) > at:
        at = escape
    if FIRST_HALF.fullmatch(mask, at - 6, at):
        return at - 6
    back = 0
    while back < 3 and text[at - back] & 0xC0 == 0x80:
        back += 1
    return at - back
