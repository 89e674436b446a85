"""The head of a value: as much of it as fits, from the front on, and still valid under its schema."""

import json
from collections.abc import Mapping, Sequence
from typing import Any, cast

# A string under one of these cannot be cut without becoming invalid.
UNCUTTABLE = frozenset({"enum", "const", "pattern", "format", "minLength"})
ELLIPSIS = "…"
BUDGET = 16 * 1024
"""Bytes of an answer, unless its tool says otherwise."""
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
                return value if UNCUTTABLE & schema.keys() else cut_text(value, room)
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
        if id(value) not in self._floors:
            self._floors[id(value)] = _size(self.of(value, schema, 0))
        return self._floors[id(value)]

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


def cut_text(text: str, room: int) -> str:
    """Cut the text so that its JSON form fits."""
    low, high = 0, min(len(text), max(room, 0))
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if _size(text[:middle]) <= room - len(ELLIPSIS.encode()) else (low, middle - 1)
    return text if low == len(text) else text[:low] + ELLIPSIS
