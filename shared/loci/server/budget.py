"""The head of an answer that is too large: as much as fits, and still valid under the tool's output schema."""

import json
from collections.abc import Mapping, Sequence
from typing import Any, cast

from mcp_types import CallToolResult, TextContent

from loci.model.identity import Owner
from loci.scratchpad import Scratchpad
from loci.server.door import Door, as_text
from loci.server.threads import on_thread

# A string under one of these cannot be cut without becoming invalid.
UNCUTTABLE = frozenset({"enum", "const", "pattern", "format", "minLength"})
ELLIPSIS = "…"
Schema = Mapping[str, Any]
EMPTY: Schema = {}


async def within_budget(door: Door, result: CallToolResult, owner: Owner, scratchpad: Scratchpad) -> CallToolResult:
    """The result as it is, or its head with the whole kept in the scratchpad."""
    text = _only_text(result)
    if door.budget is None or result.is_error or text is None or len(text.encode()) <= door.budget:
        return result
    entry = await on_thread(scratchpad.keep, owner, door.tool.name, text)
    line = f"Results cached. Use scratchpad_read('{entry.id}') for full output"
    schema = door.tool.output_schema
    whole = cast("object", result.structured_content)
    if schema is None or not isinstance(whole, dict):
        return _blocks(_cut(text, door.budget), line, {"scratchpad_id": entry.id})
    short = head(cast("dict[str, Any]", whole), schema, door.budget)
    structured = {**short, "scratchpad_id": entry.id}
    return _blocks(as_text(short["result"] if door.tool.fn_metadata.wrap_output else structured), line, structured)


def head(value: Any, schema: Schema, room: int) -> Any:
    """As much of the value as has room in its JSON form, from the front on; more only where the schema needs it."""
    return _Head(schema).of(value, schema, room)


def _blocks(text: str, line: str, structured: dict[str, Any]) -> CallToolResult:
    return CallToolResult(
        content=[TextContent(type="text", text=text), TextContent(type="text", text=line)],
        structured_content=structured,
    )


def _only_text(result: CallToolResult) -> str | None:
    match result.content:
        case [TextContent(text=text)]:
            return text
        case _:
            return None


class _Head:
    """Walks a value with its schema, in the order of the document, spending bytes of JSON."""

    def __init__(self, root: Schema) -> None:
        self._root = root

    def of(self, value: Any, schema: Schema, room: int) -> Any:
        if _size(value) <= room:
            return value
        schema = self._plain(schema)
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
        """The first items that fit; of the first one at least its head."""
        below: Schema = schema.get("items", {})
        fewest = max(1, schema.get("minItems", 0))
        kept: list[Any] = []
        left = room - 2
        for item in items:
            size = _size(item) + 1
            if size > left and len(kept) >= fewest:
                break
            kept.append(self.of(item, below, max(left - 1, 0)))
            left -= size
        return kept

    def _of_object(self, value: dict[str, Any], schema: Schema, room: int) -> dict[str, Any]:
        """All declared fields, each with what the smallest forms of the others leave; of a map the first entries."""
        fields: Schema = schema.get("properties", {})
        other = schema.get("additionalProperties")
        below = cast("Schema", other) if isinstance(other, dict) else EMPTY
        floors = {
            name: _size(name) + 2 + _size(self.of(part, fields.get(name, below), 0)) for name, part in value.items()
        }
        floors = dict(floors.items())
        left = room - 2 - sum(floor for name, floor in floors.items() if name in fields)
        kept: dict[str, Any] = {}
        for name, part in value.items():
            overhead = _size(name) + 2
            if name not in fields:
                if kept and floors[name] > left:
                    continue
                left -= floors[name]
            kept[name] = self.of(part, fields.get(name, below), max(left, 0) + floors[name] - overhead)
            left -= _size(kept[name]) + overhead - floors[name]
        return kept

    def _plain(self, schema: Schema) -> Schema:
        """The schema behind references and behind «or null»."""
        while True:
            match schema:
                case {"$ref": str(ref)}:
                    schema = self._root["$defs"][ref.rpartition("/")[2]]
                case {"anyOf": [*options]} if len(solid := [one for one in options if one.get("type") != "null"]) == 1:
                    schema = solid[0]
                case _:
                    return schema


def _size(value: Any) -> int:
    return len(json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace"))


def _cut(text: str, room: int) -> str:
    """As much of the text as its JSON form has room for."""
    low, high = 0, min(len(text), max(room, 0))
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if _size(text[:middle]) <= room - len(ELLIPSIS.encode()) else (low, middle - 1)
    return text if low == len(text) else text[:low] + ELLIPSIS
