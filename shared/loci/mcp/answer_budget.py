"""Cuts an answer that is too large to a head that fits and is still valid under the tool's output schema."""

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Protocol, cast

from mcp_types import CallToolResult, TextContent
from pydantic import Field

from loci.core.errors import LociError
from loci.core.identity import Owner
from loci.core.scopes import READS
from loci.mcp.threads import on_thread
from loci.mcp.tool import LociTool, as_text

# A string under one of these cannot be cut without becoming invalid.
UNCUTTABLE = frozenset({"enum", "const", "pattern", "format", "minLength"})
ELLIPSIS = "…"
LONGEST_ABOUT = 80
"""Bytes, as JSON, of what a kept result says of its call."""
Schema = Mapping[str, Any]
EMPTY: Schema = {}
KINDS: dict[str, type | tuple[type, ...]] = {
    "null": type(None),
    "boolean": bool,
    "integer": int,
    "number": (int, float),
    "string": str,
    "array": list,
    "object": dict,
}


class StoredResult(Protocol):
    """A result that was too large for its answer."""

    @property
    def id(self) -> str: ...


class ResultStore(Protocol):
    """Keeps results that are too large for an answer. The scratchpad is one."""

    def keep(
        self,
        owner: Owner,
        tool: str,
        text: str,
        *,
        about: str = "",
        call: str | None = None,
        scopes: Iterable[str] = READS,
    ) -> StoredResult:
        """Keep the whole result for its owner, in the place of an earlier result of the same call."""
        ...


class ShortenedResult(CallToolResult):
    """A result that its tool has shortened. The whole of it is kept, as if the budget had cut it.

    Its text is its structure as JSON.
    """

    whole: str = Field(exclude=True)


async def within_budget(
    tool: LociTool, arguments: Mapping[str, Any], result: CallToolResult, owner: Owner, results: ResultStore
) -> CallToolResult:
    """Return the result if it is whole and fits, else its head, and keep the whole of it."""
    if tool.budget is None or result.is_error:
        return result
    structured = cast("object", result.structured_content)
    text = "\n".join(block.text for block in result.content if isinstance(block, TextContent))
    is_shortened = isinstance(result, ShortenedResult)
    plain = text if structured is None or is_shortened else as_text(_bare(tool, structured))
    fits = max(_length(one) for one in {text, plain}) <= tool.budget
    if fits and not is_shortened:
        return result
    whole = result.whole if is_shortened else plain
    line, kept = await on_thread(_keep, tool, arguments, whole, owner, results)
    others = [block for block in result.content if not isinstance(block, TextContent)]
    if tool.sdk_tool.output_schema is None or not isinstance(structured, dict):
        shown = _cut(plain, tool.budget)
    else:
        value = cast("dict[str, Any]", structured)
        kept = (value if fits else head(value, tool.sdk_tool.output_schema, tool.budget)) | kept
        shown = as_text(_bare(tool, kept))
    content = [TextContent(type="text", text=shown), *others, TextContent(type="text", text=line)]
    return CallToolResult(content=content, structured_content=kept)


def _keep(
    tool: LociTool, arguments: Mapping[str, Any], whole: str, owner: Owner, results: ResultStore
) -> tuple[str, dict[str, Any]]:
    """Keep the whole result, and return the line and the field that say where it is, or why it is nowhere."""
    # A tool that changes something may answer each call differently: each of its results is kept.
    call = json.dumps(arguments, sort_keys=True) if tool.reads else None
    try:
        scopes = tool.scopes or READS
        entry = results.keep(owner, tool.sdk_tool.name, whole, about=_about(arguments), call=call, scopes=scopes)
    except LociError as error:
        return f"This is the beginning of the result. The rest could not be kept: {error}", {"not_kept": error.what}
    return f"Results cached. Use scratchpad_read('{entry.id}') for full output", {"scratchpad_id": entry.id}


def _about(arguments: Mapping[str, Any]) -> str:
    """The call in a few words: what is looked for, else its arguments."""
    said = arguments.get("query") or ", ".join(f"{name}={as_text(value)}" for name, value in arguments.items())
    plain = " ".join(str(said)[:LONGEST_ABOUT].encode("utf-8", "replace").decode().split())
    return _cut(plain, LONGEST_ABOUT)


def _bare(tool: LociTool, structured: Any) -> Any:
    """The tool's own value, without the wrapper around a bare string or array."""
    return structured["result"] if tool.sdk_tool.fn_metadata.wrap_output else structured


def _length(text: str) -> int:
    return len(text.encode("utf-8", "replace"))


def head(value: Any, schema: Schema, room: int) -> Any:
    """Cut the value to a size in JSON, from the front on. It gets larger only if the schema needs more."""
    return _Head(schema).of(value, schema, room)


class _Head:
    """Walks a value with its schema, in the order of the document, spending bytes of JSON."""

    def __init__(self, root: Schema) -> None:
        self._root = root
        self._floors: dict[int, int] = {}

    def of(self, value: Any, schema: Schema, room: int) -> Any:
        if _size(value) <= room:
            return value
        schema = self._plain(schema, value)
        match value:
            case str():
                return value if UNCUTTABLE & schema.keys() else _cut(value, room)
            case list():
                return self._of_list(cast("list[Any]", value), schema, room)
            case dict():
                return self._of_object(cast("dict[str, Any]", value), schema, room)
            case _:
                return value

    def _of_list(self, items: Sequence[Any], schema: Schema, room: int) -> list[Any]:
        """The first items that fit. If not even one fits, the head of the first."""
        below: Schema = schema.get("items", {})
        fewest: int = schema.get("minItems", 0)
        kept: list[Any] = []
        left = room - 2
        for item in items:
            least = _size(item) if kept else self._floor(item, below)
            if least + 1 > left and len(kept) >= fewest:
                break
            kept.append(self.of(item, below, max(left - 1, 0)))
            left -= _size(kept[-1]) + 1
        return kept

    def _of_object(self, value: dict[str, Any], schema: Schema, room: int) -> dict[str, Any]:
        """All declared fields, each in the room that the smallest forms of the others leave; of a map the first."""
        fields: Schema = schema.get("properties", {})
        other = schema.get("additionalProperties")
        below = cast("Schema", other) if isinstance(other, dict) else EMPTY
        floors = {name: _size(name) + 2 + self._floor(part, fields.get(name, below)) for name, part in value.items()}
        left = room - 2 - sum(floor for name, floor in floors.items() if name in fields)
        kept: dict[str, Any] = {}
        for name, part in value.items():
            overhead = _size(name) + 2
            if name not in fields:
                if floors[name] > left:
                    continue
                left -= floors[name]
            kept[name] = self.of(part, fields.get(name, below), max(left, 0) + floors[name] - overhead)
            left -= _size(kept[name]) + overhead - floors[name]
        return kept

    def _floor(self, value: Any, schema: Schema) -> int:
        """The size of the smallest form. Each value is measured once: they nest."""
        known = self._floors.get(id(value))
        if known is None:
            known = self._floors[id(value)] = self._smallest(value, schema)
        return known

    def _smallest(self, value: Any, schema: Schema) -> int:
        schema = self._plain(schema, value)
        match value:
            case str():
                return _size(value if UNCUTTABLE & schema.keys() else _cut(value, 0))
            case list():
                items = cast("list[Any]", value)[: schema.get("minItems", 0)]
                return 2 + sum(self._floor(item, schema.get("items", EMPTY)) + 1 for item in items)
            case dict():
                fields: Schema = schema.get("properties", {})
                parts = cast("dict[str, Any]", value)
                return 2 + sum(
                    _size(name) + 2 + self._floor(parts[name], below) for name, below in fields.items() if name in parts
                )
            case _:
                return _size(value)

    def _plain(self, schema: Schema, value: Any) -> Schema:
        """Follow references, and pick the alternative that fits the value."""
        while True:
            match schema:
                case {"$ref": str(ref)}:
                    schema = self._root["$defs"][ref.rpartition("/")[2]]
                case {"anyOf": [*options]} | {"oneOf": [*options]}:
                    schema = next((one for one in options if self._holds(one, value)), EMPTY)
                case _:
                    return schema

    def _holds(self, schema: Schema, value: Any) -> bool:
        """True if the value fits this alternative, judged by its type, its fields and its constants."""
        if "$ref" in schema:
            return self._holds(self._root["$defs"][schema["$ref"].rpartition("/")[2]], value)
        if "const" in schema or "enum" in schema:
            return value in schema.get("enum", [schema.get("const")])
        if not isinstance(value, KINDS.get(schema.get("type", ""), object)):
            return False
        if not isinstance(value, dict):
            return True
        fields: Schema = schema.get("properties", {})
        telling = {name: one for name, one in fields.items() if "const" in one or "enum" in one}
        parts = cast("dict[str, Any]", value)
        return parts.keys() >= set(schema.get("required", ())) and all(
            self._holds(one, parts[name]) for name, one in telling.items() if name in parts
        )


def _size(value: Any) -> int:
    return len(json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace"))


def _cut(text: str, room: int) -> str:
    """Cut the text so that its JSON form fits."""
    low, high = 0, min(len(text), max(room, 0))
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if _size(text[:middle]) <= room - len(ELLIPSIS.encode()) else (low, middle - 1)
    return text if low == len(text) else text[:low] + ELLIPSIS
