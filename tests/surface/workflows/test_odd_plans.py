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


@pytest.mark.parametrize(
    ("written", "said"),
    [
        ("$t1", "'$t1' is not what 't1' gave: write $t1.result, or $$t1 for the text"),
        ("there are $t1.count of them", "'$t1.count' is not what 't1' gave"),
        ("$t1.results[0]", "'$t1.results' is not what 't1' gave"),
        (["$t1[0]"], "'$t1[' is not what 't1' gave"),
    ],
)
async def test_what_names_a_task_but_not_its_result_is_refused(flow: Flow, written: object, said: str) -> None:
    failure = await flow.failed(
        "pml_execute_dag", workflow={"tasks": [task("t1", "items"), task("t2", "note", value=written)]}
    )
    assert failure.startswith("INVALID_PARAMS: The workflow is wrong: task 't2': ")
    assert said in failure
    assert flow.begun() == []


@pytest.mark.parametrize(
    ("written", "given"),
    [("$$t1", "$t1"), ("$$t1.count", "$t1.count"), ("$t10.count", "$t10.count"), ("for $t1 only", "for $t1 only")],
)
async def test_text_that_only_looks_like_it_is_kept(flow: Flow, written: str, given: str) -> None:
    answer = await flow.run(task("t1", "items"), task("t2", "echo", "t1", value=written))
    assert answer["results"]["t2"] == {"value": given}


@pytest.mark.parametrize("written", ["$$t1.result.items[-1]", "${t1.result.count}[-1]", "$t1.result.count [x]"])
async def test_brackets_that_belong_to_no_part_are_text(flow: Flow, written: str) -> None:
    answer = await flow.run(task("t1", "items", names=["x"]), task("t2", "echo", "t1", value=written))
    assert answer["results"]["t2"]["value"] in ("$t1.result.items[-1]", "1[-1]", "1 [x]")


ITEMS: dict[str, Any] = task("t1", "items")
CODE: dict[str, Any] = {"id": "t2", "type": "code_execution"}


@pytest.mark.parametrize(
    ("second", "said"),
    [
        (CODE | {"code": "return deps", "arguments": {"deps": 1}}, "`deps` holds the results of other tasks"),
        (CODE | {"code": "return deps.t1.items"}, "its code reads deps.t1, but does not wait for it: add dependsOn"),
        (CODE | {"code": "return deps['t1']"}, "its code reads deps.t1, but does not wait for it: add dependsOn"),
        (CODE | {"code": "return $t1.result.items"}, "$t1.result stands for nothing in code: read deps.t1"),
        (task("t2", "note", value=1) | {"code": "return 1"}, "it has code, but calls a tool"),
        (task("t2", "note", value=1) | {"dependsOn": "t1"}, "dependsOn: Input should be a list"),
        (task("t2", "note", value=1) | {"arguments": [1]}, "arguments: Input should be an object"),
        ("t2", "workflow.tasks[1]: Input should be an object"),
    ],
)
async def test_a_fault_of_one_task_is_found_before_any_runs(flow: Flow, second: Any, said: str) -> None:
    failure = await flow.failed("pml_execute_dag", workflow={"tasks": [ITEMS, second]})
    assert failure.startswith("INVALID_PARAMS: ")
    assert said in failure
    assert "tuple" not in failure
    assert flow.begun() == []


async def test_of_very_many_faults_some_are_told(flow: Flow) -> None:
    many = [task(f"t{at}", "note", "z" * 10_000, value=f"$x{at}.result") for at in range(200)]
    failure = await flow.failed("pml_execute_dag", workflow={"tasks": many})
    assert "task 't0' waits for 'zzz" in failure
    assert "and 395 more" in failure
    assert len(failure) < 3000
