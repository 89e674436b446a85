"""Tasks of code that call tools: on threads of this process, and on the state machine with the functions' handlers."""

from collections.abc import Generator
from pathlib import Path
from typing import Any

import anyio
import pytest

from loci.app import App
from loci.compose import build_app
from loci.core.identity import LOCAL
from loci.core.settings import load_settings
from tests.contract.sandboxes import FUNCTION as RUN_DENO
from tests.contract.sandboxes import ROLE
from tests.support.answerers import PERSON
from tests.support.connecting import connecting
from tests.support.deno import needs_deno
from tests.support.functions import loaded
from tests.support.invoke_api import invoke_api
from tests.support.loopback_aws import loopback_aws
from tests.support.moto_aws import CONNECT, KEY, MACHINE, RUN_TABLE
from tests.support.polling import until
from tests.support.workflow_machine import workflow_machine
from tests.surface.hosted import hosted
from tests.surface.workflows.conftest import Flow, journal_server

pytestmark = [pytest.mark.anyio, needs_deno]
GATED = {"approve": ["note"], "deny": ["deploy"]}


def with_gates(app: App, folder: Path) -> Flow:
    """A person approves each note, and nobody deploys."""
    app.tools.add(LOCAL, "journal", {**journal_server(folder / "journal.jsonl"), **GATED})
    app.tools.ask(LOCAL, "journal")
    return Flow(app, folder / "journal.jsonl")


@pytest.fixture(scope="module", params=["threads", "machine"])
def lasting_flow(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Generator[Flow]:
    folder = tmp_path_factory.mktemp("flow")
    if request.param == "threads":
        app = build_app(load_settings({"data": folder, "models": folder / "models"}))
        yield with_gates(app, folder)
        app.close()
        return
    from loci.code.packages import find_deno

    sandbox = {"run_deno_function": RUN_DENO, "run_role": ROLE, "run_table": RUN_TABLE}
    with (
        invoke_api() as api,
        loopback_aws(),
        connecting(only_public=False, api=api),
        pytest.MonkeyPatch.context() as environment,
    ):
        environment.setenv("LOCI_DENO", str(find_deno(None)))
        deno = loaded(Path("run_deno"))
        api.functions[RUN_DENO] = deno.lambda_handler
        app = build_app(hosted(folder, secret_key=KEY, connect_function=CONNECT, workflow_machine=MACHINE))
        with workflow_machine(api, {**sandbox, "models": str(folder)}):
            yield with_gates(app, folder)
        app.finish()
        deno.runs.close()


@pytest.fixture
def flow(lasting_flow: Flow) -> Flow:
    lasting_flow.anew()
    return lasting_flow


def code(id: str, text: str, *after: str, **more: Any) -> dict[str, Any]:
    return {"id": id, "type": "code_execution", "code": text, "dependsOn": [*after], **more}


async def test_a_task_of_code_calls_the_tools_that_it_names(flow: Flow) -> None:
    by_pattern = code("t1", "return (await mcp.journal.items({})).items.length", tools=["journal:*"])
    by_name = code("t2", 'return await loci.call("journal:echo", {value: deps.t1})', "t1")
    answer = await flow.run(by_pattern, by_name)
    assert (answer["status"], answer["results"]) == ("complete", {"t1": 3, "t2": {"value": 3}})
    assert flow.begun() == [("items", {}), ("echo", {"value": 3})]


@pytest.mark.parametrize("approved", [False, True])
@pytest.mark.parametrize("call", ['mcp.journal.note({value: "milk"})', 'loci.call("journal_note", {value: "milk"})'])
async def test_a_gated_tool_waits_for_a_person_and_runs_as_they_say(flow: Flow, call: str, approved: bool) -> None:
    answers: list[dict[str, Any]] = []

    async def run() -> None:
        answers.append(await flow.run(code("t1", f"return await {call}", tools=["journal:*"])))

    def asked() -> list[dict[str, Any]]:
        return flow.app.workflows.views.questions(LOCAL)

    async with anyio.create_task_group() as group:
        group.start_soon(run)
        [question] = await anyio.to_thread.run_sync(lambda: until(asked) and asked())
        assert (question["tool"], flow.begun()) == ("journal:note", [])
        id, checkpoint = question["workflow_id"], question["checkpoint_id"]
        flow.app.workflows.decide(LOCAL, id, checkpoint, approved=approved, by=PERSON)
    assert answers[0]["status"] == ("complete" if approved else "error")
    assert flow.begun() == ([("note", {"value": "milk"})] if approved else [])


async def test_what_nobody_may_call_is_refused_to_a_task_of_code(flow: Flow) -> None:
    calls = ["mcp.journal.deploy({value: 1})", 'loci.call("journal_deploy", {value: 1})']
    calls += ['loci.call("pml:execute_code", {code: "1"})', 'loci.call("pml:execute_dag", {workflow: {tasks: []}})']
    calls += ['loci.call("pml:approval_response", {workflow_id: "w", checkpoint_id: "c", approved: true})']
    said = "let said; try { await CALL } catch (error) { said = error.code }; return said"
    tasks = [code(f"t{at}", said.replace("CALL", one), tools=["journal:*"]) for at, one in enumerate(calls)]
    answer = await flow.run(*tasks)
    assert [answer["results"][one["id"]] for one in tasks] == ["TOOL_NOT_FOUND", *["TOOL_DENIED"] * 4]
    assert flow.begun() == []


async def test_tools_that_no_server_has_fail_the_task_with_the_servers(flow: Flow) -> None:
    answer = await flow.run(code("t1", "return 1", tools=["shop:*"]))
    assert "No tool fits 'shop:*'" in answer["tasks"][0]["error"]
