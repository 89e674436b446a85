"""The plain value in a tool's result, for code and workflows."""

from typing import Any, cast

from loci.core.errors import Refused
from loci.core.json import Json, JsonObject, content_of, media_in, read_whole
from loci.tools.policy import AnyTool

LONGEST_ERROR = 2000


def value_of(tool: AnyTool, result: JsonObject) -> Json:
    """The structure without the wrapper around a bare value, else the text as JSON, else the text, else the blocks.

    Raises `Refused`, with the tool's own words, if the result is an error.
    """
    blocks = cast("list[dict[str, Any]]", result.get("content") or [])
    texts = [str(one.get("text")) for one in blocks if one.get("type") == "text"]
    if result.get("isError") is True:
        said = "\n".join(texts)[:LONGEST_ERROR] or "it gave no reason"
        raise Refused(f"{tool.id} failed: {said}", "Correct the call", code="TOOL_ERROR")
    structured = result.get("structuredContent")
    if structured is not None:
        return _unwrapped(tool, structured)
    if len(texts) != len(blocks):
        return cast("Json", blocks)
    text = "\n".join(texts)
    try:
        return read_whole(text)
    except ValueError:
        return text


def media_beside(result: JsonObject) -> list[JsonObject]:
    """The images, sounds and files that the plain value of the result does not have, because it is the structure."""
    structured = result.get("structuredContent")
    if structured is None:
        return []
    repeated = {content_of(one) for one in media_in(structured)}
    return [one for one in media_in(result.get("content")) if content_of(one) not in repeated]


def _unwrapped(tool: AnyTool, structured: Json) -> Json:
    """Without the `result` that the server's SDK put above a bare value: structured content must be an object."""
    fields = (tool.output_schema or {}).get("properties")
    if isinstance(structured, dict) and structured.keys() == {"result"}:
        return structured["result"] if isinstance(fields, dict) and fields.keys() == {"result"} else structured
    return structured
