"""What the tools of workflows take: a wrong parameter is told, not passed over."""

from typing import Any

import pytest

from tests.surface.workflows.conftest import Flow, task

pytestmark = pytest.mark.anyio
PLAN: dict[str, Any] = {"tasks": [task("t1", "note", value=1), task("t2", "note", "t1", value=2)]}


@pytest.mark.parametrize(
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


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({}, "Neither intent nor workflow is given"),
        ({"intent": " "}, "The intent is empty"),
        ({"intent": "", "workflow": PLAN}, "Both intent and workflow are given"),
        ({"intent": "note 1", "workflow": PLAN}, "Both intent and workflow are given"),
    ],
)
async def test_a_call_that_gives_no_goal_or_two_is_told_so(flow: Flow, given: dict[str, Any], said: str) -> None:
    failure = await flow.failed("pml_execute_dag", **given)
    assert failure.startswith(f"INVALID_PARAMS: {said}")
    assert flow.begun() == []


@pytest.mark.parametrize(
    ("tool", "more"),
    [
        ("pml_continue", {}),
        ("pml_abort", {"reason": "enough"}),
        ("pml_replan", {"new_requirement": "note 3"}),
        ("pml_approval_response", {"checkpoint_id": "cp_1", "approved": True}),
        ("pml_workflow_status", {}),
    ],
)
async def test_an_empty_id_is_no_workflow(flow: Flow, tool: str, more: dict[str, Any]) -> None:
    failure = await flow.failed(tool, workflow_id="", **more)
    assert failure.startswith("WORKFLOW_NOT_FOUND: There is no workflow ''")
