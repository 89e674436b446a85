"""JSON that somebody hostile wrote. Its parts are counted before it is parsed: each takes many times its own size.

An empty list takes three bytes here and 72 in memory, so that a line of 6 MB would take 140 MB.
"""

import json
from typing import Any

from loci.sandbox.supervisor import long_texts
from loci.sandbox.supervisor.reading_turns import LARGE, ReadingTime


class TooManyPartsError(ValueError):
    """It has more parts than may be read, or names that are too long."""


def parsed_json(content: bytes, most: int) -> Any:
    """Parse it if it has at most so many parts; `ValueError` if it has more, or is no JSON. Waits for its turn."""
    with ReadingTime().reading(len(content)):
        return parsed_now(content, most)


def parsed_now(content: bytes, most: int) -> Any:
    """The same for whoever has the turn to read it."""
    mask = long_texts.mask(content)
    if _parts(mask, most) > most:
        raise TooManyPartsError(f"it has more than {most:,} parts")
    try:
        if len(content) <= LARGE:
            # As text: of bytes, the parser also takes UTF-16, in which we would count wrongly.
            return json.loads(content.decode(), parse_constant=_refuse)
        return _in_steps(content, mask)
    except RecursionError:
        raise ValueError("it is too deep") from None


def _in_steps(content: bytes, mask: bytes) -> Any:
    """Parse it so that other threads have their turn meanwhile: they have it wherever Python is called."""
    try:
        rest, texts = long_texts.taken_out(content, mask)
    except long_texts.LongNameError as error:
        raise TooManyPartsError(str(error)) from None

    def number(literal: str) -> object:
        return texts[literal] if literal in texts else float(literal)

    return json.loads(
        rest.decode(),
        parse_constant=_refuse,
        parse_float=number,
        parse_int=lambda literal: int(literal),
        object_hook=lambda found: found,
    )


def _parts(mask: bytes, most: int) -> int:
    """At least the number of values in it; more than `most` if it has too many."""
    quotes = mask.count(b'"')
    if quotes > most:
        return quotes
    found = _separators(mask)
    if found > most:  # or they are in its texts
        found = _separators_outside(mask, most)
    return max(quotes, found)


def _separators_outside(mask: bytes, most: int) -> int:
    """The separators that are in no text."""
    found, inside = 0, False
    for at in range(0, len(mask), long_texts.BLOCK):
        parts = mask[at : at + long_texts.BLOCK].split(b'"')
        found += _separators(b"".join(parts[inside::2]))
        if found > most:
            break
        inside ^= len(parts) % 2 == 0
    return found


def _separators(content: bytes) -> int:
    return content.count(b",") + content.count(b"[") + content.count(b"{")


def _refuse(name: str) -> None:
    raise ValueError(name)
