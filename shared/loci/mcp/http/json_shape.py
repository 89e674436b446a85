"""The depth and the number of members of JSON, counted in its bytes before anything parses it."""

from itertools import accumulate

from loci.mcp.http.refusal import Refusal, not_json

DEEPEST = 100
MOST_MEMBERS = 100_000
"""Members of all objects and elements of all arrays together. So many take the server's loop a quarter of a second."""
STEPS = {ord("["): 1, ord("{"): 1, ord("]"): -1, ord("}"): -1}
NO_BRACKETS = bytes(set(range(256)) - STEPS.keys())


def check_shape(raw: bytes) -> None:
    """Refuse JSON that would take long to parse and to validate. What is no JSON may pass: the parser refuses it."""
    # Pairs of backslashes first, so that a backslash that is left before a quote escapes it.
    unescaped = raw.replace(b"\\\\", b"").replace(b'\\"', b"")
    # A member has two strings at most, and a string has two quotes.
    if unescaped.count(b'"') > 4 * MOST_MEMBERS:
        raise _too_many()
    outside = b"".join(unescaped.split(b'"')[::2])
    containers = outside.count(b"[") + outside.count(b"{")
    if containers > DEEPEST and _is_too_deep(outside):
        raise too_deep()
    # A comma stands before each member but the first of its container.
    if containers + outside.count(b",") > MOST_MEMBERS:
        raise _too_many()


def _is_too_deep(outside: bytes) -> bool:
    # If there are more brackets than that, there are too many members anyway.
    brackets = outside.translate(None, NO_BRACKETS)[: 2 * MOST_MEMBERS]
    return any(depth > DEEPEST for depth in accumulate(map(STEPS.__getitem__, brackets)))


def too_deep() -> Refusal:
    return not_json(f"the body is nested deeper than {DEEPEST} levels")


def _too_many() -> Refusal:
    return Refusal(413, f"The body has more than {MOST_MEMBERS} members; send less, or send the data as text")
