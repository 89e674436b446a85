"""The schemas of an OpenAPI document, as JSON Schema has them."""

import json
import re
from typing import Any, Final, cast

from loci.core.json import JsonObject, pointed

LARGEST_SCHEMA: Final = 40_000
"""Characters of a tool's schema, with the schemas that it refers to."""
NOT_IN_A_NAME: Final = re.compile(r"[^A-Za-z0-9_-]+")
REFERENCE: Final = re.compile(r'"\$ref": "#/\$defs/([\w-]+)"')
UNUSED: Final = frozenset(
    (
        *("$anchor", "$comment", "$dynamicAnchor", "$dynamicRef", "$id", "$schema", "deprecated", "discriminator"),
        *("example", "examples", "externalDocs", "nullable", "xml"),
    )
)
"""Keywords that say nothing to a caller, or mean something else outside the document."""
NAMED: Final = ("properties", "patternProperties", "dependentSchemas")
LISTED: Final = ("allOf", "anyOf", "oneOf", "prefixItems")
ALONE: Final = ("additionalProperties", "contains", "else", "if", "items", "not", "propertyNames", "then")
LONGEST_DESCRIPTION: Final = 1000
MOST_HOPS: Final = 10


class ApiSchemas:
    """The schemas that the document names. A tool's schema has those that it refers to under `$defs`."""

    def __init__(self, document: dict[str, Any]) -> None:
        self._document = document
        self._names: dict[str, str] = {}
        self._pointers: dict[str, str] = {}
        self._texts: dict[str, str] = {}

    def whole(self, schema: JsonObject) -> JsonObject | None:
        """The schema with all that it refers to; None if that is too much to show."""
        text = json.dumps(schema)
        found: dict[str, str] = {}
        waiting, size = REFERENCE.findall(text), len(text)
        while waiting:
            name = waiting.pop()
            if name in found:
                continue
            found[name] = self._text(name)
            size += len(found[name])
            if size > LARGEST_SCHEMA:
                return None
            waiting += REFERENCE.findall(found[name])
        definitions: JsonObject = {name: json.loads(one) for name, one in sorted(found.items())}
        whole: JsonObject = {**schema, "$defs": definitions} if definitions else schema
        return whole if size <= LARGEST_SCHEMA else None

    def named(self, schema: JsonObject) -> JsonObject:
        """The schema itself, if this one only refers to it."""
        for _ in range(MOST_HOPS):
            reference = str(schema.get("$ref") or "").removeprefix("#/$defs/")
            if not reference:
                return schema
            schema = json.loads(self._text(reference))
        return {}

    def clean(self, value: object) -> JsonObject:
        """The schema with references to `$defs`."""
        if not isinstance(value, dict):
            return {}
        schema = cast("dict[str, Any]", value)
        if "$ref" in schema:
            return self._reference(str(schema["$ref"]))
        clean = {
            name: self._part(name, one)
            for name, one in schema.items()
            if name not in UNUSED and not name.startswith("x-")
        }
        if not isinstance(clean.get("required", []), list):
            del clean["required"]
        if schema.get("nullable") is True:
            clean |= {"type": [clean["type"], "null"]} if isinstance(clean.get("type"), str) else {}
            clean |= {"enum": [*clean["enum"], None]} if isinstance(clean.get("enum"), list) else {}
        for strict, edge in (("exclusiveMinimum", "minimum"), ("exclusiveMaximum", "maximum")):
            if isinstance(clean.get(strict), bool) and clean.pop(strict) and edge in clean:
                clean[strict] = clean.pop(edge)
        return clean

    def _part(self, name: str, one: Any) -> Any:
        match one:
            case dict() if name in NAMED:
                return {key: self.clean(part) for key, part in cast("dict[str, Any]", one).items()}
            case list() if name in LISTED:
                return [self.clean(part) for part in cast("list[Any]", one)]
            case dict() if name in ALONE:
                return self.clean(cast("object", one))
            case str() if name == "description":
                return one[:LONGEST_DESCRIPTION]
            case _:
                return one

    def _reference(self, pointer: str) -> JsonObject:
        if pointer not in self._names:
            if pointed(self._document, pointer) is None:
                return {}
            plain = NOT_IN_A_NAME.sub("_", pointer.rpartition("/")[2]) or "schema"
            name = plain if plain not in self._pointers else f"{plain}_{len(self._pointers)}"
            self._names[pointer], self._pointers[name] = name, pointer
        return {"$ref": f"#/$defs/{self._names[pointer]}"}

    def _text(self, name: str) -> str:
        if name not in self._texts:
            pointer = self._pointers.get(name)
            self._texts[name] = json.dumps(self.clean(pointed(self._document, pointer)) if pointer else {})
        return self._texts[name]
