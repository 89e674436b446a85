"""The machine that moves workflows on: valid for AWS, which the emulators are not strict about, private and watched."""

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest

from loci.workflows.slice import LEASE_SECONDS
from tests.infra.conftest import CHANGES, Synthesised, of_each_stage
from tests.infra.synthesis import Stacks
from tests.support.each import each
from tests.support.workflow_machine import definition

MACHINE = "AWS::StepFunctions::StateMachine"
COMMON = {"Type", "Comment", "Next", "End", "InputPath", "OutputPath"}
FIELDS = {
    "Task": COMMON
    | {"Resource", "Parameters", "ResultSelector", "ResultPath", "Retry", "Catch", "HeartbeatSeconds"}
    | {"TimeoutSeconds", "TimeoutSecondsPath"},
    "Choice": {"Type", "Comment", "InputPath", "OutputPath", "Choices", "Default"},
    "Succeed": {"Type", "Comment", "InputPath", "OutputPath"},
    "Fail": {"Type", "Comment", "Error", "Cause"},
}
RETRY = {"ErrorEquals", "IntervalSeconds", "BackoffRate", "MaxAttempts", "MaxDelaySeconds", "JitterStrategy"}
LONGEST_PAYLOAD = 256 * 1024
OWN_ERRORS = {"States.ALL", "States.TaskFailed", "States.Timeout"}


@pytest.fixture(scope="module")
def made() -> dict[str, Any]:
    return definition(
        {"Function": "arn:aws:lambda:eu-west-1:123456789012:function:loci-dev-workflow", "Partition": "aws"}
    )


def states(made: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return made["States"]


def followers(state: dict[str, Any]) -> Iterator[str]:
    """The states that may come next."""
    if "Next" in state:
        yield state["Next"]
    for one in (*state.get("Choices", ()), *state.get("Catch", ())):
        yield one["Next"]
    if "Default" in state:
        yield state["Default"]


def test_it_has_six_states_of_known_kinds_with_no_unknown_field(made: dict[str, Any]) -> None:
    assert set(made) == {"Comment", "StartAt", "States"}
    assert len(states(made)) == 6
    for name, state in states(made).items():
        assert re.fullmatch(r"\w{1,80}", name)
        assert set(state) <= FIELDS[state["Type"]], name


def test_every_state_leads_to_a_state_and_is_reached(made: dict[str, Any]) -> None:
    reached, left = set[str](), [made["StartAt"]]
    while left:
        name = left.pop()
        reached.add(name)
        left += [one for one in followers(states(made)[name]) if one not in reached]
    assert reached == set(states(made))
    for state in states(made).values():
        assert state["Type"] in {"Succeed", "Fail", "Choice"} or ("Next" in state) != ("End" in state)


def test_a_rule_for_all_errors_stands_alone_and_last(made: dict[str, Any]) -> None:
    for state in states(made).values():
        for rules in (state.get("Retry", []), state.get("Catch", [])):
            for at, rule in enumerate(rules):
                if "States.ALL" in rule["ErrorEquals"]:
                    assert (rule["ErrorEquals"], at) == (["States.ALL"], len(rules) - 1)
                assert {one for one in rule["ErrorEquals"] if one.startswith("States.")} <= OWN_ERRORS
        for rule in state.get("Retry", []):
            assert set(rule) <= RETRY
            assert rule["MaxAttempts"] > 0
            assert rule["BackoffRate"] >= 1
            assert rule.get("MaxDelaySeconds", 3600) > rule["IntervalSeconds"]


def test_it_speaks_in_paths_and_not_in_jsonata(made: dict[str, Any]) -> None:
    text = json.dumps(made)
    assert "QueryLanguage" not in text
    assert "{%" not in text
    assert not {"Arguments", "Assign", "Output"} & {field for state in states(made).values() for field in state}
    for found in re.findall(r'"(\$[^"]*)"', text):
        assert re.fullmatch(r"\$(\$\.Task\.Token|(\.\w+)+)", found), found


def test_only_ids_travel(made: dict[str, Any]) -> None:
    payloads = [state["Parameters"]["Payload"] for state in states(made).values() if "Parameters" in state]
    sent = {name.removesuffix(".$") for payload in payloads for name in payload}
    assert sent == {"op", "tenant", "subject", "id", "token", "error"}
    # The longest names of owners, with every character escaped, an id, a token and the cause of an error of a function.
    longest = 2 * 512 * 12 + 100 + 1024 + 32 * 1024
    assert longest < LONGEST_PAYLOAD


def test_a_slice_that_crashed_is_tried_again_after_its_lease(made: dict[str, Any]) -> None:
    [again] = [one for one in states(made)["Advance"]["Retry"] if "States.TaskFailed" in one["ErrorEquals"]]
    assert again["IntervalSeconds"] > LEASE_SECONDS
    assert "States.Timeout" in again["ErrorEquals"]


@each("stage", CHANGES)
def test_a_slice_has_longer_than_its_function(made: dict[str, Any], stacks_of: Synthesised, stage: str) -> None:
    assert states(made)["Advance"]["TimeoutSeconds"] > stacks_of(stage).stage.workflow.timeout_s


def test_a_slice_that_crashes_for_good_reaches_the_run_and_then_the_alarm(made: dict[str, Any]) -> None:
    assert states(made)["Advance"]["Catch"][-1]["Next"] == "MarkFailed"
    assert states(made)["WaitForDecision"]["Catch"][-1]["Next"] == "MarkFailed"
    assert states(made)["MarkFailed"]["Next"] == "Failed"
    assert states(made)["Failed"]["Type"] == "Fail"


def test_a_pause_ends_when_the_run_says_so(made: dict[str, Any]) -> None:
    pause = states(made)["WaitForDecision"]
    assert pause["Resource"].endswith(".waitForTaskToken")
    assert pause["TimeoutSecondsPath"] == "$.slice.seconds"
    assert pause["Catch"][0] == {"ErrorEquals": ["States.Timeout"], "ResultPath": "$.failed", "Next": "Advance"}


@of_each_stage
def test_the_stack_has_that_machine_and_gives_it_its_function(stacks: Stacks) -> None:
    machine = stacks.workflows.one(MACHINE)
    assert machine["StateMachineType"] == "STANDARD"
    assert machine["StateMachineName"] == f"{stacks.stage.prefix}-workflow"
    assert stacks.workflows.read(machine["DefinitionSubstitutions"]["Function"]) == "<Workflow.Arn>"
    deployed = json.loads(machine["DefinitionString"])
    assert deployed == definition({})


@of_each_stage
def test_its_log_has_no_data_and_it_is_encrypted_and_traced(stacks: Stacks) -> None:
    machine = stacks.workflows.one(MACHINE)
    logged = machine["LoggingConfiguration"]
    assert (logged["Level"], logged["IncludeExecutionData"]) == ("ALL", False)
    [group] = [one["CloudWatchLogsLogGroup"]["LogGroupArn"] for one in logged["Destinations"]]
    assert stacks.workflows.read(group) == "<MachineLog.Arn>"
    assert machine["EncryptionConfiguration"] == {"Type": "AWS_OWNED_KEY"}
    assert machine["TracingConfiguration"] == {"Enabled": True}


@of_each_stage
def test_the_gateway_is_told_of_the_machine(stacks: Stacks) -> None:
    [function] = stacks.gateway.of_type("AWS::Lambda::Function").values()
    told = stacks.gateway.read(function["Environment"]["Variables"]["LOCI_WORKFLOW_MACHINE"])
    assert told.endswith(f":stateMachine:{stacks.stage.prefix}-workflow")


def test_a_failed_execution_raises_an_alarm(solo: Stacks) -> None:
    alarm = solo.operations.of_type("AWS::CloudWatch::Alarm")["WorkflowsFailed"]
    [dimension] = alarm["Dimensions"]
    assert (alarm["Namespace"], alarm["MetricName"], alarm["Threshold"]) == ("AWS/States", "ExecutionsFailed", 1)
    assert solo.operations.read(dimension["Value"]).endswith(":stateMachine:loci-solo-workflow")
