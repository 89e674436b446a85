"""What is told of calls, workflows, approvals, ingestion and tool servers, on each runtime."""

import json
from pathlib import Path

import pytest

from loci.app import App
from loci.core.errors import LociError
from loci.core.identity import LOCAL
from tests.surface.conftest import Connect, on_both
from tests.surface.events.conftest import Follow
from tests.surface.runtimes import take_in
from tests.surface.workflows.conftest import Flow, flow, journal_server, machine, task

__all__ = ["flow", "machine"]

pytestmark = pytest.mark.anyio


async def test_a_call_is_told_with_the_sizes_of_its_arguments(connect: Connect, follow: Follow) -> None:
    with follow() as follower:
        follower.begun()
        async with connect() as client:
            await client.call_tool("scratchpad_read", {"id": "no-such-entry-here"})
        follower.wait(lambda one: one.of("call"))
        [told] = follower.of("call")
    assert (told["tool"], told["outcome"], told["door"]) == ("scratchpad_read", "error", "mcp")
    assert told["code"]
    assert told["arguments"] == {"id": "18 characters"}
    assert "no-such-entry" not in json.dumps(told)


@on_both
async def test_each_step_of_a_workflow_is_told(flow: Flow, follow: Follow) -> None:
    with follow(query="?kinds=workflow") as follower:
        follower.begun()
        await flow.run(task("t1", "echo", value="a-secret-word"), task("t2", "fail", "t1"))
        follower.wait(lambda one: any(told["to"] in ("complete", "error") for told in one.of("workflow")))
    steps = [(told["task"], told["from"], told["to"]) for told in follower.of("workflow")]
    assert steps[0] == (None, None, "running")
    expected = [("t1", "waiting", "running"), ("t1", "running", "success"), ("t2", "waiting", "running")]
    expected += [("t2", "running", "error"), (None, "running", "error")]
    assert [one for one in steps if one in expected] == expected
    assert "a-secret-word" not in "".join(follower.raw)
    assert [told["code"] for told in follower.of("workflow") if told["to"] == "success"] == [""]


async def test_a_question_to_a_person_and_its_answer_are_told(flow: Flow, follow: Follow) -> None:
    with follow(query="?kinds=approval") as follower:
        follower.begun()
        asked = await flow.run(task("t1", "deploy", value="hunter2-hunter2") | {"approve": True})
        decision = {"workflow_id": asked["workflow_id"], "checkpoint_id": asked["checkpoint_id"]}
        await flow.answer("pml_approval_response", **decision, approved=False)
        follower.wait(lambda one: len(one.of("approval")) == 2)
    [question, answer] = follower.of("approval")
    assert (question["state"], question["tool"], question["checkpoint"]) == (
        "asked",
        "journal:deploy",
        asked["checkpoint_id"],
    )
    assert question["arguments"] == {"value": "15 characters"}
    assert (answer["state"], answer["decision"], answer["task"]) == ("answered", "reject", "t1")
    assert "hunter2" not in "".join(follower.raw)


async def test_a_tool_server_is_told_when_it_comes_and_goes(flow: Flow, follow: Follow, tmp_path: Path) -> None:
    flow.app.events.finish()  # what has happened before is written before the stream begins
    with follow(query="?kinds=server") as follower:
        follower.begun()
        flow.app.tools.ask(LOCAL, "journal")  # it was up already
        flow.app.tools.add(LOCAL, "gone", {"command": str(tmp_path / "no-such-program"), "args": []})
        with pytest.raises(LociError):
            flow.app.tools.ask(LOCAL, "gone")
        with pytest.raises(LociError):
            flow.app.tools.ask(LOCAL, "gone")
        flow.app.tools.add(LOCAL, "gone", journal_server(tmp_path / "back.jsonl"))
        tools = flow.app.tools.ask(LOCAL, "gone").tools
        flow.app.tools.ask(LOCAL, "gone")
        follower.wait(lambda one: len(one.of("server")) == 2)
    [down, up] = follower.of("server")
    assert (down["server"], down["state"], down["code"]) == ("gone", "down", "MCP_SERVER_ERROR")
    assert (up["server"], up["state"], up["tools"]) == ("gone", "up", len(tools))


async def test_a_file_is_told_while_it_is_read(app: App, connect: Connect, follow: Follow) -> None:
    with follow(query="?kinds=ingestion") as follower:
        follower.begun()
        async with connect() as client:
            await client.call_tool("add_memory", {"name": "trip.md", "text": "The train costs 40 euros."})
        follower.wait(lambda one: len(one.of("ingestion")) == 2)
    [began, done] = follower.of("ingestion")
    assert (began["state"], began["name"], began["bytes"]) == ("began", "trip.md", 25)
    assert (done["state"], done["passages"], done["version"]) == ("done", 1, 1)
    assert "euros" not in "".join(follower.raw)


async def test_a_folder_of_documents_is_told_with_its_counts(app: App, follow: Follow, tmp_path: Path) -> None:
    folder = tmp_path / "notes"
    folder.mkdir()
    (folder / "a.md").write_text("# A\n")
    (folder / "b.md").write_text("# B\n")
    with follow(query="?kinds=ingestion") as follower:
        follower.begun()
        take_in(app, folder)
        follower.wait(lambda one: len(one.of("ingestion")) == 2)
    [began, done] = follower.of("ingestion")
    assert (began["where"], began["state"]) == ("notes", "began")
    assert (done["state"], done["processed"], done["failed"]) == ("done", 2, 0)
