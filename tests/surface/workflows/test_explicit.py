"""Workflows that are given whole."""

import json
import time
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp import Client

from loci.core.identity import LOCAL, Caller
from loci.mcp.server import build_server
from tests.servers.upstream.real import node_server
from tests.support.deno import needs_deno
from tests.support.each import each
from tests.surface.results import texts
from tests.surface.workflows.conftest import Flow, on_lasting_both, task
from tests.surface.workflows.upstreams import add_files, add_giving, add_memory

pytestmark = pytest.mark.anyio


@pytest.fixture
def flow(same_flow: Flow) -> Flow:
    return same_flow


def states(answer: dict[str, Any]) -> dict[str, str]:
    return {one["taskId"]: one["status"] for one in answer["tasks"]}


@on_lasting_both
async def test_tasks_run_and_their_results_come_by_id(flow: Flow) -> None:
    answer = await flow.run(task("t1", "items"), task("t2", "note", value="$t1.result.items[1].name"))
    assert answer["status"] == "complete"
    assert answer["results"]["t2"] == {"value": "b"}
    assert answer["metrics"]["parallel_branches"] == 1
    assert answer["metrics"]["total_time_ms"] > 0
    assert flow.begun() == [("items", {}), ("note", {"value": "b"})]


async def test_the_references_example_runs_as_documented(flow: Flow, tmp_path: Any) -> None:
    (tmp_path / "config.json").write_text('{"name": "loci"}')
    (tmp_path / "package.json").write_text("{}")
    program = node_server("filesystem", str(tmp_path))
    flow.app.tools.add(LOCAL, "filesystem", {"command": program.command, "args": [*program.args]})
    flow.app.tools.ask(LOCAL, "filesystem")
    files = [
        {"id": id, "tool": "filesystem:read_file", "arguments": {"path": str(tmp_path / name)}}
        for id, name in (("t1", "config.json"), ("t2", "package.json"))
    ]
    entities = {"entities": [{"name": "config", "content": "$t1.result"}]}
    memory = {"id": "t3", "tool": "journal:create_entities", "arguments": entities, "dependsOn": ["t1"]}
    answer = await flow.run(*files, memory)
    assert answer["status"] == "complete"
    assert answer["results"]["t1"] == {"content": '{"name": "loci"}'}
    assert answer["results"]["t3"] == {"success": True, "created": 1}
    assert answer["metrics"]["parallel_branches"] == 2
    assert flow.begun() == [("create_entities", {"entities": [{"name": "config", "content": answer["results"]["t1"]}]})]


async def test_a_result_is_its_text_where_a_text_is_wanted(flow: Flow, tmp_path: Path) -> None:
    """With the official servers: what they call a result is `{content: text}`, or one block of text."""
    add_files(flow.app, tmp_path / "files")
    add_memory(flow.app, tmp_path / "memory.jsonl")
    add_giving(flow.app, tmp_path / "far")
    config, written = tmp_path / "files" / "config.json", '{\n  "port": 8080\n}'
    config.write_text(written)
    (tmp_path / "far" / "port.json").write_text(json.dumps({"content": [{"type": "text", "text": written}]}))
    found = {"path": str(tmp_path / "files"), "pattern": "config.json"}
    told = ["$t1.result", "it is $t1.result", "$t1.result.content", "$t2.result", "it is $t2.result"]
    entity = {"name": "config", "entityType": "file", "observations": told}
    answer = await flow.run(
        {"id": "find", "tool": "filesystem:search_files", "arguments": found},
        {"id": "t1", "tool": "filesystem:read_file", "arguments": {"path": "$find.result"}},
        {"id": "t2", "tool": "far:give", "arguments": {"name": "port"}},
        {"id": "t3", "tool": "memory:create_entities", "arguments": {"entities": [entity]}},
        task("t4", "note", value=["$t1.result", "$t2.result", "$t2.result.port"]),
    )
    assert answer["status"] == "complete"
    assert answer["results"]["t1"] == {"content": written}
    assert answer["results"]["t2"] == {"port": 8080}
    [stored] = answer["results"]["t3"]["entities"]
    assert stored["observations"] == [written, f"it is {written}", written, written, f"it is {written}"]
    assert answer["results"]["t4"] == {"value": [{"content": written}, {"port": 8080}, 8080]}
    layer = await flow.run(
        {"id": "t2", "tool": "far:give", "arguments": {"name": "port"}},
        {
            "id": "t3",
            "tool": "memory:create_entities",
            "arguments": {"entities": [entity | {"observations": told[3:]}]},
        },
        per_layer_validation=True,
    )
    [entities] = layer["next_layer"][0]["arguments"]["entities"]
    assert entities["observations"] == [written, f"it is {written}"]


@each(
    ("written", "sent"),
    [
        ("$t1.result", {"items": [{"name": "x", "size": 0}, {"name": "y", "size": 1}], "count": 2}),
        ("$t1.result.count", 2),
        ("$t1.result.items[1].name", "y"),
        ("$t1.result.items.1.name", "y"),
        ("$OUTPUT[t1].items[0]", {"name": "x", "size": 0}),
        ("there are $t1.result.count.", "there are 2."),
        ("$t1.result.items[0].name-$t1.result.items[1].name", "x-y"),
        ("$t1.result.items[0]-final, $$$t1.result.count", '{"name": "x", "size": 0}-final, $2'),
        ("${t1.result.items[0].name}.txt and $t1.result.items[1]", 'x.txt and {"name": "y", "size": 1}'),
        ("it costs $$5, not $$t1.result", "it costs $5, not $t1.result"),
        ("$HOME and $5 and t1.result", "$HOME and $5 and t1.result"),
        (["$t1.result.count", {"deep": ["$t1.result.items[0].size"]}], [2, {"deep": [0]}]),
    ],
)
async def test_references_stand_for_results(flow: Flow, written: object, sent: object) -> None:
    flow.anew()
    await flow.run(task("t1", "items", names=["x", "y"]), task("t2", "note", value=written))
    [(_, arguments)] = [call for call in flow.begun() if call[0] == "note"]
    assert arguments == {"value": sent}


async def test_a_reference_makes_its_task_wait(flow: Flow) -> None:
    answer = await flow.run(task("late", "note", value="$early.result.value"), task("early", "echo", value="first"))
    assert answer["status"] == "complete"
    assert [name for name, _ in flow.begun()] == ["echo", "note"]


async def test_a_part_that_the_result_does_not_have_is_an_error_and_no_text(flow: Flow) -> None:
    answer = await flow.run(task("t1", "items"), task("t2", "note", value="$t1.result.prices[0]"))
    assert answer["status"] == "error"
    assert "UNRESOLVED_REFERENCE" in answer["tasks"][1]["error"]
    assert "an object with items, count has no 'prices'" in answer["tasks"][1]["error"]
    assert [name for name, _ in flow.begun()] == ["items"]


ONE: dict[str, Any] = {"id": "t1", "tool": "journal:note", "arguments": {"value": 1}}


WRONG: list[tuple[list[dict[str, Any]], str]] = [
    ([], "workflow.tasks: it must be a list of at least one task"),
    ([ONE, ONE], "the id 't1' is used 2 times"),
    ([ONE | {"dependsOn": ["t9"]}], "task 't1' waits for 't9', which is no task of this workflow"),
    ([ONE | {"depends_on": ["t9"]}], "task 't1' waits for 't9', which is no task of this workflow"),
    ([ONE | {"arguments": {"value": "$t7.result"}}], "waits for 't7'"),
    ([ONE, ONE | {"id": "a b"}], "task 'a b': id"),
    ([ONE, {"id": "t2", "arguments": {}}], "task 't2': it names no tool"),
    ([ONE, {"id": "t2", "type": "code_execution"}], "task 't2': it has no code"),
    ([ONE, ONE | {"id": "t2", "depends": ["t1"]}], "task 't2': depends: Extra inputs are not permitted"),
    (
        [task("a", "note", "c", value=1), task("b", "note", "a", value=1), task("c", "note", "b", value=1), ONE],
        "these tasks wait for each other: a -> c -> b -> a",
    ),
    ([ONE, task("t2", "note", "t2", value=1)], "these tasks wait for each other: t2 -> t2"),
]


@each(("tasks", "said"), WRONG)
async def test_a_plan_that_cannot_be_right_runs_nothing(flow: Flow, tasks: list[dict[str, Any]], said: str) -> None:
    failure = await flow.failed("pml_execute_dag", workflow={"tasks": tasks})
    assert failure.startswith("INVALID_PARAMS: The workflow is wrong: ")
    assert said in failure
    assert flow.begun() == []


@each(
    ("second", "code", "said"),
    [
        (task("t2", "notes", value=1), "TOOL_NOT_FOUND", "journal:note"),
        ({"id": "t2", "tool": "nowhere:to_go", "arguments": {}}, "TOOL_NOT_FOUND", "pml_search_tools"),
        ({"id": "t2", "tool": "query_by_tgs", "arguments": {}}, "TOOL_NOT_FOUND", "The nearest are query_by_tags"),
        ({"id": "t2", "tool": "loci:query_by_tgs"}, "TOOL_NOT_FOUND", "The nearest are loci:query_by_tags"),
        (task("t2", "sleep", ms="soon"), "INVALID_PARAMS", "arguments.ms: 'soon' is not of type 'number'"),
        (task("t2", "sleep", key="a"), "INVALID_PARAMS", "'ms' is a required property"),
        (task("t2", "sleep", ms=1, speed="$t1.result"), "INVALID_PARAMS", "speed"),
        (
            {"id": "t2", "tool": "scratchpad_list", "arguments": {"limits": 3}},
            "INVALID_PARAMS",
            "There is no argument 'limits'",
        ),
        ({"id": "t2", "tool": "pml_execute_code", "arguments": {"code": "1"}}, "TOOL_DENIED", "runs code"),
    ],
)
async def test_a_task_that_cannot_run_is_found_before_any_runs(
    flow: Flow, second: dict[str, Any], code: str, said: str
) -> None:
    failure = await flow.failed("pml_execute_dag", workflow={"tasks": [ONE, second]})
    assert failure.startswith(f"{code}: Nothing has run. task 't2': ")
    assert said in failure
    assert flow.begun() == []


@each(
    ("tool", "arguments", "written", "said"),
    [
        ("filesystem:read_file", {"path": "a"}, "$t2.result.contnet", "gives no 'contnet', did you mean 'content'?"),
        ("filesystem:read_file", {"path": "a"}, "${t2.result.content.name}", "gives no 'name'. There is a string"),
        ("memory:read_graph", {}, "$t2.result.entities.name", "a list, whose items are [0], [1] and so on"),
        ("memory:read_graph", {}, "$t2.result.entities[0].nmae", "did you mean 'name'?"),
        ("search_documents", {"query": "a"}, "$t2.result.result[0].id", "did you mean 'results'?"),
    ],
)
async def test_a_part_that_no_result_has_is_found_before_any_task_runs(
    flow: Flow, tmp_path: Path, tool: str, arguments: dict[str, Any], written: str, said: str
) -> None:
    add_files(flow.app, tmp_path)
    add_memory(flow.app, tmp_path / "memory.jsonl")
    tasks = [ONE, {"id": "t2", "tool": tool, "arguments": arguments}, task("t3", "note", value=["x", written])]
    failure = await flow.failed("pml_execute_dag", workflow={"tasks": tasks})
    assert failure.startswith(f"INVALID_PARAMS: The workflow is wrong: task 't3': {written} stands for nothing: ")
    assert said in failure
    assert flow.begun() == []


@on_lasting_both
async def test_a_part_that_was_never_seen_is_a_warning(flow: Flow) -> None:
    """The server says nothing about results: what they were like so far stands in, and may change."""
    await flow.run(task("t1", "items", names=["x"]))

    async def found() -> dict[str, Any]:
        answer = await flow.answer("pml_search_tools", query="journal items", include_schemas=True)
        return next(one for one in answer["tools"] if one["name"] == "journal:items")

    until = time.monotonic() + 60
    while "returns" not in await found() and time.monotonic() < until:
        await anyio.sleep(0.05)
    assert (await found())["returns"] == "items: [{name: string, size: integer}], count: integer (as seen)"
    assert (await found())["output_schema"]["properties"]["count"] == {"type": "integer"}
    answer = await flow.run(task("t1", "items"), task("t2", "note", value=["$t1.result.itmes", "$t1.result.count"]))
    [warning] = answer["warnings"]
    assert warning.startswith(
        "task 't2': $t1.result.itmes may stand for nothing: journal:items has given no 'itmes' yet"
    )
    assert "did you mean 'items'?" in warning
    assert states(answer) == {"t1": "success", "t2": "error"}


@needs_deno
@pytest.mark.parametrize("lasting_app", ["embedded", "sandbox"], indirect=True)
async def test_code_that_is_too_long_is_found_before_any_task_runs(flow: Flow) -> None:
    long = {"id": "t2", "type": "code_execution", "code": "x" * 102_401}
    failure = await flow.failed("pml_execute_dag", workflow={"tasks": [ONE, long]})
    assert failure.startswith("CODE_TOO_LARGE: Nothing has run. task 't2': The code has 102,401 bytes")
    assert flow.begun() == []


@each("given", [{}, {"intent": "note it", "workflow": {"tasks": [ONE]}}])
async def test_a_call_gives_either_a_goal_or_a_workflow(flow: Flow, given: dict[str, Any]) -> None:
    failure = await flow.failed("pml_execute_dag", **given)
    assert failure.startswith("INVALID_PARAMS: ")
    assert flow.begun() == []


async def test_an_argument_that_is_known_later_is_checked_then(flow: Flow) -> None:
    answer = await flow.run(task("t1", "echo", value="soon"), task("t2", "sleep", ms="$t1.result.value"))
    assert states(answer) == {"t1": "success", "t2": "error"}
    assert "arguments.ms: 'soon' is not of type 'number'" in answer["tasks"][1]["error"]


async def test_tasks_that_do_not_wait_for_each_other_run_at_the_same_time(flow: Flow) -> None:
    answer = await flow.run(*(task(f"t{at}", "meet", others=8) for at in range(8)))
    assert answer["metrics"]["parallel_branches"] == 8
    assert [result["met"] for result in answer["results"].values()] == [True] * 8


async def test_a_slow_task_holds_up_only_those_that_wait_for_it(flow: Flow) -> None:
    """It ends when the task that waits for another one has begun, and not before."""
    answer = await flow.run(
        task("slow", "meet", others=2), task("quick", "echo", value=1), task("after", "meet", "quick", others=2)
    )
    assert (answer["results"]["slow"], answer["results"]["after"]) == ({"met": True}, {"met": True})


async def test_what_waits_for_a_failed_task_is_skipped_with_the_cause(flow: Flow) -> None:
    answer = await flow.run(
        task("t1", "fail", message="the disk is full"),
        task("t2", "note", "t1", value=2),
        task("t3", "note", "t2", value=3),
        task("t4", "note", value=4),
    )
    assert answer["status"] == "error"
    assert states(answer) == {"t1": "error", "t2": "skipped", "t3": "skipped", "t4": "success"}
    assert "the disk is full" in answer["tasks"][0]["error"]
    assert [one.get("error") for one in answer["tasks"][1:3]] == ["t1 failed", "t2 was skipped"]
    assert answer["results"] == {"t4": {"value": 4}}
    assert ("note", {"value": 4}) in flow.begun()
    assert len(flow.begun()) == 2


async def test_a_failure_that_the_plan_allows_stops_nothing(flow: Flow) -> None:
    allowed = task("t1", "fail") | {"on_error": "continue"}
    answer = await flow.run(allowed, task("t2", "note", value=["$t1.result", "after"]))
    assert answer["status"] == "complete"
    assert states(answer) == {"t1": "error", "t2": "success"}
    assert flow.begun()[-1] == ("note", {"value": [None, "after"]})


async def test_a_task_is_tried_again_only_if_a_repetition_is_safe(flow: Flow) -> None:
    answer = await flow.run(
        task("reads", "flaky", key="a") | {"retry": 1}, task("writes", "note_flaky", key="b") | {"retry": 2}
    )
    assert states(answer) == {"reads": "success", "writes": "error"}
    assert answer["results"] == {"reads": {"tries": 2}}
    assert "It was not tried again, as it may change something" in answer["tasks"][1]["error"]
    assert [name for name, _ in flow.begun()].count("note_flaky") == 1


@on_lasting_both
async def test_runs_are_listed_with_what_each_waits_for(flow: Flow) -> None:
    asked = await flow.run(task("t1", "note", value=1) | {"approve": True}, title="Ask first")
    by_layer = await flow.run(task("t1", "items"), task("t2", "note", "t1", value=1), per_layer_validation=True)
    failed = await flow.run(task("t1", "fail"), task("t2", "note", value=1))
    answer = await flow.answer("pml_workflow_status", limit=3)
    assert answer["status"] == "list"
    assert answer.get("next_offset") == (3 if answer["total"] > 3 else None)
    told = [{name: one.get(name) for name in ("goal", "status", "done", "waits_for")} for one in answer["workflows"]]
    assert [one["workflow_id"] for one in answer["workflows"]] == [
        one["workflow_id"] for one in (failed, by_layer, asked)
    ]
    assert told == [
        {"goal": "journal:fail, journal:note", "status": "error", "done": "2 of 2 tasks", "waits_for": None},
        {
            "goal": "journal:items, journal:note",
            "status": "paused",
            "done": "1 of 2 tasks",
            "waits_for": "pml_continue",
        },
        {"goal": "Ask first", "status": "paused", "done": "0 of 1 tasks", "waits_for": "an approval of t1"},
    ]
    assert [("since" in one, one.get("failed")) for one in answer["workflows"]] == [
        (False, 1),
        (True, None),
        (True, None),
    ]
    second = await flow.answer("pml_workflow_status", limit=1, offset=1)
    assert [one["workflow_id"] for one in second["workflows"]] == [by_layer["workflow_id"]]
    for one in (asked, by_layer):
        await flow.answer("pml_abort", workflow_id=one["workflow_id"], reason="over")


@on_lasting_both
async def test_a_task_has_its_time(flow: Flow) -> None:
    gate = flow.journal.with_name("never in its time")
    slow = task("t1", "wait_for", file=str(gate)) | {"timeout": 200}
    answer = await flow.run(slow, task("t2", "note", "t1", value=1))
    gate.touch()
    assert states(answer) == {"t1": "error", "t2": "skipped"}
    assert "0.2 s" in answer["tasks"][0]["error"]


@needs_deno
async def test_code_has_its_arguments_and_the_results_that_it_waits_for(flow: Flow) -> None:
    code: dict[str, Any] = {
        "id": "t2",
        "type": "code_execution",
        "code": "const names: string[] = deps.t1.items.map(one => one.name);\n"
        "return {n: names.length * factor, x: context.factor}",
        "arguments": {"factor": "$t0.result.value"},
        "dependsOn": ["t1"],
    }
    answer = await flow.run(
        task("t0", "echo", value=10), task("t1", "items"), code, task("t3", "note", value="$t2.result.n")
    )
    assert answer["results"]["t2"] == {"n": 30, "x": 10}
    assert flow.begun()[-1] == ("note", {"value": 30})


@needs_deno
async def test_code_that_fails_says_why(flow: Flow) -> None:
    answer = await flow.run({"id": "t1", "type": "code_execution", "code": "throw new Error('no bread')"})
    assert answer["status"] == "error"
    assert "no bread" in answer["tasks"][0]["error"]


@needs_deno
async def test_code_of_a_task_may_call_the_tools_of_its_intent(flow: Flow) -> None:
    code = "const given = await journal.items({names: ['x', 'y']}); return given.count"
    answer = await flow.run({"id": "t1", "type": "code_execution", "code": code, "intent": "list some items"})
    assert answer["results"] == {"t1": 2}


async def test_own_tools_are_tasks_too(flow: Flow) -> None:
    answer = await flow.run(
        {"id": "t1", "tool": "loci:add_memory", "arguments": {"name": "a.txt", "text": "The ferry leaves at nine."}},
        {
            "id": "t2",
            "tool": "search_memory",
            "arguments": {"parsed_query": "when does the ferry leave"},
            "dependsOn": ["t1"],
        },
    )
    assert answer["status"] == "complete"
    assert "nine" in str(answer["results"]["t2"])


@each("name", ["pml:execute_dag", "pml_execute_dag", "execute_dag", "mcp__pml__execute_dag"])
async def test_every_spelling_of_the_name_reaches_the_tool(flow: Flow, name: str) -> None:
    assert (await flow.answer(name, workflow={"tasks": [ONE]}))["status"] == "complete"


async def test_results_that_are_too_long_are_kept_whole(flow: Flow) -> None:
    result = (await flow.run(task("t1", "large", characters=100_000)))["results"]["t1"]
    read = await flow.call("scratchpad_read", id=result["scratchpad_id"])
    assert json.loads(texts(read)[0]) == {"text": "x" * 100_000}
    assert texts(read)[0].startswith(result["preview"])


async def test_progress_is_told_while_it_runs(flow: Flow, tmp_path: Path) -> None:
    told: list[tuple[float, float | None]] = []
    gate = tmp_path / "gate"

    async def hear(progress: float, total: float | None, message: str | None) -> None:
        told.append((progress, total))
        if progress:
            gate.touch()

    tasks = [task("t1", "echo", value=1), task("t2", "wait_for", "t1", file=str(gate))]
    async with Client(build_server(flow.app, "tools"), mode="2026-07-28") as client:
        await client.call_tool("pml_execute_dag", {"workflow": {"tasks": tasks}}, progress_callback=hear)
    assert (1, 2) in told


async def test_the_status_of_a_run_can_be_asked_for_later(flow: Flow) -> None:
    answer = await flow.run(ONE)
    again = await flow.answer("pml_workflow_status", workflow_id=answer["workflow_id"])
    assert (again["status"], again["results"]) == ("complete", {"t1": {"value": 1}})


@each("tool", ["pml_continue", "pml_workflow_status", "pml_abort"])
async def test_a_workflow_that_is_not_there_is_told(flow: Flow, tool: str) -> None:
    more = {"reason": "none"} if tool == "pml_abort" else {}
    failure = await flow.failed(tool, workflow_id="wf_nowhere", **more)
    assert failure.startswith(
        "WORKFLOW_NOT_FOUND: There is no workflow 'wf_nowhere'. Check the id. It may have expired"
    )


async def test_a_workflow_of_somebody_else_is_not_there(flow: Flow) -> None:
    answer = await flow.run(ONE, ONE | {"id": "t2", "dependsOn": ["t1"]}, per_layer_validation=True)
    from loci.core.errors import NotFound
    from loci.core.identity import Owner

    with pytest.raises(NotFound, match="There is no workflow"):
        flow.app.workflows.proceed(Caller(Owner("", "somebody else"), "key"), answer["workflow_id"])


async def test_the_type_of_a_task_may_be_said(flow: Flow) -> None:
    assert (await flow.run(ONE | {"type": "mcp_tool"}))["status"] == "complete"


@each(
    ("name", "says", "needed"),
    [
        ("execute_dag", "several tools as a graph", set[str]()),
        ("continue", "Go on with a workflow that paused", {"workflow_id"}),
        ("abort", "Stop a workflow", {"workflow_id", "reason"}),
        ("approval_response", "Answer the checkpoint", {"workflow_id", "checkpoint_id", "approved"}),
        ("replan", "Add tasks to a running workflow", {"workflow_id", "new_requirement"}),
        ("workflow_status", "How far a workflow is", set[str]()),
    ],
)
async def test_the_tools_are_listed_and_say_what_they_do(flow: Flow, name: str, says: str, needed: set[str]) -> None:
    async with Client(build_server(flow.app, "tools"), mode="2026-07-28") as client:
        [listed] = [one for one in (await client.list_tools()).tools if one.name == f"pml_{name}"]
        called = await client.call_tool(f"pml:{name}", {})
    assert says in (listed.description or "")
    assert {*listed.input_schema.get("required", [])} == needed
    assert texts(called)[0].startswith("INVALID_PARAMS: ") == (name != "workflow_status")
