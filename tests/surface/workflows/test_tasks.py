"""Workflows as tasks, for clients that have the protocol's Tasks extension."""

import json
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

from tests.support.each import each
from tests.support.polling import until
from tests.surface.workflows.conftest import ANN, task
from tests.surface.workflows.upstreams import add_giving
from tests.surface.workflows.visitors import Visitor

EXTENSION: dict[str, Any] = {"extensions": {"io.modelcontextprotocol/tasks": {}}}
PATIENCE = 60


@pytest.fixture
def ann(both: tuple[Visitor, Visitor]) -> Generator[Visitor]:
    """Her calls wait for a moment only."""
    parts = both[0].flow.app.workflows.parts
    before, parts.patience = parts.patience, 0.1
    yield both[0]
    parts.patience = before


@pytest.fixture
def gate(ann: Visitor, tmp_path: Path) -> Generator[Path]:
    """A file for which work waits that outlasts its call, however slow the machine is."""
    yield tmp_path / "gate"
    (tmp_path / "gate").touch()


def waits(gate: Path) -> dict[str, Any]:
    return task("t1", "wait_for", file=str(gate))


def begun(ann: Visitor, *tasks: dict[str, Any]) -> dict[str, Any]:
    call = {"name": "pml_execute_dag", "arguments": {"workflow": {"tasks": [*tasks]}}}
    return ann.ask("tools/call", call, can=EXTENSION)["result"]


def about(visitor: Visitor, id: str, method: str = "tasks/get", **more: object) -> dict[str, Any]:
    return visitor.ask(method, {"taskId": id, **more}, can=EXTENSION, name=id)


def ended(ann: Visitor, id: str, status: str) -> dict[str, Any]:
    """The task as soon as it has this status."""

    def found() -> dict[str, Any] | None:
        told = about(ann, id)["result"]
        return told if told["status"] == status else None

    return until(found, PATIENCE)


def test_work_that_outlasts_its_call_is_a_task_and_its_result_comes_with_it(ann: Visitor, gate: Path) -> None:
    begins = begun(ann, waits(gate))
    assert (begins["resultType"], begins["status"]) == ("task", "working")
    assert begins["pollIntervalMs"] > 0
    gate.touch()
    done = ended(ann, begins["taskId"], "completed")
    assert done["resultType"] == "complete"
    assert done["result"]["structuredContent"]["results"] == {"t1": {"found": True}}
    assert done["result"]["isError"] is False


def test_images_of_a_task_come_with_its_result(ann: Visitor, gate: Path, tmp_path: Path) -> None:
    picture = {"type": "image", "mimeType": "image/png", "data": "AAAA"}
    add_giving(ann.flow.app, tmp_path / "far", ANN)
    (tmp_path / "far" / "one.json").write_text(json.dumps({"content": [picture], "structuredContent": {"width": 8}}))
    begins = begun(ann, waits(gate), {"id": "t2", "tool": "far:give", "arguments": {"name": "one"}})
    gate.touch()
    result = ended(ann, begins["taskId"], "completed")["result"]
    assert result["structuredContent"]["results"]["t2"] == {"width": 8}
    assert result["content"][1:] == [{"type": "text", "text": "From task t2:"}, picture]


def test_work_that_is_done_in_time_is_no_task(both: tuple[Visitor, Visitor]) -> None:
    answer = begun(both[0], task("t1", "echo", value=1))
    assert answer["structuredContent"]["status"] == "complete"
    assert "taskId" not in answer


def test_a_client_without_the_extension_gets_an_answer_that_says_how_to_look_again(ann: Visitor, gate: Path) -> None:
    answer = ann.call("pml_execute_dag", {"workflow": {"tasks": [waits(gate)]}})
    assert (answer["status"], "pml:workflow_status" in answer["next_action"]) == ("running", True)
    refused = ann.ask("tasks/get", {"taskId": answer["workflow_id"]}, name=answer["workflow_id"])
    assert refused["error"]["code"] == -32021


@each(
    ("action", "says", "status"),
    [("accept", True, "complete"), ("accept", False, "aborted"), ("decline", True, "aborted")],
)
def test_a_person_is_asked_through_the_task(ann: Visitor, gate: Path, action: str, says: bool, status: str) -> None:
    ann.flow.anew()
    gate.unlink(missing_ok=True)
    gated = task("t2", "deploy", "t1", value="v2") | {"approve": "human"}
    id = begun(ann, waits(gate), gated)["taskId"]
    gate.touch()
    asked = ended(ann, id, "input_required")
    [(question, form)] = asked["inputRequests"].items()
    assert form["method"] == "elicitation/create"
    assert 'journal:deploy with {"value": "v2"}' in form["params"]["message"]
    about(ann, id, "tasks/update", inputResponses={question: {"action": action, "content": {"approve": says}}})
    done = ended(ann, id, "completed")
    assert done["result"]["structuredContent"]["status"] == status
    assert [name for name, _ in ann.flow.begun()].count("deploy") == (status == "complete")


def test_a_cancelled_task_is_an_aborted_workflow(ann: Visitor, gate: Path) -> None:
    id = begun(ann, waits(gate), task("t2", "note", "t1", value=1))["taskId"]
    about(ann, id, "tasks/cancel")
    assert ended(ann, id, "cancelled")["status"] == "cancelled"
    assert ann.call("pml_workflow_status", {"workflow_id": id})["status"] == "aborted"


def test_a_task_of_somebody_else_is_not_there(ann: Visitor, gate: Path, both: tuple[Visitor, Visitor]) -> None:
    id = begun(ann, waits(gate))["taskId"]
    for method in ("tasks/get", "tasks/cancel", "tasks/update"):
        more = {"inputResponses": {"cp_1": {"action": "accept"}}} if method == "tasks/update" else {}
        error = about(both[1], id, method, **more)["error"]
        assert (error["code"], error["message"].partition(":")[0]) == (-32602, "WORKFLOW_NOT_FOUND")


def test_a_header_that_names_another_task_is_refused(ann: Visitor, gate: Path) -> None:
    id = begun(ann, waits(gate))["taskId"]
    assert ann.ask("tasks/get", {"taskId": id}, can=EXTENSION, name="wf_other")["error"]["code"] == -32020
