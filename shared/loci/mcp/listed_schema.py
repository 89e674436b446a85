"""Schemas as clients are sent them: a model pays for each byte of what it reads, at every request."""

from collections.abc import Mapping
from typing import Any, cast

Schema = dict[str, Any]
NULL = {"type": "null"}
DEEPEST = 12
"""Levels of an input. Deeper ones accept anything here; the call itself is checked against all of them."""
OUTLINE = 2
"""Levels of an output that are told."""
CHECKED_ONLY = frozenset({"title", "maxLength", "minLength", "maxItems", "minItems"})
"""A call that breaks these is told so: nobody has to know them before."""
UNLESS_NULL = frozenset({"minimum", "pattern"})
"""Not told of an argument that may be null: a client in OpenAI's strict mode has to send one, and sends 0 or ""."""


def listed_input(schema: Schema) -> Schema:
    """The schema without what only pydantic needs: no titles, no references, no alternative null."""
    return _input(schema, schema.get("$defs", {}), DEEPEST)


def listed_output(schema: Schema) -> Schema:
    """The outline of the schema: the names and types of the fields, and those of the fields in them."""
    definitions = schema.get("$defs", {})
    plain = _plain(schema, definitions)
    levels = OUTLINE + (plain.get("properties", {}).keys() == {"result"})  # the wrapper around a value is no level
    return _output(plain, definitions, levels) | {"required": plain.get("required", [])}


def _input(schema: Schema, definitions: Mapping[str, Schema], levels: int) -> Schema:
    if levels == 0:
        return {}
    kept = Schema()
    untold = CHECKED_ONLY | UNLESS_NULL if NULL in schema.get("anyOf", ()) else CHECKED_ONLY
    for name, value in _plain(schema, definitions).items():
        if name == "properties":
            kept[name] = {one: _input(part, definitions, levels - 1) for one, part in value.items()}
        elif name in ("items", "additionalProperties") and isinstance(value, dict):
            kept[name] = _input(cast("Schema", value), definitions, levels - 1)
        elif name in ("anyOf", "oneOf", "allOf", "prefixItems"):
            kept[name] = [_input(part, definitions, levels - 1) for part in value]
        elif not (name in untold or (name == "default" and value in (None, "", [], {}))):
            kept[name] = value
    if kept.get("additionalProperties") is True:
        del kept["additionalProperties"]
    return kept


def _output(schema: Schema, definitions: Mapping[str, Schema], levels: int) -> Schema:
    plain = _plain(schema, definitions)
    kept = {name: plain[name] for name in ("type", "enum") if name in plain}
    if "items" in plain and (items := _output(plain["items"], definitions, levels)):
        kept["items"] = items
    if "properties" in plain and levels:
        kept["properties"] = {
            name: _output(part, definitions, levels - 1) for name, part in plain["properties"].items()
        }
    if "type" in kept and NULL in schema.get("anyOf", ()):
        kept["type"] = [kept["type"], "null"]
        kept.pop("enum", None)
    return kept


def _plain(schema: Schema, definitions: Mapping[str, Schema]) -> Schema:
    """The schema with its reference and its only alternative to null filled in."""
    if "$ref" in schema:
        named = definitions.get(str(schema["$ref"]).rpartition("/")[2], {})
        return _plain({**named, **{name: value for name, value in schema.items() if name != "$ref"}}, definitions)
    others = [one for one in schema.get("anyOf", ()) if one != NULL]
    if len(others) == 1:
        rest = {name: value for name, value in schema.items() if name not in ("anyOf", "$defs")}
        return {**_plain(others[0], definitions), **rest}
    return {name: value for name, value in schema.items() if name != "$defs"}
