"""What answers about runs say, and to whom."""

import pytest

from tests.support.each import each
from tests.surface.workflows.conftest import Flow, task

pytestmark = pytest.mark.anyio
GATED = {**task("t1", "note", value=1), "approve": True}


async def test_an_aborted_run_tells_why_it_was_aborted_and_not_what_was_said_later(flow: Flow) -> None:
    asked = await flow.run(
        GATED, task("t2", "echo", value=2), task("t3", "echo", "t2", value=3), per_layer_validation=True
    )
    of = {"workflow_id": asked["workflow_id"]}
    await flow.answer(
        "pml_approval_response", **of, checkpoint_id=asked["checkpoint_id"], approved=False, feedback="not today"
    )
    answer = await flow.answer("pml_continue", **of, reason="the rest is fine")
    assert (answer["status"], answer["reason"]) == ("aborted", "not today")


async def test_only_an_answer_with_a_link_speaks_of_it(flow: Flow) -> None:
    asked = await flow.run({**GATED, "approve": "human"})
    assert ("approval_url" in asked["next_action"]) == ("approval_url" in asked)
    assert f"loci approve {asked['workflow_id']}" in asked["next_action"]


async def test_what_a_failed_task_gave_is_told_as_a_failure(flow: Flow) -> None:
    failing = {**task("t1", "fail"), "on_error": "continue"}
    answer = await flow.run(failing, task("t2", "echo", value="$t1.result.name"))
    assert "$t1.result.name stands for nothing: null has no 'name'" in answer["tasks"][1]["error"]
    assert "t1 gave nothing, or failed" in answer["tasks"][1]["error"]


@each(
    ("written", "said"),
    [("count.x", "a number has no 'x'"), ("items[0].name.x", "a text has no 'x'"), ("count[0]", "a number has no '0'")],
)
async def test_what_a_result_lacks_is_told_in_plain_words(flow: Flow, written: str, said: str) -> None:
    answer = await flow.run(task("t1", "items"), task("t2", "echo", value=f"$t1.result.{written}"))
    assert said in answer["tasks"][1]["error"]
