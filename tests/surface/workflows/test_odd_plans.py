"""Plans that are odd: each is refused before anything runs, or does what it says."""

from typing import Any

import pytest

from loci.core.identity import LOCAL
from tests.support.each import each
from tests.surface.workflows.conftest import Flow, task

pytestmark = pytest.mark.anyio


@pytest.fixture
def flow(same_flow: Flow) -> Flow:
    return same_flow


async def test_a_place_that_no_list_has_is_told_however_many_digits_it_has(flow: Flow) -> None:
    there = f"$t1.result.items[{'9' * 5000}]"
    answer = await flow.run(task("t1", "items"), task("t2", "note", value=there))
    assert "UNRESOLVED_REFERENCE" in answer["tasks"][1]["error"]
    gated: dict[str, Any] = {**task("t2", "note", value=there), "approve": True}
    answer = await flow.run(task("t1", "items"), gated)
    assert answer["status"] == "error", "nobody is asked about what cannot work"
    assert "UNRESOLVED_REFERENCE" in answer["tasks"][1]["error"]


@each(
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


@each(
    ("written", "said"),
    [
        ("$t1", "'$t1' is not what 't1' gave: write $t1.result, or $$t1 for the text"),
        ("there are $t1.count of them", "'$t1.count' is not what 't1' gave"),
        (
            "$t1.results[0]",
            "'$t1.results' is not what 't1' gave: write $t1.result ($t1.result.results for a part of it)",
        ),
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


@each(
    ("written", "given"),
    [("$$t1", "$t1"), ("$$t1.count", "$t1.count"), ("$t10.count", "$t10.count"), ("for $t1 only", "for $t1 only")],
)
async def test_text_that_only_looks_like_it_is_kept(flow: Flow, written: str, given: str) -> None:
    answer = await flow.run(task("t1", "items"), task("t2", "echo", "t1", value=written))
    assert answer["results"]["t2"] == {"value": given}


@each("written", ["$$t1.result.items[-1]", "${t1.result.count}[-1]", "$t1.result.count [x]"])
async def test_brackets_that_belong_to_no_part_are_text(flow: Flow, written: str) -> None:
    answer = await flow.run(task("t1", "items", names=["x"]), task("t2", "echo", "t1", value=written))
    assert answer["results"]["t2"]["value"] in ("$t1.result.items[-1]", "1[-1]", "1 [x]")


ITEMS: dict[str, Any] = task("t1", "items")
CODE: dict[str, Any] = {"id": "t2", "type": "code_execution"}


@each(
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


@each("arguments", [{"value": [{"a": {"$t1.result.count": 1}}]}, {"${t1.result.count}": 1}])
async def test_a_reference_in_the_name_of_a_field_is_refused(flow: Flow, arguments: dict[str, Any]) -> None:
    failure = await flow.failed("pml_execute_dag", workflow={"tasks": [ITEMS, task("t2", "note", **arguments)]})
    assert failure.startswith("INVALID_PARAMS: The workflow is wrong: task 't2': ")
    assert "is in the name of a field, where it stands for itself: write it in a value" in failure
    assert flow.begun() == []


async def test_dollars_in_the_names_of_fields_are_kept(flow: Flow) -> None:
    given = {"$set": {"$x.result": 1, "$$": 2, "$t1": 3}}
    answer = await flow.run(ITEMS, task("t2", "echo", value=given))
    assert answer["results"]["t2"] == {"value": given}


@each("id", ["t.1", "t1.result", "é", "日本", "a b", "", "$t1", "-a", "a\u200b", "\U0001f600"])
async def test_an_id_that_no_reference_could_name_is_refused(flow: Flow, id: str) -> None:
    failure = await flow.failed("pml_execute_dag", workflow={"tasks": [ITEMS, task(id, "note", value=1)]})
    said = f"task {id!r}: id: It may have A-Z, a-z, 0-9, _ and -, and does not begin with -"
    assert failure.startswith(f"INVALID_PARAMS: The workflow is wrong: {said}")
    assert flow.begun() == []


async def test_ids_that_differ_only_in_case_are_two_tasks(flow: Flow) -> None:
    tasks = [task("T1", "large", characters=2000), task("t1", "large", characters=3000)]
    answer = await flow.run(*tasks, task("t2", "note", value=["$T1.result.text", "$t1.result.text"]))
    assert answer["results"]["t2"] == {"value": ["x" * 2000, "x" * 3000]}


@each("part", ["__proto__", "constructor.name", "value.__class__", "value.length"])
async def test_what_a_result_does_not_have_is_no_part_of_it(flow: Flow, part: str) -> None:
    flow.anew()
    answer = await flow.run(task("t1", "echo", value={"a": 1}), task("t2", "note", value=f"$t1.result.{part}"))
    assert (answer["status"], answer["results"]) == ("error", {"t1": {"value": {"a": 1}}})
    assert answer["tasks"][1]["error"].startswith(f"UNRESOLVED_REFERENCE: $t1.result.{part} stands for nothing: ")
    assert [name for name, _ in flow.begun()] == ["echo"]


async def test_very_many_tasks_are_refused(flow: Flow) -> None:
    failure = await flow.failed(
        "pml_execute_dag", workflow={"tasks": [task(f"t{at}", "note", value=at) for at in range(1000)]}
    )
    assert failure.startswith("INVALID_PARAMS: The workflow is wrong: workflow.tasks: 1000 tasks; the most is 200.")
    assert flow.begun() == []


async def test_references_cannot_make_endless_arguments(flow: Flow) -> None:
    """Each step would be eleven times as large as the one before."""
    again = ["$t1.result.text"] * 11
    answer = await flow.run(
        task("t1", "large", characters=2_000_000),
        task("t2", "note", value=again),
        task("t3", "note", value="".join(again)),
        task("t4", "echo", value="$t1.result.text", key="small enough"),
    )
    states = flow.app.workflows.parts.runs.get(LOCAL, answer["workflow_id"]).tasks  # the answer is too long to be told
    assert [states[id].code for id in ("t1", "t2", "t3", "t4")] == [
        "",
        "ARGUMENTS_TOO_LARGE",
        "ARGUMENTS_TOO_LARGE",
        "",
    ]
    assert states["t2"].error.startswith("What its references stand for has more than 20,000,000 characters.")
    assert sorted(name for name, _ in flow.begun()) == ["echo", "large"]


async def test_of_very_many_faults_some_are_told(flow: Flow) -> None:
    many = [task(f"t{at}", "note", "z" * 10_000, value=f"$x{at}.result") for at in range(200)]
    failure = await flow.failed("pml_execute_dag", workflow={"tasks": many})
    assert "task 't0' waits for 'zzz" in failure
    assert "and 395 more" in failure
    assert len(failure) < 3000
