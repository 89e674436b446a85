"""The parameters of a tool, read from its schema."""

from dataclasses import dataclass
from typing import Final

from loci.core.json import Json, JsonObject, pointed
from loci.search.words import SEAM, index_words

MOST_STEPS: Final = 20
FREE: Final = frozenset(
    index_words(
        "query q search term keyword message text prompt question address location topic value string input phrase"
        " title summary subject"
    )
)
"""Words in the names of parameters that take any text."""
CONTENT: Final = frozenset(
    index_words("content contents body text message observation observations data value document markdown comment note")
)
"""Words in the names of parameters that take what was read."""
IDS: Final = frozenset(index_words("id ids key token cursor uuid identifier"))


@dataclass(frozen=True, slots=True)
class Parameter:
    """A field of a tool's arguments."""

    name: str
    required: bool
    types: frozenset[str]
    """Empty: any."""
    words: frozenset[str]
    """The stems of its name."""
    schema: JsonObject
    root: JsonObject

    @property
    def choices(self) -> list[Json]:
        found = self.schema.get("enum")
        return found if isinstance(found, list) else [self.schema["const"]] if "const" in self.schema else []

    @property
    def is_list(self) -> bool:
        return [*self.types] == ["array"]

    @property
    def takes_content(self) -> bool:
        return not self.types or (bool(self.words & CONTENT) and not self.is_id)

    @property
    def is_id(self) -> bool:
        return bool(self.words & IDS)

    def takes(self, kind: str) -> bool:
        return not self.types or kind in self.types or (kind == "integer" and "number" in self.types)

    def told(self, longest: int) -> str:
        """Tell in a line what it takes."""
        kind = " | ".join(str(one) for one in self.choices[:12]) or " or ".join(sorted(self.types)) or "any value"
        about = self.schema.get("description")
        text = f": {' '.join(about.split())[:longest]}" if isinstance(about, str) and about else ""
        return f"{kind}{', required' if self.required else ''}{text}"

    @property
    def items(self) -> JsonObject:
        found = self.schema.get("items")
        return _followed(found, self.root) if isinstance(found, dict) else {}


def parameters(schema: JsonObject, root: JsonObject | None = None) -> list[Parameter]:
    """The fields of an object, the required ones first."""
    root = schema if root is None else root
    fields = schema.get("properties")
    needed = schema.get("required")
    required = needed if isinstance(needed, list) else []
    found = [
        _parameter(name, one, name in required, root)
        for name, one in (fields.items() if isinstance(fields, dict) else ())
    ]
    return sorted(found, key=lambda one: not one.required)


def types_of(schema: JsonObject) -> frozenset[str]:
    """The types that a value may have; empty if any."""
    kind = schema.get("type")
    if isinstance(kind, str):
        return frozenset({kind})
    if isinstance(kind, list):
        return frozenset(str(one) for one in kind) - {"null"}
    parts = schema.get("anyOf") or schema.get("oneOf")
    if isinstance(parts, list):
        return frozenset(kind for one in parts if isinstance(one, dict) for kind in types_of(one)) - {"null"}
    if isinstance(schema.get("properties"), dict):
        return frozenset({"object"})
    return frozenset()


def _parameter(name: str, value: Json, required: bool, root: JsonObject) -> Parameter:
    schema = _followed(value, root) if isinstance(value, dict) else {}
    words = frozenset(index_words(SEAM.sub(" ", name)))
    return Parameter(name, required, types_of(schema), words, schema, root)


def _followed(schema: JsonObject, root: JsonObject) -> JsonObject:
    """The schema that a reference inside the same schema names, or the first alternative that is not null."""
    for _ in range(MOST_STEPS):
        target = schema.get("$ref")
        parts = schema.get("anyOf") or schema.get("oneOf")
        if isinstance(target, str) and target.startswith("#/"):
            found = pointed(root, target)
            rest = {name: one for name, one in schema.items() if name != "$ref"}
            schema = {**found, **rest} if isinstance(found, dict) else {}
        elif isinstance(parts, list) and "type" not in schema:
            empty: JsonObject = {}
            first = next((one for one in parts if isinstance(one, dict) and one.get("type") != "null"), empty)
            rest = {name: one for name, one in schema.items() if name not in ("anyOf", "oneOf")}
            schema = {**rest, **first}
        else:
            return schema
    return {}
