"""Schemas as clients are sent them."""

from typing import Any, Literal

from pydantic import BaseModel, Field

from loci.mcp.tool import listed_input, listed_output


class Leaf(BaseModel):
    deep: dict[str, int] = {}


class Branch(BaseModel):
    leaf: Leaf
    leaves: list[Leaf] = []


class Tree(BaseModel):
    title: str = Field(max_length=5, description="a name")
    kind: Literal["oak", "elm"] | None = None
    branch: Branch | None
    next: "Tree | None"
    other: Branch | None = None
    either: int | str | None = 0
    age: int | None = Field(default=None, ge=1, le=999)


def schema() -> dict[str, Any]:
    return Tree.model_json_schema()


def test_an_input_has_no_references_and_no_alternative_null() -> None:
    listed = listed_input(Branch.model_json_schema())
    assert listed["properties"]["leaf"]["properties"]["deep"]["type"] == "object"
    assert "null" not in str(listed_input(schema())["properties"]["kind"])


def test_a_limit_that_only_a_wrong_call_meets_is_not_told() -> None:
    """So that, in OpenAI's strict mode, an argument that may be null may be zero."""
    assert listed_input(schema())["properties"]["age"] == {"type": "integer"}


def test_an_output_that_may_be_null_may_be_anything() -> None:
    assert listed_output(schema())["properties"]["age"] == {}


def test_a_field_called_title_stays() -> None:
    assert listed_input(schema())["properties"]["title"] == {"type": "string", "description": "a name"}


def test_a_schema_that_contains_itself_ends() -> None:
    assert len(str(listed_input(schema()))) < 20_000
    assert listed_output(schema())["properties"]["next"]["properties"]["next"] == {}


def test_an_output_tells_two_levels() -> None:
    branch = listed_output(schema())["properties"]["branch"]
    assert branch["properties"] == {"leaf": {"type": "object"}, "leaves": {"type": "array"}}


def test_the_fields_that_are_always_there_are_named() -> None:
    assert listed_output(schema())["required"] == ["title", "branch", "next"]
    assert "required" not in listed_output({"type": "object"})


def test_an_output_that_may_be_missing_is_only_named() -> None:
    assert listed_output(schema())["properties"]["other"] == {}


def test_an_input_does_not_tell_the_docstring_of_a_class() -> None:
    """Nor that it takes no other fields: a client learns of it only where there are none."""
    force = {"properties": {"force": {"type": "integer"}}}
    definitions = {"Wind": {"type": "object", "description": "Of a day.", "additionalProperties": False, **force}}
    shown = listed_input({"type": "object", "properties": {"wind": {"$ref": "#/$defs/Wind"}}, "$defs": definitions})
    assert shown["properties"]["wind"] == {"type": "object", "properties": {"force": {"type": "integer"}}}
    assert listed_input({"type": "object", "properties": {}})["additionalProperties"] is False


def test_other_alternatives_of_an_input_stay() -> None:
    either = listed_input(schema())["properties"]["either"]
    assert either["anyOf"] == [{"type": "integer"}, {"type": "string"}]


def test_the_wrapper_around_a_value_is_no_level() -> None:
    wrapped = {"properties": {"result": {"$ref": "#/$defs/Tree"}}, "required": ["result"], "$defs": schema()["$defs"]}
    assert "leaf" in listed_output(wrapped)["properties"]["result"]["properties"]["branch"]["properties"]
