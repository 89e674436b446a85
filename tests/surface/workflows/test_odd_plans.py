"""Plans that are odd: each is refused before anything runs, or does what it says."""

from typing import Any

import pytest

from tests.surface.workflows.conftest import Flow, task

pytestmark = pytest.mark.anyio


async def test_a_place_that_no_list_has_is_told_however_many_digits_it_has(flow: Flow) -> None:
    there = f"$t1.result.items[{'9' * 5000}]"
    answer = await flow.run(task("t1", "items"), task("t2", "note", value=there))
    assert "UNRESOLVED_REFERENCE" in answer["tasks"][1]["error"]
    gated: dict[str, Any] = {**task("t2", "note", value=there), "approve": True}
    answer = await flow.run(task("t1", "items"), gated)
    assert answer["status"] == "paused"
    assert answer["checkpoint"]["arguments"] == {"value": there}


@pytest.mark.parametrize(
    ("written", "said"),
    [
        ("$t1.result.items[-1].name", "$t1.result.items[-1].name"),
        ("the names are $t1.result.items[*].name", "$t1.result.items[*].name"),
        ("${t1.result.items[-1]}", "${t1.result.items[-1]}"),
        ("$OUTPUT[t1].items[-1]", "$OUTPUT[t1].items[-1]"),
        ([{"deep": "$t1.result.items[first]"}], "$t1.result.items[first]"),
    ],
)
async def test_what_looks_like_a_part_but_is_none_is_refused(flow: Flow, written: object, said: str) -> None:
    failure = await flow.failed(
        "pml_execute_dag", workflow={"tasks": [task("t1", "items"), task("t2", "note", value=written)]}
    )
    assert failure.startswith("INVALID_PARAMS: The workflow is wrong: task 't2': ")
    assert repr(said) in failure
    assert "$$" in failure
    assert flow.begun() == []


@pytest.mark.parametrize("written", ["$$t1.result.items[-1]", "${t1.result.count}[-1]", "$t1.result.count [x]"])
async def test_brackets_that_belong_to_no_part_are_text(flow: Flow, written: str) -> None:
    answer = await flow.run(task("t1", "items", names=["x"]), task("t2", "echo", "t1", value=written))
    assert answer["results"]["t2"]["value"] in ("$t1.result.items[-1]", "1[-1]", "1 [x]")
