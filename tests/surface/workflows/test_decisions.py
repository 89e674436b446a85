"""Workflows that wait: for the next layer, for an approval, for a person."""

import asyncio
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from mcp import Client
from mcp.client import ClientRequestContext
from mcp_types import CallToolResult, ElicitRequestParams, ElicitResult

from loci.compose import build_app
from loci.core.identity import LOCAL
from loci.core.settings import load_settings
from loci.mcp.server import build_server
from tests.support.each import each
from tests.surface.conftest import Mode
from tests.surface.results import structured, texts
from tests.surface.workflows.conftest import Flow, journal_server, on_lasting_both, task, with_journal

pytestmark = pytest.mark.anyio


@pytest.fixture
def flow(same_flow: Flow) -> Flow:
    return same_flow


FOUR = [task("t1", "echo", value=1)] + [task(f"t{at}", "note", value=f"$t{at - 1}.result.value") for at in (2, 3, 4)]
GATED = task("deploy", "deploy", "t1", value="$t1.result.value") | {"approve": True}
PLAN = [
    task("t1", "echo", value="v2"),
    GATED,
    task("after", "note", "deploy", value="live"),
    task("aside", "note", value=0),
]


@on_lasting_both
async def test_four_layers_are_walked_one_by_one(flow: Flow) -> None:
    answer = await flow.run(*FOUR, per_layer_validation=True)
    for layer in (1, 2, 3):
        assert (answer["status"], answer["current_layer"], answer["total_layers"]) == ("layer_complete", layer, 4)
        [ended] = answer["layer_results"]
        assert (ended["taskId"], ended["status"], ended["result"]) == (f"t{layer}", "success", {"value": 1})
        [following] = answer["next_layer"]
        assert (following["id"], following["arguments"]) == (f"t{layer + 1}", {"value": 1})
        assert answer["next_action"] == "Use pml:continue to proceed"
        assert len(flow.begun()) == layer
        answer = await flow.answer("pml:continue", workflow_id=answer["workflow_id"], reason="looks right")
    assert answer["status"] == "complete"
    assert answer["results"] == {f"t{at}": {"value": 1} for at in (1, 2, 3, 4)}
    assert len(flow.begun()) == 4


async def test_the_flag_may_be_in_config(flow: Flow) -> None:
    assert (await flow.run(*FOUR, config={"per_layer_validation": True}))["status"] == "layer_complete"


async def test_without_the_flag_nothing_pauses(flow: Flow) -> None:
    assert (await flow.run(*FOUR))["status"] == "complete"


async def test_a_large_value_of_a_layer_is_kept_in_the_scratchpad(flow: Flow) -> None:
    answer = await flow.run(task("t1", "large", characters=90_000), task("t2", "note", "t1", value=1), config=LAYERS)
    [ended] = answer["layer_results"]
    assert ended["result"]["characters"] > 90_000
    read = await flow.call("scratchpad_read", id=ended["result"]["scratchpad_id"])
    assert "x" * 90_000 in texts(read)[0]


async def test_a_large_argument_of_the_next_layer_is_kept_in_the_scratchpad(flow: Flow) -> None:
    large, after = task("t1", "large", characters=100_000), task("t2", "note", value="$t1.result.text", key="small")
    answer = await flow.run(large, after, config=LAYERS)
    [following] = answer["next_layer"]
    assert following["arguments"]["key"] == "small"
    assert following["arguments"]["value"]["characters"] == 100_000
    read = await flow.call("scratchpad_read", id=following["arguments"]["value"]["scratchpad_id"])
    assert "x" * 9000 in texts(read)[0]
    assert answer["next_action"] == "Use pml:continue to proceed"


async def test_an_answer_that_is_too_long_still_says_how_to_go_on(flow: Flow) -> None:
    wide = [task(f"t{at}", "large", characters=4000) for at in range(20)]
    plan = {"tasks": [*wide, task("last", "note", "t1", value=1)]}
    layer = structured(await flow.call("pml_execute_dag", workflow=plan, config=LAYERS))
    assert layer["next_action"] == "Use pml:continue to proceed"
    assert all("scratchpad_id" in one["result"] for one in layer["layer_results"])
    gated = task("t2", "deploy", value="$t1.result.text") | {"approve": True}
    plan = {"tasks": [task("t1", "large", characters=100_000), gated]}
    asked = structured(await flow.call("pml_execute_dag", workflow=plan))
    assert asked["next_action"] == "Use pml:approval_response to approve or reject it"
    assert (asked["checkpoint"]["task"], asked["checkpoint"]["tool"]) == ("t2", "journal:deploy")


async def test_a_run_that_waits_after_a_layer_is_paused(flow: Flow) -> None:
    answer = await flow.run(*FOUR, per_layer_validation=True)
    status = await flow.answer("pml_workflow_status", workflow_id=answer["workflow_id"])
    assert status == answer | {"status": "paused"}


LAYERS = {"per_layer_validation": True}


async def test_continuing_what_has_ended_gives_its_results_again(flow: Flow) -> None:
    answer = await flow.run(*FOUR)
    again = await flow.answer("pml_continue", workflow_id=answer["workflow_id"])
    assert again["results"] == answer["results"]
    assert len(flow.begun()) == 4


@on_lasting_both
async def test_a_gated_task_shows_its_arguments_and_runs_after_the_approval_only(flow: Flow) -> None:
    answer = await flow.run(*PLAN)
    assert (answer["status"], answer["checkpoint"]["task"]) == ("paused", "deploy")
    assert answer["checkpoint"]["arguments"] == {"value": "v2"}
    assert answer["checkpoint_id"].startswith("cp_")
    assert sorted(name for name, _ in flow.begun()) == ["echo", "note"]
    answer = await approve(flow, answer, feedback="Operation validated, proceed with deployment")
    assert answer["status"] == "complete"
    assert [name for name, _ in flow.begun()][-2:] == ["deploy", "note"]


async def test_what_is_rejected_has_no_effect_and_what_does_not_wait_for_it_is_done(flow: Flow) -> None:
    answer = await approve(flow, await flow.run(*PLAN), approved=False, feedback="not on a Friday")
    assert answer["status"] == "aborted"
    told = {one["taskId"]: (one["status"], one.get("error")) for one in answer["tasks"]}
    assert told["deploy"] == ("skipped", "REJECTED: It was rejected: not on a Friday")
    assert told["after"][0] == "skipped"
    assert told["aside"][0] == "success"
    assert "deploy" not in [name for name, _ in flow.begun()]


async def test_what_the_plan_leaves_to_the_agent_the_agent_approves(flow: Flow) -> None:
    asked = await flow.run(task("t1", "deploy", value=1) | {"approve": "agent"}, title="Bring version 2 out")
    assert asked["checkpoint"]["only_human"] is False
    questions = flow.app.workflows.views.questions(LOCAL)
    [question] = [one for one in questions if one["workflow_id"] == asked["workflow_id"]]
    assert (question["title"], question["before"]) == ("Bring version 2 out", [])
    answer = await approve(flow, asked)
    assert [(one["what"], one["way"]) for one in answer["decisions"]] == [("approve t1", "agent")]
    assert flow.begun() == [("deploy", {"value": 1})]


async def test_a_second_answer_is_refused(flow: Flow) -> None:
    asked = await flow.run(*PLAN)
    await approve(flow, asked)
    failure = await flow.failed("pml_approval_response", **decision(asked))
    assert failure.startswith("CHECKPOINT_CLOSED: ")
    assert [name for name, _ in flow.begun()].count("deploy") == 1


async def test_of_two_answers_at_once_one_counts(flow: Flow) -> None:
    asked = await flow.run(*PLAN)
    given = [flow.call("pml_approval_response", **decision(asked, approved=at % 2 == 0)) for at in range(6)]
    answers = await asyncio.gather(*given)
    assert [one.is_error for one in answers].count(False) == 1
    ran = [name for name, _ in flow.begun()].count("deploy")
    [counted] = [structured(one) for one in answers if not one.is_error]
    assert ran == (1 if counted["status"] == "complete" else 0)


async def test_an_answer_to_another_checkpoint_is_refused(flow: Flow) -> None:
    asked = await flow.run(*PLAN)
    failure = await flow.failed("pml_approval_response", **decision(asked) | {"checkpoint_id": "cp_xyz789"})
    assert failure.startswith("CHECKPOINT_CLOSED: Checkpoint 'cp_xyz789' is not open in this workflow. It waits at cp_")
    assert "deploy" not in [name for name, _ in flow.begun()]


async def test_what_waits_for_an_approval_is_not_just_continued(flow: Flow) -> None:
    asked = await flow.run(*PLAN)
    failure = await flow.failed("pml_continue", workflow_id=asked["workflow_id"])
    assert failure.startswith("APPROVAL_NEEDED: The workflow waits for an approval of task 'deploy'")
    assert asked["checkpoint_id"] in failure


async def test_continuing_what_a_person_must_approve_says_how_they_can(flow: Flow) -> None:
    asked = await flow.run(task("deploy", "deploy", value=1) | {"approve": "human"})
    failure = await flow.failed("pml_continue", workflow_id=asked["workflow_id"])
    assert failure.startswith("APPROVAL_NEEDED: Only a person may approve task 'deploy'")
    assert f"loci approve {asked['workflow_id']}" in failure
    assert flow.begun() == []


async def test_an_abort_leaves_what_is_done_and_starts_nothing(flow: Flow) -> None:
    asked = await flow.run(*PLAN)
    answer = await flow.answer(
        "pml_abort", workflow_id=asked["workflow_id"], reason="Error detected in layer 1 results"
    )
    assert (answer["status"], answer["reason"]) == ("aborted", "Error detected in layer 1 results")
    assert answer["results"] == {"t1": {"value": "v2"}, "aside": {"value": 0}}
    assert (await flow.failed("pml_approval_response", **decision(asked))).startswith("CHECKPOINT_CLOSED: ")
    assert (await flow.failed("pml_abort", workflow_id=asked["workflow_id"], reason="again")).startswith(
        "WORKFLOW_ENDED"
    )
    assert "deploy" not in [name for name, _ in flow.begun()]


async def test_an_abort_needs_a_reason(flow: Flow) -> None:
    asked = await flow.run(*PLAN)
    assert (await flow.failed("pml_abort", workflow_id=asked["workflow_id"])).startswith("INVALID_PARAMS: reason")


async def test_what_the_operator_wants_approved_is_gated_without_the_plan_saying_so(flow: Flow) -> None:
    flow.app.tools.add(LOCAL, "journal", journal_server(flow.journal) | {"approve": ["deploy"]})
    flow.app.tools.ask(LOCAL, "journal")
    answer = await flow.run(task("t1", "deploy", value="v3"))
    assert answer["checkpoint"]["reason"] == "the operator wants that a person approves each call of it"
    refused = await flow.failed("pml_approval_response", **decision(answer))
    assert refused.startswith("APPROVAL_NEEDED: Only a person may approve task 't1'")
    assert flow.begun() == []
    person = Person(approves=True)
    assert structured(await respond(flow, answer, person, "2026-07-28"))["status"] == "complete"
    with_journal(flow.app, flow.journal)  # as it was


# Checkpoints that only a person may answer

HUMAN = [task("t1", "deploy", value="v2") | {"approve": "human"}]
ERAS: tuple[Mode, ...] = ("legacy", "2026-07-28")


class Person:
    """Answers the form of their client."""

    def __init__(self, *, approves: bool) -> None:
        self.approves = approves
        self.asked: list[str] = []

    async def __call__(self, context: ClientRequestContext, params: ElicitRequestParams) -> ElicitResult:  # noqa: ARG002
        self.asked.append(params.message)
        return ElicitResult(action="accept", content={"approve": self.approves})


async def respond(flow: Flow, asked: dict[str, Any], person: Person, mode: Mode) -> CallToolResult:
    async with Client(build_server(flow.app, "tools"), mode=mode, elicitation_callback=person) as client:
        return await client.call_tool("pml_approval_response", decision(asked))


async def test_a_model_cannot_answer_for_a_person(flow: Flow) -> None:
    asked = await flow.run(*HUMAN)
    assert asked["checkpoint"]["only_human"] is True
    assert f"loci approve {asked['workflow_id']}" in asked["next_action"]
    failure = await flow.failed("pml_approval_response", **decision(asked))
    assert failure.startswith("APPROVAL_NEEDED: Only a person")
    assert flow.begun() == []
    rejected = await flow.answer("pml_approval_response", **decision(asked, approved=False))
    assert (rejected["status"], flow.begun()) == ("aborted", [])


@each("mode", ERAS)
async def test_a_client_that_can_ask_is_asked_and_shows_what_will_run(flow: Flow, mode: Mode) -> None:
    flow.anew()
    asked, person = await flow.run(*HUMAN), Person(approves=True)
    assert structured(await respond(flow, asked, person, mode))["status"] == "complete"
    [question] = person.asked
    assert 'journal:deploy with {"value": "v2"}' in question
    assert flow.begun() == [("deploy", {"value": "v2"})]


@each("mode", ERAS)
async def test_a_person_who_does_not_approve_leaves_it_waiting(flow: Flow, mode: Mode) -> None:
    asked = await flow.run(*HUMAN)
    answer = await respond(flow, asked, Person(approves=False), mode)
    assert texts(answer)[0].startswith("NOT_APPROVED: ")
    assert (await flow.answer("pml_workflow_status", workflow_id=asked["workflow_id"]))["status"] == "paused"
    assert flow.begun() == []


async def test_a_person_is_told_if_the_question_does_not_show_all(flow: Flow) -> None:
    long = [task("t1", "deploy", value="v" * 5000) | {"approve": "human"}]
    asked, person = await flow.run(*long), Person(approves=False)
    await respond(flow, asked, person, "2026-07-28")
    assert "v… (5,013 characters in all)" in person.asked[0]


async def test_a_setting_leaves_all_approvals_to_people(tmp_path: Path) -> None:
    settings = {"data": tmp_path / "data", "models": tmp_path, "workflow_approval": "person"}
    with closing(build_app(load_settings(settings))) as app:
        careful = with_journal(app, tmp_path / "journal.jsonl")
        asked = await careful.run(*PLAN)
        assert asked["checkpoint"]["only_human"] is True
        assert (await careful.failed("pml_approval_response", **decision(asked))).startswith("APPROVAL_NEEDED: ")


def decision(asked: dict[str, Any], **more: object) -> dict[str, Any]:
    """The arguments that approve what was asked."""
    named = {"workflow_id": asked["workflow_id"], "checkpoint_id": asked["checkpoint_id"]}
    return {**named, "approved": True, **more}


async def approve(flow: Flow, asked: dict[str, Any], **more: object) -> dict[str, Any]:
    return await flow.answer("pml:approval_response", **decision(asked, **more))


@each("missing", ["workflow_id", "checkpoint_id", "approved"])
async def test_an_answer_lacks_nothing(flow: Flow, missing: str) -> None:
    asked = await flow.run(*PLAN)
    given = {name: value for name, value in decision(asked).items() if name != missing}
    assert (await flow.failed("pml_approval_response", **given)).startswith(
        f"INVALID_PARAMS: {missing}: Field required"
    )
