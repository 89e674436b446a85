"""Arguments against schemas that nobody here wrote."""

from typing import Any, cast

import pytest

from loci.core.errors import Refused
from loci.core.json import Json
from loci.gateway.arguments import MOST_FAULTS, check_arguments
from tests.support.each import each

TEXTS: dict[str, Any] = {
    "type": "object",
    "properties": {"items": {"type": "array", "items": {"type": "object", "properties": {"n": {"type": "integer"}}}}},
    "required": ["items"],
}


def test_a_fault_is_told_with_its_path() -> None:
    with pytest.raises(Refused, match=r"arguments\.items\[1\]\.n: 'x' is not of type 'integer'"):
        check_arguments("a:b", TEXTS, {"items": [{"n": 1}, {"n": "x"}]})


def test_no_more_faults_are_told_than_somebody_reads() -> None:
    with pytest.raises(Refused) as refused:
        check_arguments("a:b", TEXTS, {"items": [cast("Json", {"n": "x"})] * 1000})
    assert refused.value.what.count("arguments.items") == MOST_FAULTS


def test_references_that_double_at_each_level_end() -> None:
    doubling: dict[str, Any] = {f"a{n}": {"allOf": [{"$ref": f"#/$defs/a{n + 1}"}] * 2} for n in range(60)}
    check_arguments("a:b", {"$defs": {**doubling, "a60": {}}, "$ref": "#/$defs/a0"}, {})


@each(
    "broken",
    [
        {"type": "no such type"},
        {"$ref": "https://example.com/schema.json"},
        {"$ref": "#"},
        {"properties": {"a": {"pattern": "(a+)+$"}}},
        {"$schema": "https://json-schema.org/draft/2019-09/schema", "$recursiveRef": "#"},
    ],
)
def test_a_schema_that_is_broken_refuses_nothing(broken: dict[str, Any]) -> None:
    check_arguments("a:b", broken, {"a": "a" * 40 + "!"})


def test_the_same_schema_judges_each_call_anew() -> None:
    check_arguments("a:b", TEXTS, {"items": []})
    with pytest.raises(Refused, match="'items' is a required property"):
        check_arguments("a:b", TEXTS, {})
