"""Workflows of a real server that is killed, by real clients over HTTP."""

import asyncio
import json
import sys
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from mcp import Client

from tests.e2e.in_process import loci
from tests.support.polling import until
from tests.support.serving import serving

JOURNAL = Path(__file__).parents[1] / "servers" / "upstream" / "journal.py"
Call = Callable[..., Awaitable[dict[str, Any]]]


@pytest.fixture
def data(tmp_path: Path) -> Path:
    data = tmp_path / "data"
    added = loci(data, "tools", "add", "journal", "--", sys.executable, str(JOURNAL), str(tmp_path / "journal"))
    assert added.returncode == 0, added.stderr
    return data


def asked(url: str, tool: str, **arguments: object) -> dict[str, Any]:
    """The answer of the tool, or the text of its error."""

    async def ask() -> dict[str, Any]:
        async with Client(f"{url}/mcp") as client:
            result = await client.call_tool(tool, arguments)
            text = result.content[0]
            if result.is_error:
                assert text.type == "text"
                return {"status": "refused", "error": text.text}
            assert result.structured_content is not None
            return result.structured_content

    return asyncio.run(ask())


def task(id: str, tool: str, **arguments: object) -> dict[str, Any]:
    return {"id": id, "tool": f"journal:{tool}", "arguments": arguments}


def events(tmp_path: Path) -> list[tuple[str, str, Any]]:
    """What the tools have seen, and with what values or keys."""
    journal = tmp_path / "journal"
    written = journal.read_text().split("\n")[:-1] if journal.exists() else []  # the last line may be half there
    lines = map(json.loads, written)
    return [(one["event"], one["tool"], one["arguments"].get("value", one["arguments"].get("key"))) for one in lines]


def begun(tmp_path: Path) -> list[Any]:
    return [what for event, _, what in events(tmp_path) if event == "begin"]


def test_four_layers_are_walked_by_servers_that_are_killed_between_them(data: Path, tmp_path: Path) -> None:
    values = ["one", *(f"$t{at}.result.value" for at in range(3))]
    tasks = [task(f"t{at}", "note", value=value) for at, value in enumerate(values)]
    with serving(data) as server:
        answer = asked(server.url, "pml_execute_dag", workflow={"tasks": tasks}, per_layer_validation=True)
    for layer in (1, 2, 3):
        assert (answer["status"], answer["current_layer"], answer["total_layers"]) == ("layer_complete", layer, 4)
        assert begun(tmp_path) == ["one"] * layer
        with serving(data) as server:
            id = answer["workflow_id"]
            assert asked(server.url, "pml_workflow_status", workflow_id=id) == answer | {"status": "paused"}
            answer = asked(server.url, "pml_continue", workflow_id=id, reason="It is right")
    assert answer["status"] == "complete"
    assert answer["results"] == {f"t{at}": {"value": "one"} for at in range(4)}
    assert begun(tmp_path) == ["one"] * 4
    with serving(data) as server:
        again = asked(server.url, "pml_workflow_status", workflow_id=answer["workflow_id"])
        assert again["results"] == answer["results"]


def started(data: Path, tasks: list[dict[str, Any]], tmp_path: Path, begins: int) -> str:
    """Start the workflow on a server that is killed once so many of its tasks have begun. Returns its id."""
    with serving(data) as server:

        async def start() -> str:
            told: list[str] = []

            async def note(progress: float, total: float | None, message: str | None) -> None:
                told.append(message or "")

            async with Client(f"{server.url}/mcp") as client:
                workflow = {"workflow": {"tasks": tasks}}
                call = asyncio.create_task(client.call_tool("pml_execute_dag", workflow, progress_callback=note))
                late = time.monotonic() + 60
                while len(begun(tmp_path)) < begins or not told:
                    assert time.monotonic() < late
                    await asyncio.sleep(0.02)
                server.process.kill()
                call.cancel()
            return told[0].split()[0]

        try:
            return asyncio.run(start())
        except* Exception as group:  # the client sees that the server is gone
            raise AssertionError(repr(group.exceptions)) from group


@pytest.mark.smoke
def test_a_server_that_starts_goes_on_with_what_the_one_before_it_left(data: Path, tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    tasks = [
        task("t1", "wait_for", file=str(gate), key="t1"),
        {**task("t2", "note", value="after"), "dependsOn": ["t1"]},
        task("t3", "note_and_wait", file=str(gate), key="t3"),
    ]
    id = started(data, tasks, tmp_path, 2)
    gate.touch()
    with serving(data) as server:
        # Nobody asks for it to go on.
        until(lambda: asked(server.url, "pml_workflow_status", workflow_id=id)["status"] != "running")
        answer = asked(server.url, "pml_workflow_status", workflow_id=id)
    assert answer["status"] == "error"
    assert answer["results"] == {"t1": {"found": True}, "t2": {"value": "after"}}
    assert "INTERRUPTED" in next(one["error"] for one in answer["tasks"] if one["taskId"] == "t3")
    assert sorted(begun(tmp_path)) == ["after", "t1", "t1", "t3"]  # what reads is done again, what writes is not


def test_a_second_server_takes_over_what_the_first_one_left(data: Path, tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    with serving(data) as second:
        id = started(data, [task("t1", "wait_for", file=str(gate), key="t1")], tmp_path, 1)
        gate.touch()
        until(lambda: asked(second.url, "pml_workflow_status", workflow_id=id)["status"] == "complete")


def test_of_two_approvals_at_once_one_wins(data: Path, tmp_path: Path) -> None:
    gated = {**task("t1", "note", value="once"), "approve": True}
    with serving(data) as server, serving(data) as other:
        answer = asked(server.url, "pml_execute_dag", workflow={"tasks": [gated]})
        given = {"workflow_id": answer["workflow_id"], "checkpoint_id": answer["checkpoint_id"], "approved": True}

        async def both() -> list[dict[str, Any]]:
            ask = [asyncio.to_thread(asked, url, "pml_approval_response", **given) for url in (server.url, other.url)]
            return await asyncio.gather(*ask)

        answers = asyncio.run(both())
    assert sorted(one["status"] for one in answers) == ["complete", "refused"]
    assert "CHECKPOINT_CLOSED" in next(one["error"] for one in answers if one["status"] == "refused")
    assert begun(tmp_path) == ["once"]


def test_a_command_that_ends_leaves_nothing_stuck(data: Path, tmp_path: Path) -> None:
    tasks = [task("t1", "echo", value=1), {**task("t2", "note", value=2), "dependsOn": ["t1"]}]
    given = {"workflow": {"tasks": tasks}, "per_layer_validation": True}
    answer = json.loads(loci(data, "call", "pml_execute_dag", json.dumps(given)).stdout)
    goes_on = json.dumps({"workflow_id": answer["workflow_id"]})
    assert json.loads(loci(data, "call", "pml_continue", goes_on).stdout)["status"] == "complete"
    assert begun(tmp_path) == [1, 2]


@pytest.mark.exhaustive
def test_a_command_waits_until_its_workflow_has_ended(data: Path) -> None:
    workflow = {"tasks": [{**task("t1", "sleep", ms=26_000), "timeout": 60_000}]}
    assert json.loads(loci(data, "call", "pml_execute_dag", json.dumps({"workflow": workflow})).stdout)["results"]
