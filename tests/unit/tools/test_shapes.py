"""The shapes of results: what a schema excludes, and nothing that it leaves open."""

import json
from typing import Any

from loci.gateway.seen_shapes import joined, shape_of
from loci.gateway.shapes import Missing, Shape
from tests.support.each import each

TEXT = {"type": "string"}
FILE = {"type": "object", "properties": {"name": TEXT, "size": {"type": "integer"}}, "required": ["name"]}
FILES = {"type": "object", "properties": {"files": {"type": "array", "items": {"$ref": "#/$defs/File"}}}}
NODE = {"type": "object", "properties": {"next": {"anyOf": [{"$ref": "#/$defs/Node"}, {"type": "null"}]}}}
CLOSED = {"allOf": [FILE, {"properties": {"owner": TEXT}}], "unevaluatedProperties": False}


def shape(schema: dict[str, Any]) -> Shape:
    return Shape(schema, schema)


@each(
    ("schema", "path"),
    [
        (FILE, "name"),
        (FILE | {"additionalProperties": True}, "owner"),
        (FILE | {"additionalProperties": {}}, "owner.name"),
        (FILE | {"additionalProperties": FILE}, "owner.name"),
        (FILE | {"patternProperties": {"^x": TEXT}}, "x1"),
        (FILE | {"if": {"required": ["size"]}, "then": {"properties": {"unit": TEXT}}}, "unit"),
        ({"type": "object"}, "anything.at[0].all"),
        ({}, "anything"),
        ({"type": "object", "properties": {}}, "anything"),
        (FILES | {"$defs": {"File": FILE}}, "files.0.size"),
        (FILES, "files.0.what"),  # what it names is not there
        (FILES | {"$defs": {"File": {"$ref": "https://example.com/file.json"}}}, "files.0.what"),
        (NODE | {"$defs": {"Node": NODE}}, "next.next.next"),
        ({"anyOf": [FILE, {"type": "object", "properties": {"url": TEXT}}]}, "url"),
        ({"anyOf": [FILE, {"type": "object"}]}, "url"),
        ({"oneOf": [{"type": "null"}, FILE]}, "size"),
        (CLOSED, "owner"),
        ({"type": "array", "prefixItems": [FILE]}, "7.what"),
        ({"type": ["array", "null"], "items": FILE}, "0.name"),
        (FILE | {"anyOf": [{"required": ["name"]}, {"required": ["size"]}]}, "size"),
    ],
)
def test_what_a_schema_has_or_leaves_open_is_not_missing(schema: dict[str, Any], path: str) -> None:
    assert shape(schema).missing(path.split(".")) is None


@each(
    ("schema", "path", "missing"),
    [
        (FILE, "nmae", Missing("nmae", "an object with name, size", "name")),
        (FILE, "name.first", Missing("first", "a string", None)),
        (FILE | {"additionalProperties": False}, "owner", Missing("owner", "an object with name, size", None)),
        (FILES | {"$defs": {"File": FILE}}, "files.0.nam", Missing("nam", "an object with name, size", "name")),
        (FILES, "files.name", Missing("name", "a list, whose items are [0], [1] and so on", None)),
        (NODE | {"$defs": {"Node": NODE}}, "next.nxt", Missing("nxt", "an object with next", "next")),
        ({"anyOf": [FILE, {"type": "null"}]}, "owner", Missing("owner", "an object with name, size", None)),
        (CLOSED, "ownr", Missing("ownr", "an object with name, size, owner", "owner")),
        (
            FILE | {"anyOf": [{"required": ["name"]}, {}]},
            "sizes",
            Missing("sizes", "an object with name, size", "size"),
        ),
    ],
)
def test_what_a_schema_excludes_is_missing(schema: dict[str, Any], path: str, missing: Missing) -> None:
    assert shape(schema).missing(path.split(".")) == missing


@each(
    ("schema", "line"),
    [
        (FILES | {"$defs": {"File": FILE}}, "files: [{name: string, size: integer}]"),
        ({"anyOf": [TEXT, {"type": "null"}]}, "string"),
        ({"type": ["integer", "null"]}, "integer"),
        ({"type": "object", "properties": {str(n): TEXT for n in range(99)}}, "0: string, 1: string, 2: string"),
        (NODE | {"$defs": {"Node": NODE}}, "next: {next: {…}}"),
        ({}, "any"),
    ],
)
def test_a_shape_fits_one_line(schema: dict[str, Any], line: str) -> None:
    assert shape(schema).brief().startswith(line)
    assert len(shape(schema).brief()) <= 90


def test_a_schema_of_many_branches_is_read_in_time() -> None:
    again = {"$ref": "#/$defs/Wide"}
    wide = {"anyOf": [{"properties": {"deep": again}, "allOf": [again, again]} for _ in range(50)]}
    assert shape({**again, "$defs": {"Wide": wide}}).missing(["deep", "deep", "deeper"]) is not None
    assert shape({**again, "$defs": {"Wide": wide}}).types(["deep"]) is None


SEEN: list[tuple[list[Any], str]] = [
    ([{"name": "a", "tags": ["x"]}], "name: string, tags: [string]"),
    ([{"name": "a"}, {"name": None, "size": 1}], "name: string, size: integer"),
    ([{"items": [{"id": 1}]}, {"items": []}], "items: [{id: integer}]"),
    ([{"size": 1}, {"size": 1.5}, {"size": "big"}], "size: integer|number|string"),
    ([{"ann@example.com": 1, "bob@example.com": 2}], "{…}"),
    ([{"name": 1}, {"c0ffee11-dead": 2}], "{…}"),
    ([{f"a{at}": at for at in range(40)}], "{…}"),
    (["Found 3 files"], "string"),
    ([[{"id": 1}, {"id": 2, "url": "u"}]], "[{id: integer, url: string}]"),
    ([{}, {"error": "none"}], "error: string"),
]


@each(("values", "line"), SEEN)
def test_a_shape_is_made_of_values_and_has_none_of_them(values: list[Any], line: str) -> None:
    seen: dict[str, Any] = {}
    for one in values:
        seen = joined(seen, shape_of(one))
    assert shape(seen).brief() == line


def test_a_shape_stays_small() -> None:
    value: Any = 1
    for _ in range(6):
        value = {f"field_{letter}": value for letter in "abcdefghij"}
    assert len(json.dumps(shape_of(value))) <= 4000
