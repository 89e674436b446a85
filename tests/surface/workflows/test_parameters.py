"""What the tools of workflows take: a wrong parameter is told, not passed over."""

from typing import Any

import pytest

from tests.support.each import each
from tests.surface.workflows.conftest import Flow, task

pytestmark = pytest.mark.anyio


@pytest.fixture
def flow(same_flow: Flow) -> Flow:
    return same_flow


PLAN: dict[str, Any] = {"tasks": [task("t1", "note", value=1), task("t2", "note", "t1", value=2)]}


@each(
    ("config", "said"),
    [
        ({"per_layer_validation": "true"}, "config.per_layer_validation is neither true nor false"),
        ({"per_layer_validation": 1}, "config.per_layer_validation is neither true nor false"),
        ({"perLayerValidation": True}, "config has no 'perLayerValidation'"),
        ({"context": [1]}, "config.context is no object"),
        ({"context": {"a": 1}}, "config.context is for an intent"),
    ],
)
async def test_a_setting_that_would_not_count_is_refused(flow: Flow, config: dict[str, Any], said: str) -> None:
    failure = await flow.failed("pml_execute_dag", workflow=PLAN, config=config)
    assert failure.startswith("INVALID_PARAMS: ")
    assert said in failure
    assert flow.begun() == []


@each("given", ["yes", "no", "true", 1, 0, None])
async def test_what_is_neither_true_nor_false_does_not_decide(flow: Flow, given: object) -> None:
    if given is not None:  # for what may be left out, it says that it is
        failure = await flow.failed("pml_execute_dag", workflow=PLAN, per_layer_validation=given)
        assert failure.startswith("INVALID_PARAMS: per_layer_validation: Input should be a valid boolean")
        assert flow.begun() == []
    asked = await flow.run(task("t1", "deploy", value=1) | {"approve": True})
    answer = {"workflow_id": asked["workflow_id"], "checkpoint_id": asked["checkpoint_id"]}
    failure = await flow.failed("pml_approval_response", **answer, approved=given)
    assert failure.startswith("INVALID_PARAMS: approved: Input should be a valid boolean")
    assert (await flow.answer("pml_workflow_status", workflow_id=asked["workflow_id"]))["status"] == "paused"
    assert flow.begun() == []


@each(
    ("more", "said"),
    [
        ({"approve": "yes"}, "approve: Input should be true, false, 'agent' or 'human'"),
        ({"approve": 1}, "approve: Input should be true, false, 'agent' or 'human'"),
        ({"idempotent": "yes"}, "idempotent: Input should be true or false"),
        ({"retry": True}, "retry: Input should be a number"),
        ({"retry": -1}, "retry: Input should be greater than or equal to 0"),
        ({"timeout": True}, "timeout: Input should be a number"),
        ({"timeout": 0}, "timeout: Input should be greater than or equal to 1"),
        ({"timeout": -5}, "timeout: Input should be greater than or equal to 1"),
        ({"timeout": 0.5}, "timeout: Input should be a valid integer"),
        ({"timeout": 10**30}, "timeout: Input should be less than or equal to 300000"),
        ({"sandbox_config": {"timeout": True}}, "sandbox_config.timeout: Input should be a number"),
    ],
)
async def test_a_field_of_a_task_that_would_count_otherwise_is_refused(
    flow: Flow, more: dict[str, Any], said: str
) -> None:
    failure = await flow.failed("pml_execute_dag", workflow={"tasks": [task("t1", "note", value=1) | more]})
    assert failure.startswith(f"INVALID_PARAMS: The workflow is wrong: task 't1': {said}")
    assert flow.begun() == []


@each("empty", ["", " ", "\n\t\u00a0"])
async def test_an_abort_without_a_reason_and_a_replan_without_a_requirement_change_nothing(
    flow: Flow, empty: str
) -> None:
    id = (await flow.run(*PLAN["tasks"], per_layer_validation=True))["workflow_id"]
    failure = await flow.failed("pml_abort", workflow_id=id, reason=empty)
    assert failure == "INVALID_PARAMS: The reason is empty. Say why the workflow is stopped."
    failure = await flow.failed("pml_replan", workflow_id=id, new_requirement=empty)
    assert failure == "INVALID_PARAMS: The new_requirement is empty. Say what is to be added."
    assert (await flow.answer("pml_continue", workflow_id=id, reason=empty))["status"] == "complete"


@each(
    ("given", "said"),
    [
        ({}, "Neither intent nor workflow is given"),
        ({"intent": " "}, "The intent is empty"),
        ({"intent": ""}, "Neither intent nor workflow is given"),
        (
            {"intent": "note 1", "workflow": PLAN},
            "Both intent and workflow are given. Give one of them; title names a run",
        ),
    ],
)
async def test_a_call_that_gives_no_goal_or_two_is_told_so(flow: Flow, given: dict[str, Any], said: str) -> None:
    failure = await flow.failed("pml_execute_dag", **given)
    assert failure.startswith(f"INVALID_PARAMS: {said}")
    assert flow.begun() == []


@each(
    ("tool", "more"),
    [
        ("pml_continue", {}),
        ("pml_abort", {"reason": "enough"}),
        ("pml_replan", {"new_requirement": "note 3"}),
        ("pml_approval_response", {"checkpoint_id": "cp_1", "approved": True}),
    ],
)
async def test_an_empty_id_is_no_workflow(flow: Flow, tool: str, more: dict[str, Any]) -> None:
    failure = await flow.failed(tool, workflow_id="", **more)
    assert failure.startswith("WORKFLOW_NOT_FOUND: There is no workflow ''")
