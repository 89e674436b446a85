"""Workflows of a deployment that call a tool server, which writes down what it was asked."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from tests.deployed.deployment import FUNCTION as GATEWAY
from tests.deployed.deployment import Deployment
from tests.deployed.flow import FUNCTION, LAYER_ENDED, Flow, written
from tests.deployed.reaching import configure, telling
from tests.support.polling import until
from tests.support.tame_servers import TameServers

pytestmark = pytest.mark.aws


@pytest.fixture(scope="module")
def _reaching(deployment: Deployment, connect_function: str) -> Iterator[None]:
    told = {"LOCI_CONNECT_FUNCTION": connect_function}
    with telling(deployment, GATEWAY, told), telling(deployment, FUNCTION, told):
        yield


@pytest.fixture
def calling(
    flow: Flow, deployment: Deployment, servers: TameServers, _reaching: None, tmp_path_factory: pytest.TempPathFactory
) -> Flow:
    """The workflows of somebody whose tasks may call the servers."""
    configure(deployment, flow.user, servers, "clock", "admin", "shop", folder=tmp_path_factory.mktemp("command line"))
    return flow


def called(servers: TameServers, flow: Flow) -> list[str]:
    """The tools that the user's tasks have called."""
    return [one["tool"] for one in servers.calls() if one["who"] == flow.user.owner.subject]


def task(id: str, tool: str, *after: str, **arguments: object) -> dict[str, Any]:
    return {"id": id, "tool": tool, "arguments": arguments, "dependsOn": [*after]}


def test_an_abort_gives_up_the_call_that_runs_and_starts_nothing(calling: Flow, servers: TameServers) -> None:
    servers.hold()
    tasks = [
        written("a", approve=True),
        task("b", "clock:wait_for_it", "a") | {"timeout": 120_000},
        written("c", "b"),
        task("d", "admin:delete_all", "b"),
    ]
    asked = calling.settled(calling.answer("pml_execute_dag", workflow={"tasks": tasks}))
    id = asked["workflow_id"]
    with ThreadPoolExecutor(1) as beside:
        approved = {"workflow_id": id, "checkpoint_id": asked["checkpoint_id"], "approved": True}
        waiting = beside.submit(calling.answer, "pml_approval_response", **approved)
        until(lambda: called(servers, calling))
        aborted = calling.answer("pml_abort", workflow_id=id, reason="wrong folder")
        assert (aborted["status"], aborted["reason"], [*aborted["results"]]) == ("aborted", "wrong folder", ["a"])
        states = {one["taskId"]: one["status"] for one in aborted["tasks"]}
        assert states == {"a": "success", "b": "error", "c": "skipped", "d": "skipped"}
        assert aborted["tasks"][1]["error"].startswith("ABORTED: ")
        # The server has not answered yet: nobody waits for it any more.
        assert calling.execution(id)[0] == "SUCCEEDED"
        assert waiting.result()["status"] == "aborted"
    servers.let_go()
    answer = calling.settled(calling.answer("pml_execute_dag", workflow={"tasks": [task("a", "shop:price", of="tea")]}))
    assert answer["status"] == "complete"
    assert called(servers, calling) == ["clock:wait_for_it", "shop:price"]
    assert not calling.has(tasks[2])
    assert calling.answer("pml_workflow_status", workflow_id=id) == aborted


def test_what_a_requirement_added_runs_once_when_the_workflow_goes_on(calling: Flow, servers: TameServers) -> None:
    tasks = [written("a"), written("b", "a")]
    asked = calling.settled(calling.answer("pml_execute_dag", workflow={"tasks": tasks}, per_layer_validation=True))
    replanned = calling.answer(
        "pml_replan",
        workflow_id=asked["workflow_id"],
        new_requirement="Tell the price of something to buy",
        available_context={"of": "tea"},
    )
    [added] = replanned["added"]
    assert (added["tool"], added["arguments"]) == ("shop:price", {"of": "tea"})
    assert called(servers, calling) == []
    answer = asked
    while answer["status"] in (*LAYER_ENDED, "running"):
        answer = calling.settled(calling.answer("pml_continue", workflow_id=asked["workflow_id"]))
    assert (answer["status"], {*answer["results"]}) == ("complete", {"a", "b", added["id"]})
    assert called(servers, calling) == ["shop:price"]
