"""The limits of workflows, through the tools: active runs, tasks at once, pauses."""

import asyncio
from contextlib import closing, suppress
from typing import Any

import pytest

from loci.compose import build_app
from loci.core.errors import LociError
from loci.core.identity import LOCAL
from loci.core.settings import load_settings
from loci.workflows.parts import MOST_ACTIVE
from loci.workflows.slice import AT_ONCE
from tests.support.polling import until
from tests.surface.conftest import on_both
from tests.surface.results import texts
from tests.surface.workflows.conftest import Flow, journal_server, task

pytestmark = pytest.mark.anyio
LAYERS = (task("t1", "note", value=1), task("t2", "note", "t1", value=2))
GATED: dict[str, Any] = {**task("t1", "note", value=1), "approve": True}


async def test_the_101st_workflow_under_way_is_refused_and_runs_nothing(flow: Flow) -> None:
    for at in range(1, MOST_ACTIVE):
        flow.app.workflows.parts.active.begin(LOCAL, f"wf_{at}")
    first = await flow.run(GATED)
    flow.app.workflows.parts.active.begin(LOCAL, "wf_0")  # one that waits for a person takes no place
    told = await flow.failed("pml_execute_dag", workflow={"tasks": [task("t1", "note", value=2)]})
    assert told.startswith("TOO_MANY_WORKFLOWS: 100 workflows of yours are active, which is the most.")
    assert "100 of them run, the oldest are wf_1, wf_2, " in told
    assert "pml_abort" in told
    assert flow.begun() == []
    [asked] = flow.app.workflows.views.questions(LOCAL)
    assert asked["workflow_id"] == first["workflow_id"], "it can still be answered"
    await flow.answer("pml_abort", workflow_id=first["workflow_id"], reason="it is over")
    assert (await flow.failed("pml_execute_dag", workflow={"tasks": [GATED]})).startswith("TOO_MANY_WORKFLOWS")


async def test_nothing_raises_the_number_of_active_workflows(flow: Flow) -> None:
    """Neither a parameter nor a setting: both are refused."""
    for given in ({"max_active": 1000}, {"config": {"max_active": 1000}}):
        failure = await flow.failed("pml_execute_dag", workflow={"tasks": [GATED]}, **given)
        assert failure.startswith("INVALID_PARAMS: ")
    assert not [name for name in type(flow.app.settings).model_fields if "active" in name]


@on_both
async def test_a_pause_that_is_over_leaves_no_workflow(flow: Flow, monkeypatch: pytest.MonkeyPatch) -> None:
    """To the moment: an hour after it began."""
    clock = flow.app.workflows.parts.clock
    before = clock()
    asked, in_time = [await flow.run(*LAYERS, per_layer_validation=True) for _ in range(2)]
    records = {one.key: one for one in flow.app.records.list(LOCAL, "workflow").records}
    id, over = asked["workflow_id"], records[asked["workflow_id"]].expires_at
    assert over is not None
    assert before + 3599 < over < clock() + 3601  # a store may keep whole seconds
    answer = {"checkpoint_id": asked["checkpoint_id"], "approved": True}
    monkeypatch.setattr(flow.app.records, "_clock", lambda: over - 0.001)
    assert (await flow.answer("pml_continue", workflow_id=in_time["workflow_id"]))["status"] == "complete"
    for name in ("_clock", "_ages"):
        late_clock = lambda: over + 30  # noqa: E731 (on AWS the wait begins a little later)
        monkeypatch.setattr(flow.app.records, name, late_clock, raising=False)
    late: list[tuple[str, dict[str, Any]]] = [
        ("pml_workflow_status", {}),
        ("pml_continue", {}),
        ("pml_abort", {"reason": "late"}),
        ("pml_replan", {"new_requirement": "note 2"}),
        ("pml_approval_response", answer),
    ]
    for tool, more in late:
        told = await flow.failed(tool, workflow_id=id, **more)
        assert told.startswith("WORKFLOW_NOT_FOUND: ")
        assert "a paused one waits 1 h after a layer, and 168 h for an approval" in told


async def test_a_setting_changes_how_long_a_question_waits(flow: Flow) -> None:
    folder = flow.app.settings.data
    flow.app.close()
    with closing(build_app(load_settings({"data": folder, "approval_wait": "10h"}))) as app:
        patient = Flow(app, flow.journal)
        before = app.workflows.parts.clock()
        asked = await patient.run(GATED)
        record = app.records.get(LOCAL, "workflow", asked["workflow_id"])
        assert record is not None
        assert record.expires_at is not None
        assert before + 35_999 < record.expires_at < app.workflows.parts.clock() + 36_001
        assert (await patient.answer("pml_workflow_status", workflow_id=asked["workflow_id"]))["status"] == "paused"


@on_both
async def test_as_many_tasks_of_one_server_run_at_once_as_may_and_no_more(flow: Flow) -> None:
    answer = await flow.run(*(task(f"t{at}", "meet", others=AT_ONCE) for at in range(2 * AT_ONCE)))
    assert answer["status"] == "complete"
    running = most = 0
    for line in flow.lines():
        running += 1 if line["event"] == "begin" else -1
        most = max(most, running)
    assert most == AT_ONCE


async def test_a_call_of_a_tool_is_stopped_when_its_time_is_over(flow: Flow) -> None:
    flow.app.tools.add(LOCAL, "journal", journal_server(flow.journal) | {"seconds": 0.5})

    def is_up() -> bool:  # its start may take longer than that, and goes on
        with suppress(LociError):
            return bool(flow.app.tools.ask(LOCAL, "journal").tools)
        return False

    assert until(is_up)
    told = await flow.failed("journal:sleep", ms=20_000)
    assert "0.5 s" in told
    assert [line["event"] for line in flow.lines() if line["tool"] == "sleep"] == ["begin"]


@pytest.mark.exhaustive
async def test_without_a_setting_a_tool_has_thirty_seconds_in_a_call_and_in_a_task(flow: Flow) -> None:
    slow = {"workflow": {"tasks": [task("t1", "sleep", ms=45_000)]}}
    called, ran = await asyncio.gather(flow.call("journal:sleep", ms=45_000), flow.answer("pml_execute_dag", **slow))
    assert called.is_error
    assert "30 s" in texts(called)[0]
    if ran["status"] == "running":  # after 25 s
        ran = await flow.answer("pml_continue", workflow_id=ran["workflow_id"])
    assert ran["status"] == "error"
    assert "30 s" in ran["tasks"][0]["error"]
    assert [line["event"] for line in flow.lines() if line["tool"] == "sleep"] == ["begin", "begin"]
