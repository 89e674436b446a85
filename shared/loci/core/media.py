"""Images, sounds and files in JSON values, as content blocks of the protocol have them."""

from collections.abc import Iterator
from typing import Final

from loci.core.json import Json, JsonObject

DEEPEST: Final = 100
"""Lists and objects inside each other. Further down nothing is looked for."""


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
