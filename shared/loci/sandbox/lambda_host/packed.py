"""Answers of a function, as small as they come: Lambda takes 6 MB."""

import base64
import json
import zlib
from collections.abc import Mapping
from typing import Any

LARGEST = 5_800_000
"""Bytes of an answer."""
LARGEST_OPENED = 32 << 20


def packed(answer: Mapping[str, Any]) -> dict[str, str] | None:
    """What the function answers; None where it is too large for an answer."""
    content = base64.b64encode(zlib.compress(json.dumps(answer).encode("utf-8", "replace"), 1)).decode()
    return {"packed": content} if len(content) <= LARGEST else None


def opened(answer: object) -> dict[str, Any]:
    """The answer; `ValueError` where it is none. Whoever wrote it may be hostile."""
    content: object = answer.get("packed") if isinstance(answer, dict) else None  # pyright: ignore[reportUnknownMemberType,reportUnknownVariableType]
    if not isinstance(content, str):
        raise ValueError("the function's answer is none")
    unpacking = zlib.decompressobj()
    try:
        text = unpacking.decompress(base64.b64decode(content, validate=True), LARGEST_OPENED)
        if unpacking.unconsumed_tail or not unpacking.eof:
            raise ValueError("the function's answer is too long")
        found = json.loads(text)
    except (zlib.error, RecursionError) as error:
        raise ValueError(str(error)) from None
    if not isinstance(found, dict):
        raise ValueError("the function's answer is none")
    return found  # pyright: ignore[reportUnknownVariableType]
