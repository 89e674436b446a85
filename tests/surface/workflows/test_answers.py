"""What answers about runs say, and to whom."""

import base64
import json
import os
from pathlib import Path
from typing import Any

import pytest
from mcp_types import CallToolResult, ImageContent

from loci.mcp.head import BUDGET
from tests.support.each import each
from tests.surface.conftest import on_both
from tests.surface.results import structured, texts
from tests.surface.workflows.conftest import Flow, task
from tests.surface.workflows.upstreams import add_files, add_giving

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


# What is large


@pytest.mark.smoke
@on_both
async def test_each_task_has_its_share_of_the_answer(flow: Flow) -> None:
    large = [task(f"large{at}", "large", characters=50_000 + at) for at in range(4)]
    answer = await flow.run(*large, task("small", "large", characters=2000), task("tiny", "items"))
    assert len(json.dumps(answer).encode()) <= BUDGET
    assert "scratchpad_id" not in answer
    assert answer["metrics"]["parallel_branches"] == 6
    assert answer["results"]["small"] == {"text": "x" * 2000}
    assert answer["results"]["tiny"]["count"] == 3
    for at in range(4):
        part = answer["results"][f"large{at}"]
        assert len(part["preview"]) > 2500
        read = await flow.call("scratchpad_read", id=part["scratchpad_id"])
        assert json.loads(texts(read)[0]) == {"text": "x" * (50_000 + at)}


async def test_long_errors_leave_room_for_the_states_of_all_tasks(flow: Flow) -> None:
    failing = [task(f"t{at}", "fail", message=f"{at} " + "no " * 1000) for at in range(12)]
    answer = await flow.run(*failing, task("large", "large", characters=50_000))
    assert len(json.dumps(answer).encode()) <= BUDGET
    assert [one["status"] for one in answer["tasks"]] == ["error"] * 12 + ["success"]
    assert answer["metrics"]["total_time_ms"] > 0
    assert answer["results"]["large"]["scratchpad_id"]
    assert all(one["error"].endswith("has all of it") for one in answer["tasks"][:12])


def pictures(result: CallToolResult) -> list[bytes]:
    return [base64.b64decode(one.data) for one in result.content if isinstance(one, ImageContent)]


@pytest.mark.smoke
@on_both
async def test_images_of_tasks_are_blocks_of_the_answer(flow: Flow, tmp_path: Path) -> None:
    add_giving(flow.app, tmp_path / "far")
    sent = [os.urandom(50_000), os.urandom(60_000)]
    images = [{"type": "image", "mimeType": "image/png", "data": base64.b64encode(one).decode()} for one in sent]
    results: dict[str, Any] = {
        "beside": {"content": [images[0]], "structuredContent": {"width": 8}},
        "among": {"content": [{"type": "text", "text": "A cat."}, images[1]]},
    }
    for name, result in results.items():
        (tmp_path / "far" / f"{name}.json").write_text(json.dumps(result))
    tasks = [{"id": name, "tool": "far:give", "arguments": {"name": name}} for name in results]
    after = task("after", "note", value=["$among.result[1].data", "$beside.result.width"])
    answer = await flow.call("pml_execute_dag", workflow={"tasks": [*tasks, after]})
    assert pictures(answer) == sent
    assert texts(answer)[1:] == ["From task beside:", "From task among:"]
    told = structured(answer)["results"]
    assert told["beside"] == {"width": 8}
    assert told["among"] == [
        {"type": "text", "text": "A cat."},
        {"type": "image", "mimeType": "image/png", "bytes": 60_000},
    ]
    assert flow.begun() == [("note", {"value": [images[1]["data"], 8]})]
    status = await flow.call("pml_workflow_status", workflow_id=structured(answer)["workflow_id"])
    assert pictures(status) == sent


async def test_a_large_image_of_a_task_is_a_link(flow: Flow, tmp_path: Path) -> None:
    add_files(flow.app, tmp_path / "files")
    picture = tmp_path / "files" / "large.png"
    picture.write_bytes(os.urandom(2_000_000))
    read = {"id": "t1", "tool": "filesystem:read_media_file", "arguments": {"path": str(picture)}}
    answer = await flow.call("pml_execute_dag", workflow={"tasks": [read]})
    assert pictures(answer) == []
    assert texts(answer)[1] == "From task t1:"
    link = texts(answer)[2].partition("/blobs/")[2].partition(" ")[0]
    assert flow.app.local_links
    assert flow.app.local_links.follow(link).content == picture.read_bytes()


async def test_all_results_of_an_answer_can_be_read_however_large_they_are(flow: Flow) -> None:
    """Together they are larger than the scratchpad."""
    answer = await flow.run(*(task(f"t{at}", "large", characters=4_000_000 + at) for at in range(4)))
    for at in range(4):
        id = answer["results"][f"t{at}"]["scratchpad_id"]
        piece = structured(await flow.call("scratchpad_read", id=id, limit=1))
        assert piece["total"] == 4_000_012 + at
