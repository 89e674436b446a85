"""The listed tools in OpenAI's strict mode: an object has known fields, all of them are required, and none is added."""

import json
from collections.abc import Iterator
from typing import Any, cast

import pytest
from jsonschema import Draft202012Validator

from tests.support.deno import needs_deno
from tests.surface.conftest import Connect
from tests.surface.runtimes import RUNTIMES
from tests.surface.test_listing import SNAPSHOT

pytestmark = pytest.mark.anyio
Schema = dict[str, Any]
KNOWN = {
    "type",
    "properties",
    "required",
    "additionalProperties",
    "items",
    "anyOf",
    "enum",
    "description",
    "default",
} | {
    *("pattern", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "minItems", "maxItems"),
}
"""The keywords that strict mode takes, and `default`, which clients leave out."""
FREE = {
    "pml_call_tool": {"arguments"},
    "pml_execute_code": {"context"},
    "pml_execute_dag": {"workflow", "config"},
    "pml_replan": {"available_context", "tasks[]"},
    "run_computation": {"parameters"},
}
"""The objects of any fields, as the references or a note have them: clients send these tools without strict mode."""


def strict(schema: Schema, at: str, faults: set[str]) -> Schema:
    """The schema as a client converts it. What has no place in strict mode is named in `faults`."""
    kept = {name: value for name, value in schema.items() if name != "default"}
    kind = schema.get("type")
    if schema.keys() - KNOWN or not isinstance(kind or "", str) or not (schema.keys() & {"type", "anyOf", "enum"}):
        faults.add(at)
    if kind == "object":
        # Clients close an object themselves, unless it has no fields.
        if schema.get("additionalProperties", not schema.get("properties")) is not False:
            faults.add(at)
        needed = schema.get("required", [])
        fields = {
            name: strict(one, f"{at}.{name}".strip("."), faults) for name, one in schema.get("properties", {}).items()
        }
        kept["properties"] = {
            name: one if name in needed else {"anyOf": [one, {"type": "null"}]} for name, one in fields.items()
        }
        kept |= {"required": [*fields], "additionalProperties": False}
    if kind == "array":
        kept["items"] = strict(schema.get("items", {}), f"{at}[]", faults)
    if "anyOf" in schema:
        kept["anyOf"] = [strict(one, at, faults) for one in schema["anyOf"]]
    return kept


def keywords(schema: Any) -> Iterator[tuple[str, Any]]:
    """All keywords in a schema, with their values."""
    if isinstance(schema, dict):
        for name, value in cast("Schema", schema).items():
            if name != "properties":
                yield name, value
            yield from keywords([*value.values()] if name == "properties" else value)
    elif isinstance(schema, list):
        for one in cast("list[Any]", schema):
            yield from keywords(one)


def test_each_tool_converts_but_for_the_free_objects_of_the_references() -> None:
    found: dict[str, set[str]] = {}
    for tool in json.loads(SNAPSHOT.read_text("utf-8")):
        faults: set[str] = set()
        converted = strict(tool["inputSchema"], "", faults)
        Draft202012Validator.check_schema(converted)
        if faults:
            found[tool["name"]] = faults
    assert found == FREE


def test_no_schema_has_a_constant_or_two_types() -> None:
    for tool in json.loads(SNAPSHOT.read_text("utf-8")):
        for name, value in keywords([tool["inputSchema"], tool.get("outputSchema", {})]):
            assert (name != "const", name != "type" or isinstance(value, str)) == (True, True), tool["name"]


@pytest.mark.parametrize("app", RUNTIMES, indirect=True)
async def test_what_strict_mode_writes_is_taken(connect: Connect) -> None:
    """All arguments are there, those that are not used are null, and an object of any fields is text."""
    search: Schema = dict.fromkeys(("max_tokens", "folder", "dates")) | {"limit": 5, "explain": False, "tags": []}
    async with connect("all") as client:
        answer = await client.call_tool("search_documents", {"query": "boats", "properties": ["a=b"], **search})
        assert not answer.is_error, answer
        for text in ('{"query": "boats"}', ""):
            called = await client.call_tool("pml_call_tool", {"tool": "search_documents", "arguments": text})
            assert called.is_error == (text == ""), called
        refused = await client.call_tool("pml_call_tool", {"tool": "search_documents", "arguments": "[1"})
        assert "an object in `arguments`" in str(refused.content)


@needs_deno
async def test_the_context_of_code_may_be_text(connect: Connect) -> None:
    async with connect("all") as client:
        ran = await client.call_tool("pml_execute_code", {"code": "return context.a", "context": '{"a": 41}'})
    assert "41" in str(ran.content), ran
