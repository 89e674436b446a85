"""Workflows that Loci plans itself, for what somebody wants."""

from pathlib import Path
from typing import Any

import pytest

from loci.core.identity import LOCAL
from tests.support.each import each
from tests.surface.conftest import on_both
from tests.surface.workflows.conftest import Flow, journal_server, task
from tests.surface.workflows.upstreams import add_memory, add_release

pytestmark = pytest.mark.anyio
ITEMS = {"items": [{"name": name, "size": at} for at, name in enumerate("abc")], "count": 3}
READ_AND_KEEP = "Read config.json and create a memory entity with its content"


async def approved(flow: Flow, answer: dict[str, Any]) -> dict[str, Any]:
    """The answer after the open checkpoint is approved."""
    return await flow.answer(
        "pml_approval_response",
        workflow_id=answer["workflow_id"],
        checkpoint_id=answer["checkpoint_id"],
        approved=True,
    )


@on_both
async def test_a_file_is_read_and_an_entity_is_created_with_its_content(flow: Flow, folder: Path) -> None:
    answer = await flow.answer("pml_execute_dag", intent=READ_AND_KEEP)
    assert answer["status"] == "paused"
    assert answer["results"] == {"t1": {"content": '{"port": 8080}'}}
    entity = {"name": "config", "content": '{"port": 8080}'}
    assert answer["checkpoint"]["tool"] == "journal:create_entities"
    assert answer["checkpoint"]["arguments"] == {"entities": [entity]}
    assert flow.begun() == []
    answer = await approved(flow, answer)
    assert answer["status"] == "complete"
    assert answer["results"]["t2"] == {"success": True, "created": 1}
    assert flow.begun() == [("create_entities", {"entities": [entity]})]


async def test_the_official_memory_gets_the_fields_that_it_wants(flow: Flow, folder: Path, tmp_path: Path) -> None:
    flow.app.tools.remove(LOCAL, "journal")
    add_memory(flow.app, tmp_path / "memory.json")
    answer = await flow.answer("pml_execute_dag", intent=READ_AND_KEEP)
    assert answer["status"] == "paused"
    assert not (tmp_path / "memory.json").exists()
    answer = await approved(flow, answer)
    assert answer["status"] == "complete"
    created = {"name": "config", "entityType": "file", "observations": ['{"port": 8080}']}
    assert answer["results"]["t2"] == {"entities": [created]}
    assert "8080" in (tmp_path / "memory.json").read_text()


async def test_a_deployment_pauses_after_its_first_layer_and_before_it_deploys(flow: Flow, tmp_path: Path) -> None:
    released = tmp_path / "released.txt"
    flow.app.tools.remove(LOCAL, "journal")
    add_release(flow.app, released)
    answer = await flow.answer("pml_execute_dag", intent="Deploy new version to production", per_layer_validation=True)
    assert answer["status"] == "layer_complete"
    assert answer["layer_results"][0]["result"] == {"version": "1.4.0", "tests_passed": True}
    assert answer["next_layer"][0]["arguments"] == {"version": "1.4.0", "environment": "production"}
    reason = "Tests passed, approved for deployment"
    answer = await flow.answer("pml_continue", workflow_id=answer["workflow_id"], reason=reason)
    assert answer["status"] == "paused"
    assert not released.exists()
    answer = await approved(flow, answer)
    assert answer["status"] == "complete"
    assert released.read_text() == "1.4.0 to production\n"


async def test_a_plan_that_lacks_an_argument_is_told_and_not_run(flow: Flow, folder: Path) -> None:
    answer = await flow.answer("pml_execute_dag", intent="Move config.json")
    assert answer["status"] == "plan"
    assert [(one["task"], one["argument"]) for one in answer["missing_arguments"]] == [("t1", "destination")]
    assert answer["workflow"]["tasks"][0]["arguments"] == {"source": "config.json"}
    assert "pml_execute_dag(workflow" in answer["next_action"]
    assert (folder / "config.json").exists()


async def test_a_plan_that_was_told_runs_when_it_is_complete(flow: Flow, folder: Path) -> None:
    answer = await flow.answer("pml_execute_dag", intent="Move config.json")
    workflow = answer["workflow"]
    workflow["tasks"][0]["arguments"]["destination"] = "moved.json"
    answer = await flow.answer("pml_execute_dag", workflow=workflow)
    assert answer["status"] == "complete"
    assert (folder / "moved.json").exists()


async def test_an_intent_that_no_tool_fits_says_so(flow: Flow) -> None:
    answer = await flow.answer("pml_execute_dag", intent="Bake a cake")
    assert (answer["status"], answer["workflow"]) == ("plan", {"tasks": []})
    assert "Probably no tool does 'Bake a cake'" in answer["next_action"]


async def test_tools_that_may_be_meant_are_told_with_what_they_take(flow: Flow, folder: Path) -> None:
    answer = await flow.answer("pml_execute_dag", intent="Show me the contents of config.json")
    assert answer["status"] == "plan"
    found = {one["tool"]: one for one in answer["candidates"][0]["tools"]}
    assert answer["workflow"]["tasks"][0]["tool"] == "filesystem:read_text_file"
    assert found["filesystem:read_text_file"]["arguments"]["path"].startswith("string, required")
    answer = await flow.answer("pml_execute_dag", workflow=answer["workflow"])
    assert answer["results"] == {"t1": {"content": '{"port": 8080}'}}


async def test_what_is_certain_runs_at_once(flow: Flow, folder: Path) -> None:
    (folder / "src").mkdir()
    rows: dict[str, Any] = {
        "Search for files matching *.json in .": {"t1": {"content": str(folder / "config.json")}},
        "Search for config.* in ./": {"t1": {"content": str(folder / "config.json")}},
        "List the directory src/.": {"t1": {"content": ""}},
        "List some items; list the directory src/": {"t1": ITEMS, "t2": {"content": ""}},
    }
    for intent, results in rows.items():
        answer = await flow.answer("pml_execute_dag", intent=intent)
        assert (answer["status"], answer.get("results")) == ("complete", results), (intent, answer)


async def test_two_tools_that_do_the_same_are_a_question(flow: Flow, folder: Path, tmp_path: Path) -> None:
    flow.app.tools.add(LOCAL, "diary", journal_server(tmp_path / "diary.jsonl"))
    flow.app.tools.ask(LOCAL, "diary")
    answer = await flow.answer("pml_execute_dag", intent="List some items")
    assert answer["status"] == "plan"
    assert {one["tool"] for one in answer["candidates"][0]["tools"]} == {"diary:items", "journal:items"}
    answer = await flow.answer("pml_execute_dag", intent="List some items of the diary")
    assert (answer["status"], answer["workflow"]["tasks"][0]["tool"]) == ("complete", "diary:items")


@each(
    "intent",
    [
        pytest.param("Deploy the value 'x' and 'y'", id="two values for one place"),
        pytest.param("Note down the value 'x' in red", id="a word that no tool knows"),
        pytest.param("Undo the note 'x'", id="another verb"),
        pytest.param("Do not note down the value 'x'", id="a negation"),
        pytest.param("Note down the value 'x' unless it is there", id="a condition"),
        pytest.param("Create entities in memory for config.json", id="no value for what it needs"),
        pytest.param("Translate config.json into French", id="no tool at all"),
        pytest.param("Shall we note down the value 'x'?", id="a question"),
        pytest.param(
            "Read config.json, list the directory ./, then note down its content", id="the content of one of two tasks"
        ),
        pytest.param("Create a directory x/, then note down its content", id="the content of what was changed"),
    ],
)
async def test_nothing_runs_that_is_not_certain(flow: Flow, folder: Path, intent: str) -> None:
    answer = await flow.answer("pml_execute_dag", intent=intent)
    assert answer["status"] == "plan"
    assert flow.begun() == []


async def test_a_step_that_no_tool_fits_keeps_the_rest_from_running(flow: Flow, folder: Path) -> None:
    answer = await flow.answer("pml_execute_dag", intent="Read config.json, then bake a cake")
    assert answer["status"] == "plan"
    assert "bake a cake" in answer["next_action"]


async def test_the_context_gives_arguments(flow: Flow, folder: Path) -> None:
    context = {"file_path": "config.json"}
    answer = await flow.answer("pml_execute_dag", intent="Read the file path", config={"context": context})
    assert answer["status"] == "complete"
    assert answer["results"] == {"t1": {"content": '{"port": 8080}'}}


async def test_the_same_intent_gives_the_same_plan(flow: Flow, folder: Path) -> None:
    first = await flow.answer("pml_execute_dag", intent="Move config.json")
    second = await flow.answer("pml_execute_dag", intent="Move config.json")
    assert first == second


async def test_a_rejected_task_of_a_plan_is_never_done(flow: Flow, folder: Path) -> None:
    answer = await flow.answer("pml_execute_dag", intent=READ_AND_KEEP)
    answer = await flow.answer(
        "pml_approval_response",
        workflow_id=answer["workflow_id"],
        checkpoint_id=answer["checkpoint_id"],
        approved=False,
    )
    assert answer["status"] == "aborted"
    assert flow.begun() == []


async def test_a_tool_that_the_operator_denies_is_not_planned(flow: Flow, tmp_path: Path) -> None:
    released = tmp_path / "released.txt"
    add_release(flow.app, released)
    flow.app.tools.add(LOCAL, "journal", journal_server(flow.journal) | {"deny": ["deploy"]})
    flow.app.tools.ask(LOCAL, "journal")
    answer = await flow.answer("pml_execute_dag", intent="Deploy new version to production", per_layer_validation=True)
    assert answer["status"] == "layer_complete"
    assert answer["next_layer"][0]["tool"] == "release:deploy_version"


async def test_what_a_caller_writes_is_not_asked_about(flow: Flow) -> None:
    answer = await flow.run(task("t1", "create_entities", entities=[{"name": "a", "content": "b"}]))
    assert answer["status"] == "complete"


async def test_context_must_be_an_object(flow: Flow) -> None:
    told = await flow.failed("pml_execute_dag", intent="Read config.json", config={"context": [1]})
    assert "INVALID_PARAMS" in told


async def test_an_intent_of_too_many_steps_is_refused(flow: Flow) -> None:
    told = await flow.failed("pml_execute_dag", intent="list some items, then " * 40)
    assert told.startswith("INVALID_PARAMS")
