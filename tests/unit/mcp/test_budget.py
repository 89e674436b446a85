"""The head of an answer."""

import json
from typing import Any, Literal, cast

import jsonschema
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pydantic import BaseModel, Field

from loci.mcp.head import head


class Done(BaseModel):
    kind: Literal["done"]
    text: str


class Failed(BaseModel):
    kind: Literal["failed"]
    why: str
    code: int


class Node(BaseModel):
    id: str
    kind: str = Field(json_schema_extra={"enum": ["brief", "debrief", "playbook"]})
    score: float | None
    note: str | None = None
    end: Done | Failed | None = None
    tags: list[str] = []
    children: list["Node"] = []


class Answer(BaseModel):
    results: list[Node]
    by_id: dict[str, Node]
    query: str
    total: int


words = st.text(max_size=400)
ends = st.one_of(
    st.none(),
    st.builds(Done, kind=st.just("done"), text=words),
    st.builds(Failed, kind=st.just("failed"), why=words, code=st.integers()),
)
nodes = st.recursive(
    st.builds(
        Node,
        id=words,
        kind=st.sampled_from(["brief", "debrief", "playbook"]),
        score=st.floats(0, 1),
        note=words,
        end=ends,
    ),
    lambda below: st.builds(
        Node, id=words, kind=st.just("brief"), score=st.none(), children=st.lists(below, max_size=4)
    ),
    max_leaves=8,
)
answers = st.builds(
    Answer,
    results=st.lists(nodes, max_size=8),
    by_id=st.dictionaries(st.text(max_size=20), nodes, max_size=8),
    query=words,
    total=st.integers(0, 10**6),
)
SCHEMA = Answer.model_json_schema()
VALID = jsonschema.Draft202012Validator(SCHEMA)


def size(value: object) -> int:
    return len(json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode())


@given(answers, st.lists(st.integers(600, 5000), min_size=4, max_size=4))
@settings(max_examples=60, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
def test_a_head_fits_and_is_valid_under_the_schema(answer: Answer, rooms: list[int]) -> None:
    """The answers are what takes long to make, so each is put into several rooms."""
    for room in rooms:
        short = head(answer.model_dump(), SCHEMA, room)
        VALID.validate(short)  # pyright: ignore[reportUnknownMemberType]
        assert size(short) <= room


@given(answers)
@settings(max_examples=50, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
def test_what_fits_is_left_alone(answer: Answer) -> None:
    assert head(answer.model_dump(), SCHEMA, 10**9) == answer.model_dump()


def test_the_first_items_stay_whole() -> None:
    items = [{"id": str(n), "text": "x" * 100} for n in range(50)]
    schema = {"type": "object", "properties": {"results": {"type": "array"}, "total": {"type": "integer"}}}
    short = cast("dict[str, Any]", head({"results": items, "total": 50}, schema, 1000))
    assert short["results"] == items[: len(short["results"])]
    assert len(short["results"]) > 5
    assert short["total"] == 50


def test_a_lone_large_text_fills_its_room() -> None:
    short = cast("dict[str, Any]", head({"text": "wörter " * 9000}, {"properties": {"text": {"type": "string"}}}, 4000))
    assert 3900 < size(short) <= 4000
    assert short["text"].endswith("…")


def test_deep_answers_are_shortened_as_fast_as_flat_ones() -> None:
    """Each level once: twice at every level would be 2^40 steps here."""
    deep: dict[str, Any] = {"id": "x" * 500, "children": []}
    for _ in range(40):
        deep = {"id": "x" * 500, "children": [deep]}
    assert size(head(deep, SCHEMA["$defs"]["Node"] | {"$defs": SCHEMA["$defs"]}, 5000)) < 15_000
