"""JSON values, points in time as clients read them, and the shape of JSON before anything parses it."""

import json
import re
from collections.abc import Iterator
from datetime import UTC, datetime
from itertools import accumulate
from typing import Final, Literal
from urllib.parse import unquote

Json = None | bool | int | float | str | list["Json"] | dict[str, "Json"]
JsonObject = dict[str, Json]
_HALF: Final = re.compile(r"[\ud800-\udfff]")
"""Half of a surrogate pair: JSON can write it, UTF-8 cannot."""
_ESCAPED: Final = re.compile(r"\\u[dD]")
LAST_SECOND: Final = 253_402_300_799.0
"""The end of the year 9999: no calendar goes further."""
AT_ONCE: Final = 1 << 16
"""Bytes: what is counted takes no room beside them, however much it is."""
STEPS: Final = {ord("["): 1, ord("{"): 1, ord("]"): -1, ord("}"): -1}
NO_BRACKETS: Final = bytes(set(range(256)) - STEPS.keys())
Fault = Literal["too many", "too deep"]
DEEPEST: Final = 100
"""Lists and objects inside each other. Further down nothing is looked for."""


def read_whole(text: str) -> Json:
    """Read JSON. Half a character, which a text that was cut may end with, becomes the sign for an unknown one.

    Raises `ValueError` if it is no JSON, or too deep.
    """
    try:
        value = json.loads(text)
        if _ESCAPED.search(text):
            value = json.loads(encodable(json.dumps(value, ensure_ascii=False)))
    except RecursionError:
        raise ValueError("too deep") from None
    return value


def encodable(text: str) -> str:
    """Replace what UTF-8 cannot encode: a file name may hold any bytes."""
    return _HALF.sub("\ufffd", text)


def string(value: Json) -> str:
    """Return the value if it is a string, else raise `TypeError`."""
    if not isinstance(value, str):
        raise TypeError(f"this is no string but {type(value).__name__}")
    return value


def pointed(document: Json, reference: str) -> Json:
    """The part of the document that a reference such as `#/a/b` names; None if it is elsewhere, or nowhere."""
    start, *steps = reference.split("/")
    part = document if start == "#" else None
    for step in steps:
        name = unquote(step).replace("~1", "/").replace("~0", "~")
        part = part.get(name) if isinstance(part, dict) else None
    return part


def iso(seconds: float) -> str:
    """Return the time in UTC, to the second, such as 2026-01-17T12:34:56Z."""
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="seconds").replace("+00:00", "Z")


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


def content_of(value: Json) -> str:
    """The bytes of an image, a sound or a file in base64; empty if the value is no content block of one."""
    match value:
        case {"type": "image" | "audio", "data": str(data), "mimeType": str()}:
            return data
        case {"type": "resource", "resource": {"uri": str(), "blob": str(blob)}}:
            return blob
        case _:
            return ""


def bytes_in(data: str) -> int:
    """The number of bytes that this base64 stands for."""
    return len(data) * 3 // 4 - data[-2:].count("=")


def media_in(value: Json, depth: int = DEEPEST) -> Iterator[JsonObject]:
    """The content blocks of images, sounds and files in a value, wherever they are."""
    match value:
        case dict() if content_of(value):
            yield value
        case dict() | list() if depth:
            for one in value.values() if isinstance(value, dict) else value:
                yield from media_in(one, depth - 1)
        case _:
            return


def without_media(value: Json, depth: int = DEEPEST) -> Json:
    """The value with the size of each image, sound and file in the place of its bytes."""
    match value:
        case dict() if data := content_of(value):
            inner = value.get("resource")
            told = inner if isinstance(inner, dict) else value
            named = {name: told[name] for name in ("uri", "mimeType") if name in told}
            return {"type": value["type"], **named, "bytes": bytes_in(data)}
        case dict() if depth:
            return {name: without_media(one, depth - 1) for name, one in value.items()}
        case list() if depth:
            return [without_media(one, depth - 1) for one in value]
        case _:
            return value
