"""Runs of code on AWS: driven by a job, answered by the request that asked, or read later."""

import asyncio
import json
import threading
from collections.abc import Callable, Generator
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from mcp import Client
from mcp_types import CallToolResult

from loci.adapters.aws.jobs import LambdaJobs
from loci.adapters.aws.records import DynamoRecords
from loci.app import App
from loci.compose import build_app
from loci.core.errors import Unavailable
from loci.core.identity import LOCAL
from loci.mcp.lambda_handler import job_handler
from loci.mcp.server import build_server
from tests.contract.executors import FUNCTION as RUN_PYTHON
from tests.contract.sandboxes import FUNCTION as RUN_DENO
from tests.support.connecting import connecting
from tests.support.deno import needs_deno
from tests.support.executors import runner_packages
from tests.support.functions import loaded
from tests.support.invoke_api import InvokeApi, invoke_api
from tests.support.loopback_aws import loopback_aws
from tests.support.moto_aws import CONNECT, KEY, TABLE
from tests.support.polling import until, until_told
from tests.support.tame_servers import TameServers, over_http
from tests.support.with_parts import with_patience
from tests.surface.hosted import ERRAND, hosted
from tests.surface.results import error_of, structured, texts

pytestmark = [pytest.mark.anyio, needs_deno]


@dataclass
class Desk:
    """A gateway in this process, its functions beside it."""

    app: App
    api: InvokeApi
    servers: TameServers

    async def ask(self, tool: str, **arguments: object) -> CallToolResult:
        async with Client(build_server(self.app), mode="2026-07-28") as client:
            return await client.call_tool(tool, arguments)

    async def told(self, tool: str, **arguments: object) -> dict[str, Any]:
        result = await self.ask(tool, **arguments)
        assert not result.is_error, texts(result)
        return structured(result)

    def entry(self, id: str) -> Any:
        """The scratchpad's entry, once it is there."""
        until(lambda: any(one.id == id for one in self.app.scratchpad.list(LOCAL)))
        return json.loads(self.app.scratchpad.read(LOCAL, id).text)


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Generator[Desk]:
    from loci.code.packages import find_deno

    with (
        over_http(tmp_path_factory.mktemp("servers")) as servers,
        invoke_api() as api,
        loopback_aws(),
        connecting(only_public=False, api=api),
        pytest.MonkeyPatch.context() as environment,
    ):
        environment.setenv("LOCI_DENO", str(find_deno(None)))
        environment.setenv("LOCI_RUNNER", str(runner_packages()))
        environment.setenv("TMPDIR", str(tmp_path_factory.mktemp("machines")))
        deno, python = loaded(Path("run_deno")), loaded(Path("run_python"))
        api.functions |= {RUN_DENO: deno.lambda_handler, RUN_PYTHON: python.lambda_handler}
        reaching = {"secret_key": KEY, "connect_function": CONNECT}
        app = build_app(hosted(tmp_path_factory.mktemp("models"), runner_seconds=20, **reaching))
        servers.configure(app, "github", "clock")
        api.functions[ERRAND] = job_handler(app)
        try:
            yield Desk(app, api, servers)
        finally:
            deno.runs.close()
            python.runs.close()


@pytest.fixture
def hasty(desk: Desk) -> Generator[Desk]:
    """A desk whose calls hardly wait for their runs."""
    desk.servers.hold()
    yield replace(desk, app=with_patience(desk.app, 0.2))
    desk.servers.let_go()


async def test_typescript_answers_who_asked(desk: Desk) -> None:
    told = await desk.told("pml_execute_code", code="[1, 2, 3].map((n: number) => n * context.by)", context={"by": 2})
    assert told["result"] == [2, 4, 6]
    assert "status" not in told


async def test_python_calls_tools_by_their_names(desk: Desk) -> None:
    code = "commits = await tool('github:list_commits', {'limit': 2})\nlen(commits)"
    told = await desk.told("run_memory_code", code=code)
    assert told["result"]["value"] == "2"
    refused = await desk.ask("run_memory_code", code="tool('pml:approval_response', {'approved': True})")
    assert "TOOL_DENIED" in texts(refused)[0]


async def test_code_that_worked_is_learned_before_its_process_may_stop(desk: Desk) -> None:
    ran = await desk.told("pml_execute_code", code="return [30, 12].length", intent="count the two piers")
    assert ran["result"] == 2

    async def learned() -> list[dict[str, Any]]:
        return (await desk.told("pml_search_capabilities", intent="count the two piers"))["capabilities"]

    found = await until_told(learned)  # the errand goes on for a moment when its answer is there
    assert [one["code"] for one in found] == ["return [30, 12].length"]


async def test_what_code_throws_is_an_error_with_its_place(desk: Desk) -> None:
    result = await desk.ask("pml_execute_code", code="null.x")
    assert result.is_error
    assert error_of(result)["code"] == "CODE_ERROR"
    assert error_of(result)["stack"]


async def test_tools_are_called_through_the_gateway(desk: Desk) -> None:
    told = await desk.told(
        "pml_execute_code", code="await github.listCommits({limit: 2})", intent="Analyze GitHub commits"
    )
    assert [one["sha"] for one in told["result"]] == ["a1", "b2"]
    assert told["tool_calls"] == 1


async def test_a_long_run_goes_on_and_is_read_later(hasty: Desk) -> None:
    told = await hasty.told("pml_execute_code", code="return [await clock.waitForIt(), 1]", intent="wait")
    assert (told["status"], told["result"]) == ("running", None)
    early = await hasty.ask("scratchpad_read", id=told["scratchpad_id"])
    assert error_of(early)["code"] == "STILL_RUNNING"
    hasty.servers.let_go()
    assert hasty.entry(told["scratchpad_id"])["result"] == ["it came", 1]


async def test_python_answers_who_asked(desk: Desk) -> None:
    id = (await desk.told("create_memory_code_runner"))["result"]["executor_id"]
    told = await desk.told("run_memory_code", executor_id=id, code="x = 20\nprint('hello')\nx + 1")
    assert (told["result"]["stdout"], told["result"]["value"]) == ("hello\n", "21")
    assert told["result"]["executor"]["persisted"] is True
    again = await desk.told("run_memory_code", executor_id=id, code="x")
    assert (again["result"]["value"], again["result"]["executor"]["state"]) == ("20", "kept")


async def test_a_failed_run_of_python_has_what_it_printed(desk: Desk) -> None:
    id = (await desk.told("create_memory_code_runner"))["result"]["executor_id"]
    result = await desk.ask("run_memory_code", executor_id=id, code="print('so far')\n1 / 0")
    assert result.is_error
    assert error_of(result)["code"] == "CODE_ERROR"
    assert "so far" in texts(result)[0]


async def test_a_long_run_of_python_is_read_later(hasty: Desk) -> None:
    id = (await hasty.told("create_memory_code_runner"))["result"]["executor_id"]
    errand, goes_on = hasty.api.functions[ERRAND], threading.Event()

    def held(event: dict[str, Any], context: object) -> object:
        goes_on.wait(60)
        return errand(event, context)

    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(hasty.api.functions, ERRAND, held)
        told = await hasty.told("run_memory_code", executor_id=id, code="'done'")
    goes_on.set()
    assert (told["status"], told["result"]) == ("running", None)
    assert hasty.entry(told["scratchpad_id"])["result"]["value"] == "'done'"


async def test_variables_too_large_to_save_are_told(desk: Desk) -> None:
    id = (await desk.told("create_memory_code_runner"))["result"]["executor_id"]
    told = await desk.told("run_memory_code", executor_id=id, code="import os\nlarge = os.urandom(60 << 20)")
    assert told["result"]["executor"]["persisted"] is False
    assert "50 MB" in told["result"]["executor"]["reason"]
    again = await desk.told("run_memory_code", executor_id=id, code="len(large)")
    assert again["result"]["value"] == str(60 << 20)


@pytest.mark.parametrize("tool", ["pml_execute_code", "run_memory_code"])
async def test_neither_the_stores_nor_lambda_are_called_on_the_event_loop(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, tool: str
) -> None:
    arguments = {"code": "1 + 1"}
    if tool == "run_memory_code":
        arguments |= (await desk.told("create_memory_code_runner"))["result"]
    called: list[str] = []
    on_the_loop: list[str] = []
    for of, names in ((DynamoRecords, ("get", "put", "remove", "list")), (LambdaJobs, ("send",))):
        for name in names:
            monkeypatch.setattr(of, name, _watched(getattr(of, name), name, called, on_the_loop))
    await desk.told(tool, **arguments)
    assert {"put", "send"} <= set(called)
    assert on_the_loop == []


def _watched(method: Callable[..., Any], name: str, called: list[str], on_the_loop: list[str]) -> Callable[..., Any]:
    def call(*given: Any, **named: Any) -> Any:
        called.append(name)
        with suppress(RuntimeError):
            asyncio.get_running_loop()
            on_the_loop.append(name)
        return method(*given, **named)

    return call


async def test_a_job_that_comes_twice_is_done_once(desk: Desk) -> None:
    await desk.told("pml_execute_code", code="await github.listCommits({limit: 1})", intent="Analyze GitHub commits")
    called = len(desk.servers.calls())
    job = next(event for event in reversed(desk.api.events) if "job" in event)
    desk.api.functions[ERRAND](job, None)
    assert len(desk.servers.calls()) == called


async def test_nothing_of_a_run_is_left_in_the_table(desk: Desk) -> None:
    import boto3

    await desk.told("pml_execute_code", code="await github.listCommits({limit: 1})", intent="Analyze GitHub commits")
    until(lambda: not [one for one in desk.api.under_way if one.is_alive()])
    rows: Any = boto3.client("dynamodb").scan(TableName=TABLE)["Items"]  # pyright: ignore
    assert [
        row["pk"]["S"] for row in rows if row["pk"]["S"].startswith("run#") or row["pk"]["S"].endswith("#run")
    ] == []


def test_the_machine_is_told_no_secret_of_another_run(desk: Desk) -> None:
    """The order has the code, what it may call, and credentials that STS gave for its own rows."""
    orders = [event for event in desk.api.events if "order" in event]
    lines = [event["line"] for event in orders if event["line"]]
    assert lines
    assert len({line["partition"] for line in lines}) == len(lines)
    assert all(set(line["lent"]) == {"id", "secret", "token"} for line in lines)
    assert not [event for event in orders if '"testing"' in json.dumps(event)]  # the gateway's own


async def test_a_computation_and_its_attester_run_in_machines_of_their_own(desk: Desk) -> None:
    matter = "type: Attested Computation\nruntime: python\nparameters: [{ name: x, type: integer, required: true }]"
    matter += "\nattester: { resource: check.md }"
    check = "```python\ndef attest(receipt):\n    return receipt['result'] == 5\n```\n"
    bundle = {
        "acme/sums/sum.md": f"---\n{matter}\n---\n# Computation\n\n    result = x + 1\n",
        "acme/check.md": f"---\ntype: Attester\n---\n{check}",
    }
    for path, text in bundle.items():
        with suppress(Unavailable):  # there is no index here: they are kept all the same
            desk.app.documents.parts.library.add(LOCAL, path, text.encode())
    told = await desk.told("run_computation", id="acme/sums/sum.md", parameters={"x": 4})
    assert (told["result"], told["attested"]) == (5, True)
    assert desk.entry(told["receipt_id"])["receipt"]["executed_code"] == "result = x + 1\n"
    told = await desk.told("run_computation", id="acme/sums/sum.md", parameters={"x": 5})
    assert (told["result"], told["attested"]) == (None, False)
    assert error_of(await desk.ask("run_computation", id="acme/sums/sum.md"))["code"] == "BAD_PARAMETERS"
    left = {key.split("/")[1] for key in desk.app.blobs.list(LOCAL, "executors/")}
    assert left <= {one.id for one in desk.app.code.executors(LOCAL)}
