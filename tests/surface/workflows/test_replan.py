"""Workflows that get more tasks while they are under way."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from loci.core.identity import LOCAL
from tests.support.each import each
from tests.surface.conftest import on_both
from tests.surface.workflows.conftest import Flow, task
from tests.surface.workflows.upstreams import add_files, add_release

pytestmark = pytest.mark.anyio
PARSE = "Parse discovered XML files"
FOUND = {"discovered_files": ["config.xml", "data.xml"]}


@pytest.fixture
def parsed(flow: Flow, tmp_path: Path) -> Path:
    """What the tool that parses has written down."""
    journal = tmp_path / "parsed.txt"
    add_release(flow.app, journal)
    return journal


async def paused(flow: Flow) -> dict[str, Any]:
    """A run that waits after the first of two layers."""
    answer = await flow.run(task("t1", "echo", value=1), task("t2", "note", "t1", value=2), per_layer_validation=True)
    assert answer["status"] == "layer_complete"
    return answer


async def replan(flow: Flow, id: str, requirement: str, **context: object) -> dict[str, Any]:
    return await flow.answer(
        "pml_replan", workflow_id=id, new_requirement=requirement, available_context=context or None
    )


@on_both
async def test_new_tasks_run_once_when_the_workflow_goes_on(flow: Flow, parsed: Path) -> None:
    id = (await paused(flow))["workflow_id"]
    answer = await replan(flow, id, PARSE, **FOUND)
    assert answer["status"] == "paused"
    assert [one["arguments"] for one in answer["added"]] == [{"path": "config.xml"}, {"path": "data.xml"}]
    assert (answer["new_tasks_count"], answer["total_tasks"]) == (2, 4)
    assert answer["next_action"] == "Use pml:continue to proceed"
    assert not parsed.exists()
    answer = await flow.answer("pml_continue", workflow_id=id)
    assert answer["status"] == "complete"
    assert sorted(parsed.read_text().splitlines()) == ["parsed config.xml", "parsed data.xml"]
    assert answer["results"]["t1"] == {"value": 1}
    assert [answer["results"][one]["root"] for one in ("t3", "t4")] == ["config", "data"]
    assert flow.begun() == [("echo", {"value": 1}), ("note", {"value": 2})]


async def test_new_tasks_are_in_the_next_layer(flow: Flow, parsed: Path) -> None:
    tasks = [task("t1", "echo", value=1), task("t2", "echo", "t1", value=2), task("t3", "echo", "t2", value=3)]
    answer = await flow.run(*tasks, per_layer_validation=True)
    id = answer["workflow_id"]
    await replan(flow, id, PARSE, **FOUND)
    answer = await flow.answer("pml_continue", workflow_id=id)
    assert (answer["status"], answer["current_layer"], answer["total_layers"]) == ("layer_complete", 2, 3)
    assert {one["taskId"] for one in answer["layer_results"]} == {"t2", "t4", "t5"}
    assert len(parsed.read_text().splitlines()) == 2
    answer = await flow.answer("pml_continue", workflow_id=id)
    assert answer["status"] == "complete"
    assert len(parsed.read_text().splitlines()) == 2


async def test_a_task_that_may_change_something_waits_for_its_own_approval(flow: Flow, parsed: Path) -> None:
    id = (await paused(flow))["workflow_id"]
    answer = await replan(flow, id, "Deploy new version to staging")
    assert {one["tool"]: one["needs_approval"] for one in answer["added"]} == {
        "release:latest_build": False,
        "release:deploy_version": True,
    }
    answer = await flow.answer("pml_continue", workflow_id=id)
    assert answer["status"] == "layer_complete"
    answer = await flow.answer("pml_continue", workflow_id=id)
    assert answer["status"] == "paused"
    assert answer["checkpoint"]["arguments"] == {"version": "1.4.0", "environment": "staging"}
    assert not parsed.exists()
    answer = await flow.answer(
        "pml_approval_response", workflow_id=id, checkpoint_id=answer["checkpoint_id"], approved=True
    )
    assert answer["status"] == "complete"
    assert parsed.read_text() == "1.4.0 to staging\n"


async def test_a_requirement_takes_what_earlier_tasks_gave(flow: Flow, tmp_path: Path) -> None:
    add_files(flow.app, tmp_path / "files")
    (tmp_path / "files" / "a.txt").write_text("hello")
    read = {"id": "read", "tool": "filesystem:read_text_file", "arguments": {"path": "a.txt"}}
    answer = await flow.run(read, task("t2", "echo", "read", value=2), per_layer_validation=True)
    id = answer["workflow_id"]
    answer = await replan(flow, id, "Write the content of a.txt to b.txt")
    assert answer["added"][-1]["arguments"]["path"] == "b.txt"
    answer = await flow.answer("pml_continue", workflow_id=id)
    while answer["status"] in ("layer_complete", "paused"):
        if answer["status"] == "paused":
            assert answer["checkpoint"]["arguments"] == {"path": "b.txt", "content": "hello"}
            answer = await flow.answer(
                "pml_approval_response", workflow_id=id, checkpoint_id=answer["checkpoint_id"], approved=True
            )
        else:
            answer = await flow.answer("pml_continue", workflow_id=id)
    assert answer["status"] == "complete"
    assert (tmp_path / "files" / "b.txt").read_text() == "hello"


@each("requirement", ["Bake a cake", "Parse the XML file"])
async def test_a_requirement_that_gives_nothing_changes_nothing(flow: Flow, parsed: Path, requirement: str) -> None:
    id = (await paused(flow))["workflow_id"]
    before = await flow.answer("pml_workflow_status", workflow_id=id)
    answer = await replan(flow, id, requirement)
    assert (answer["status"], answer["added"], answer["new_tasks_count"]) == ("paused", [], 0)
    assert answer["missing_arguments"] or "Probably no tool does" in answer["next_action"]
    assert "not changed" in answer["next_action"]
    assert await flow.answer("pml_workflow_status", workflow_id=id) == before


async def test_a_running_workflow_takes_new_tasks(flow: Flow, parsed: Path, tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    started = asyncio.create_task(flow.run(task("t1", "wait_for", file=str(gate)), task("t2", "echo", "t1", value=2)))
    while not flow.begun():
        await asyncio.sleep(0.02)
    runs = flow.app.workflows.parts.runs.all(LOCAL)
    answer = await replan(flow, next(iter(runs)), PARSE, **FOUND)
    assert (answer["status"], answer["new_tasks_count"]) == ("running", 2)
    gate.touch()
    answer = await started
    assert answer["status"] == "complete"
    assert sorted(parsed.read_text().splitlines()) == ["parsed config.xml", "parsed data.xml"]


async def test_a_workflow_that_has_ended_takes_no_tasks(flow: Flow, parsed: Path) -> None:
    answer = await flow.run(task("t1", "echo", value=1))
    told = await flow.failed(
        "pml_replan", workflow_id=answer["workflow_id"], new_requirement=PARSE, available_context=FOUND
    )
    assert told.startswith("WORKFLOW_ENDED")
    assert not parsed.exists()


async def test_a_workflow_is_replanned_ten_times_at_most(flow: Flow, parsed: Path) -> None:
    id = (await paused(flow))["workflow_id"]
    for number in range(10):
        answer = await replan(flow, id, PARSE, discovered_files=[f"{number}.xml"])
        assert answer["new_tasks_count"] == 1
    told = await flow.failed("pml_replan", workflow_id=id, new_requirement=PARSE, available_context=FOUND)
    assert told.startswith("TOO_MANY_REPLANS")
    answer = await flow.answer("pml_continue", workflow_id=id)
    assert answer["status"] == "complete"
    assert len(parsed.read_text().splitlines()) == 10


async def test_requirements_at_the_same_time_are_all_met(flow: Flow, parsed: Path) -> None:
    id = (await paused(flow))["workflow_id"]
    answers = await asyncio.gather(*(replan(flow, id, PARSE, discovered_files=[f"{one}.xml"]) for one in range(4)))
    ids = [one["id"] for answer in answers for one in answer["added"]]
    assert len(set(ids)) == 4
    answer = await flow.answer("pml_continue", workflow_id=id)
    assert answer["status"] == "complete"
    assert sorted(parsed.read_text().splitlines()) == [f"parsed {one}.xml" for one in range(4)]


async def test_an_unknown_workflow_is_not_replanned(flow: Flow) -> None:
    told = await flow.failed("pml_replan", workflow_id="wf_none", new_requirement=PARSE)
    assert told.startswith("WORKFLOW_NOT_FOUND")


@on_both
async def test_a_callers_own_tasks_take_what_was_done(flow: Flow) -> None:
    id = (await paused(flow))["workflow_id"]
    new = [task("t3", "echo", value="$t1.result.value"), task("t4", "note", value="$t3.result.value")]
    answer = await replan_with(flow, id, new)
    assert [(one["id"], one["tool"], one["needs_approval"]) for one in answer["added"]] == [
        ("t3", "journal:echo", False),
        ("t4", "journal:note", False),
    ]
    answer = await flow.answer("pml_continue", workflow_id=id)
    while answer["status"] == "layer_complete":
        answer = await flow.answer("pml_continue", workflow_id=id)
    assert answer["status"] == "complete"
    assert answer["results"]["t4"] == {"value": 1}
    assert flow.begun()[0] == ("echo", {"value": 1})
    assert [tool for tool, _ in flow.begun()].count("note") == 2


async def replan_with(flow: Flow, id: str, tasks: list[dict[str, Any]]) -> dict[str, Any]:
    return await flow.answer("pml_replan", workflow_id=id, new_requirement="Say it again", tasks=tasks)


WRONG: list[tuple[list[dict[str, Any]], str]] = [
    ([task("t1", "echo", value=2)], "the id 't1' is used 2 times"),
    ([task("t3", "echo", value="$t9.result")], "task 't3' waits for 't9', which is no task of this workflow"),
    ([task("t3", "no_such_tool")], "task 't3'"),
    ([task("t3", "sleep", ms="long")], "do not fit"),
    ([{"id": "t3"}], "it names no tool"),
    ([], "at least one task"),
]


@each(("tasks", "told"), WRONG)
async def test_a_callers_wrong_tasks_change_nothing(flow: Flow, tasks: list[dict[str, Any]], told: str) -> None:
    id = (await paused(flow))["workflow_id"]
    before = await flow.answer("pml_workflow_status", workflow_id=id)
    assert told in await flow.failed("pml_replan", workflow_id=id, new_requirement="Say it again", tasks=tasks)
    assert await flow.answer("pml_workflow_status", workflow_id=id) == before


async def test_a_callers_task_that_the_plan_or_the_operator_gates_waits(flow: Flow) -> None:
    id = (await paused(flow))["workflow_id"]
    answer = await replan_with(flow, id, [task("t3", "note", value=3) | {"approve": True}])
    assert answer["added"][0]["needs_approval"] is True
    answer = await flow.answer("pml_continue", workflow_id=id)
    assert (answer["status"], answer["checkpoint"]["arguments"]) == ("paused", {"value": 3})
