"""The depth and the number of values of JSON, counted in its bytes before anything parses it."""

from itertools import accumulate
from typing import Final, Literal

AT_ONCE: Final = 1 << 16
"""Bytes: what is counted takes no room beside them, however much it is."""
STEPS: Final = {ord("["): 1, ord("{"): 1, ord("]"): -1, ord("}"): -1}
NO_BRACKETS: Final = bytes(set(range(256)) - STEPS.keys())

Fault = Literal["too many", "too deep"]


def shape_fault(raw: bytes, most: int, deepest: int) -> Fault | None:
    """Tell if this UTF-8 would take long to parse, or much memory. None: it does not, or it is no JSON at all.

    `most` members of all objects and elements of all arrays together; `deepest` of them inside each other.
    """
    members, depth, is_inside, carried = 0, 0, 0, b""
    for start in range(0, len(raw), AT_ONCE):
        piece = carried + raw[start : start + AT_ONCE]
        ended = piece.rstrip(b"\\")
        carried = b"\\" * ((len(piece) - len(ended)) % 2)
        # Pairs of backslashes first, so that a backslash that is left before a quote escapes it.
        between_quotes = ended.replace(b"\\\\", b"").replace(b'\\"', b"").split(b'"')
        outside = b"".join(between_quotes[is_inside::2])
        is_inside = (is_inside + len(between_quotes) - 1) % 2
        brackets = outside.translate(None, NO_BRACKETS)
        opened = brackets.count(b"[") + brackets.count(b"{")
        if depth + opened > deepest:
            steps = accumulate(map(STEPS.__getitem__, brackets), initial=depth)
            if any(now > deepest for now in steps):
                return "too deep"
        depth += 2 * opened - len(brackets)
        # A comma stands before each member but the first of its container.
        members += opened + outside.count(b",")
        if members > most:
            return "too many"
    return None
