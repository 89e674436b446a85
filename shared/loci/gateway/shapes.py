"""The shapes of results, as JSON Schema describes them: what is at a path, of which type, and all of it in one line.

A path is only missing if the schema says so: it closes an object, or lists its fields. What it leaves open is there.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from itertools import islice
from typing import Final, Literal, cast

from loci.core.json import Json, JsonObject, pointed
from loci.gateway.policy import AnyTool

MOST_NAMES: Final = 20
LONGEST_NAME: Final = 60
BRIEF: Final = 90
"""Characters of a shape in one line."""
BRIEF_LEVELS, BRIEF_FIELDS = 3, 12
OPEN: Final = "open"
SILENT: Final = "silent"
"""The answer of a part of a schema that says nothing about a field: other parts may."""
BEYOND: Final = ("if", "$dynamicRef", "dependentSchemas", "patternProperties")
"""Keywords that leave an object open: whether they allow a field depends on its value, or on a foreign pattern."""

Found = list[Json] | Literal["open", "silent"]
"""The schemas of a field; an empty list if there is no such field."""


@dataclass(frozen=True, slots=True)
class Missing:
    """A step of a path that a shape does not have."""

    step: str
    kind: str
    """A description of what has no such part: `an object with name, size`."""
    nearest: str | None


@dataclass(frozen=True, slots=True)
class Shape:
    """The shape of a value."""

    schema: Json
    root: JsonObject
    """The schema in which the references of `schema` are looked up."""
    is_seen: bool = False
    """True: it was made of results that came. The next one may have another."""

    def missing(self, path: Sequence[str]) -> Missing | None:
        """The first step that the shape does not have; None if it has all of them, or leaves them open."""
        here: list[Json] = [self.schema]
        for step in path:
            found = self._any(here, step, set())
            if isinstance(found, str):
                return None
            if not found:
                names = [*dict.fromkeys(name for one in here for name in self._names(one, set()))]
                near = get_close_matches(step, names, 1)
                return Missing(step, self._kind(here, names), _shown(near[0]) if near else None)
            here = found
        return None

    def types(self, path: Sequence[str]) -> frozenset[str] | None:
        """The types that the value at the path may have; None if the shape does not say."""
        here: list[Json] = [self.schema]
        for step in path:
            found = self._any(here, step, set())
            if isinstance(found, str) or not found:
                return None
            here = found
        return self._any_types(here, {})

    def brief(self) -> str:
        """The shape in one line, such as `entities: [{name: string, tags: [string]}], total: integer`."""
        told = self._brief(self.schema, 0)
        told = told[1:-1] if told.startswith("{") and told != "{…}" else told
        return told if len(told) <= BRIEF else f"{told[: BRIEF - 1]}…"

    def _any(self, schemas: Sequence[Json], step: str, met: set[int]) -> Found | None:
        """The field of values that one of the schemas describes; None if all are in `met`, and so have told already."""
        told = [said for one in schemas if (said := self._field(one, step, met)) is not None]
        if not told:
            return None
        if OPEN in told:
            return OPEN
        found = [inner for one in told if not isinstance(one, str) for inner in one]
        return found or (SILENT if SILENT in told else [])

    def _field(self, schema: Json, step: str, met: set[int]) -> Found | None:
        """The field of values that the schema describes; None if it is in `met`."""
        if not isinstance(schema, dict):
            return OPEN
        if id(schema) in met:
            return None
        met.add(id(schema))
        told: list[Found | None] = [_own_field(schema, step)]
        told.extend(self._any(some, step, met) for name in ("anyOf", "oneOf") if (some := _list(schema.get(name))))
        told.extend(self._field(one, step, met) for one in _list(schema.get("allOf")))
        if "$ref" in schema:
            told.append(self._field(self._named(schema["$ref"]), step, met))
        if any(name in schema for name in BEYOND):
            told.append(OPEN)
        found = [inner for one in told if isinstance(one, list) for inner in one]
        return found or (OPEN if OPEN in told else [] if [] in told else SILENT)

    def _named(self, name: Json) -> Json:
        """The schema that a `$ref` names; an open one if it is in another document."""
        part = pointed(self.root, name) if isinstance(name, str) else None
        return True if part is None else part

    def _parts(self, schema: JsonObject) -> Iterator[Json]:
        for name in ("anyOf", "oneOf", "allOf"):
            yield from _list(schema.get(name))
        if "$ref" in schema:
            yield self._named(schema["$ref"])

    def _names(self, schema: Json, met: set[int]) -> Iterator[str]:
        """The names of fields that the schema lists."""
        if isinstance(schema, dict) and id(schema) not in met:
            met.add(id(schema))
            if isinstance(fields := schema.get("properties"), dict):
                yield from fields
            for one in self._parts(schema):
                yield from self._names(one, met)

    def _any_types(self, schemas: Sequence[Json], met: dict[int, frozenset[str] | None]) -> frozenset[str] | None:
        """The types of values that one of the schemas describes."""
        found = [self._all_types(one, met) for one in schemas]
        return None if None in found else frozenset[str]().union(*(one for one in found if one))

    def _all_types(self, schema: Json, met: dict[int, frozenset[str] | None]) -> frozenset[str] | None:
        """The types of values that the schema describes. `met`: the answers so far, none for a schema inside itself."""
        if not isinstance(schema, dict):
            return None
        if id(schema) not in met:
            met[id(schema)] = None
            told = [_types(schema)]
            told += [self._any_types(some, met) for name in ("anyOf", "oneOf") if (some := _list(schema.get(name)))]
            told += [self._all_types(one, met) for one in _list(schema.get("allOf"))]
            told += [self._all_types(self._named(schema["$ref"]), met)] if "$ref" in schema else []
            known = [one for one in told if one is not None]
            met[id(schema)] = known[0].intersection(*known[1:]) if known else None
        return met[id(schema)]

    def _kind(self, schemas: Sequence[Json], names: Sequence[str]) -> str:
        types = self._any_types(schemas, {}) or frozenset()
        if names:
            more = f" and {len(names) - MOST_NAMES} more" if len(names) > MOST_NAMES else ""
            return f"an object with {', '.join(map(_shown, names[:MOST_NAMES]))}{more}"
        if "array" in types:
            return "a list, whose items are [0], [1] and so on"
        return "an object without fields" if "object" in types else f"a {' or '.join(sorted(types)) or 'value'}"

    def _brief(self, schema: Json, level: int) -> str:
        if not isinstance(schema, dict) or level > 3 * BRIEF_LEVELS:
            return "any"
        fields, items = schema.get("properties"), schema.get("items")
        if isinstance(fields, dict) and fields:
            if level > BRIEF_LEVELS:
                return "{…}"
            some = islice(fields.items(), BRIEF_FIELDS)
            told = [f"{_shown(name)}: {self._brief(one, level + 1)}" for name, one in some]
            return f"{{{', '.join([*told, *(['…'] if len(fields) > len(told) else [])])}}}"
        if isinstance(items, dict):
            return f"[{self._brief(items, level + 1)}]"
        parts = [one for one in self._parts(schema) if not (isinstance(one, dict) and one.get("type") == "null")]
        if parts:
            return self._brief(parts[0], level + 1) if len(parts) == 1 else "any"
        types = [one for one in sorted(_types(schema) or ()) if one != "null"]
        return "|".join({"array": "[any]", "object": "{…}"}.get(one, one) for one in types) or "any"


def result_shape(tool: AnyTool) -> Shape | None:
    """The shape of the plain value of the tool's result, as its server describes it; None if the server does not."""
    schema = tool.output_schema
    if schema is None:
        return None
    fields = schema.get("properties")
    is_wrapped = isinstance(fields, dict) and fields.keys() == {"result"}
    return Shape(cast("JsonObject", fields)["result"] if is_wrapped else schema, schema)


def _shown(name: str) -> str:
    """The name of a field, which another server chose, in a text."""
    return "".join(one if one.isprintable() else " " for one in name[:LONGEST_NAME])


def _own_field(schema: JsonObject, step: str) -> Found:
    """The field by the schema's own keywords."""
    types = _types(schema)
    if types is not None and not types & {"object", "array"}:
        return []
    fields, items = schema.get("properties"), schema.get("items", schema.get("prefixItems"))
    if isinstance(fields, dict) and step in fields:
        return [fields[step]]
    may_be_list = "array" in types if types is not None else items is not None
    if step.isdecimal() and may_be_list:
        return _item(schema, int(step[:9]))
    if may_be_list and fields is None and types in (None, frozenset(["array"]), frozenset(["array", "null"])):
        return []
    match schema.get("additionalProperties", schema.get("unevaluatedProperties")):
        case dict() as more if more:
            return [more]
        case None:
            return [] if isinstance(fields, dict) and fields else SILENT
        case False:
            return []
        case _:
            return OPEN


def _item(schema: JsonObject, at: int) -> Found:
    """The item of a list at this index."""
    first, rest = schema.get("prefixItems"), schema.get("items")
    if isinstance(rest, list):  # as drafts before 2020 wrote the first items
        first, rest = rest, schema.get("additionalItems")
    if isinstance(first, list) and at < len(first):
        return [first[at]]
    return [rest] if isinstance(rest, dict) else [] if rest is False else OPEN


def _list(value: Json) -> list[Json]:
    return value if isinstance(value, list) else []


def _types(schema: JsonObject) -> frozenset[str] | None:
    """The types that the schema itself names."""
    match schema.get("type"):
        case str(one):
            return frozenset([one])
        case list(some) if some:
            return frozenset(str(one) for one in some)
        case _:
            values = [schema["const"]] if "const" in schema else _list(schema.get("enum"))
            return frozenset(type_of(one) for one in values) or None


def type_of(value: Json) -> str:
    """The name that JSON Schema has for the type of the value."""
    match value:
        case None:
            return "null"
        case bool():
            return "boolean"
        case int():
            return "integer"
        case float():
            return "number"
        case str():
            return "string"
        case list():
            return "array"
        case dict():
            return "object"
