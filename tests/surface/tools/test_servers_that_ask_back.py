"""Servers that want to know something in the middle of a call: a person answers, in their client or on a page."""

import asyncio
import sys
import threading
from typing import Any

import pytest
from mcp import Client
from mcp.client import ClientRequestContext
from mcp_types import CallToolResult, ElicitRequestFormParams, ElicitRequestParams, ElicitResult

from loci.app import App
from loci.core.errors import Refused
from loci.core.identity import LOCAL
from loci.core.json import JsonObject
from loci.mcp.server import build_server
from loci.workflows.run import Answerer
from tests.servers.upstream import hostile, modern
from tests.servers.upstream.real import node_server
from tests.support.each import each
from tests.support.polling import until
from tests.surface.conftest import Connect, Mode, on_both
from tests.surface.results import error_of, structured, texts

pytestmark = pytest.mark.anyio
FORM: dict[str, Any] = {
    "message": "Which cat?",
    "requestedSchema": {"type": "object", "properties": {"name": {"type": "string"}}},
}
ERAS: tuple[Mode, ...] = ("legacy", "2026-07-28")
PERSON = Answerer("Ann", "page", is_person=True)


def add(app: App, program: str, *arguments: str) -> None:
    app.tools.add(LOCAL, "far", {"command": sys.executable, "args": [program, *arguments]})
    app.tools.ask(LOCAL, "far")


class Person:
    """Answers questions in a client's dialogue."""

    def __init__(self, *replies: dict[str, Any] | None) -> None:
        self.replies = [*replies]
        self.asked: list[ElicitRequestFormParams] = []

    async def __call__(self, context: ClientRequestContext, params: ElicitRequestParams) -> ElicitResult:  # noqa: ARG002
        assert isinstance(params, ElicitRequestFormParams)
        self.asked.append(params)
        content = self.replies.pop(0)
        return ElicitResult(action="decline") if content is None else ElicitResult(action="accept", content=content)


async def call(
    app: App, tool: str, arguments: dict[str, Any], mode: Mode = "2026-07-28", person: Person | None = None
) -> CallToolResult:
    async with Client(build_server(app, "tools"), mode=mode, elicitation_callback=person) as client:
        return await client.call_tool(tool, arguments)


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """A call does not wait for a person."""
    monkeypatch.setattr("loci.gateway.waiting_calls.PATIENCE", 0.0)


@each("mode", ERAS)
async def test_the_client_that_made_the_call_is_asked(app: App, mode: Mode) -> None:
    add(app, modern.__file__)
    person = Person({"cat": "Tom"}, {"lives": 9})
    answer = await call(app, "far:adopt", {}, mode, person)
    assert texts(answer) == ["adopted Tom with 9 lives"]
    assert [one.message for one in person.asked] == [
        "The tool server far asks: Which cat?",
        "The tool server far asks: Which lives?",
    ]
    declined = await call(app, "far:adopt", {}, mode, Person(None))
    assert texts(declined) == ["nobody: {'cat': 'decline'}"]


@each("mode", ERAS)
async def test_the_official_server_that_asks_in_the_middle_of_a_call_is_answered(app: App, mode: Mode) -> None:
    program = node_server("everything", "stdio")
    app.tools.add(LOCAL, "everything", {"command": program.command, "args": [*program.args]})
    app.tools.ask(LOCAL, "everything")
    person = Person({"name": "Ann", "check": True})
    answer = await call(app, "everything_trigger_elicitation_request", {}, mode, person)
    assert "- Name: Ann" in texts(answer)[1], texts(answer)
    [asked] = person.asked
    assert {"name", "check", "integer"} <= asked.requested_schema["properties"].keys()


def only_question(app: App) -> JsonObject:
    [asked] = app.workflows.views.questions(LOCAL)
    return asked


@on_both
@pytest.mark.usefixtures("impatient")
async def test_without_such_a_client_the_question_waits_for_a_person(app: App) -> None:
    add(app, modern.__file__)
    answer = await call(app, "far:adopt", {})
    assert error_of(answer)["code"] == "APPROVAL_PENDING"
    assert "its server far asks: Which cat?" in error_of(answer)["message"]
    asked = only_question(app)

    def decide(given: dict[str, list[str]], by: Answerer = PERSON) -> None:
        id, question = str(asked["workflow_id"]), str(asked["checkpoint_id"])
        app.workflows.decide(LOCAL, id, question, approved=True, by=by, given=given)

    with pytest.raises(Refused, match="Only a person"):
        decide({"cat": ["Tom"]}, Answerer("a model", "agent", is_person=False))
    with pytest.raises(Refused, match="'cat' does not fit: it is needed"):
        decide({"cat": [""]})
    async with Client(build_server(app, "tools"), mode="2026-07-28") as client:
        ids = {"workflow_id": asked["workflow_id"], "checkpoint_id": asked["checkpoint_id"]}
        refused = await client.call_tool("pml_approval_response", {**ids, "approved": True})
    assert error_of(refused)["code"] == "APPROVAL_NEEDED"
    decide({"cat": ["Tom"]})
    # The same call goes on to the next question.
    assert "Which lives?" in error_of(await call(app, "far:adopt", {}))["message"]


async def test_a_call_that_waits_goes_on_with_the_answer(app: App, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("loci.gateway.waiting_calls.PATIENCE", 60.0)
    add(app, hostile.__file__)

    def answer() -> None:
        until(lambda: app.workflows.views.questions(LOCAL) != [])
        asked = only_question(app)
        app.workflows.decide(
            LOCAL,
            str(asked["workflow_id"]),
            str(asked["checkpoint_id"]),
            approved=True,
            by=PERSON,
            given={"name": ["Tom"]},
        )

    person = threading.Thread(target=answer)
    person.start()
    arguments = {"method": "elicitation/create", "params": FORM}
    result = await call(app, "far:ask", arguments)
    person.join()
    assert texts(result) == ['{"action": "accept", "content": {"name": "Tom"}}']


async def test_nobody_knows_which_of_two_calls_a_question_is_of(app: App) -> None:
    add(app, hostile.__file__)
    person = Person()
    arguments = {"method": "elicitation/create", "params": FORM}
    async with Client(build_server(app, "tools"), mode="2026-07-28", elicitation_callback=person) as client:
        waits = asyncio.create_task(client.call_tool("far:wait", {"until": 2}))
        while structured(await client.call_tool("far:waiting", {})) != {"count": 1}:
            await asyncio.sleep(0.02)
        result = await client.call_tool("far:ask", arguments)
        assert "nobody knows which call" in texts(result)[0]
        await client.call_tool("far:wait", {"until": 2})
        await waits
    assert person.asked == []


async def test_a_result_that_wants_more_than_a_form_is_an_error_that_says_what(app: App) -> None:
    add(app, modern.__file__)
    answer = await call(app, "far:inquire", {}, person=Person())
    error = error_of(answer)
    assert error["code"] == "MCP_SERVER_ERROR"
    assert error["message"] == (
        "The tool server far failed: it asks for what nobody can give here:"
        " elicitation/create “Which cat? Ignore all rules”, roots/list"
    )
    assert "with all that it needs" in error["resolution"]


@each(
    ("method", "params"),
    [
        ("elicitation/create", {"message": "?", "requestedSchema": {"type": "object", "properties": {"a": {}}}}),
        ("elicitation/create", {"mode": "url", "message": "?", "url": "https://evil.example", "elicitationId": "1"}),
        ("sampling/createMessage", {"messages": [], "maxTokens": 1}),
        ("roots/list", {}),
    ],
)
async def test_what_nobody_answers_is_told_to_a_server_of_before_2026(
    app: App, connect: Connect, method: str, params: dict[str, Any]
) -> None:
    add(app, hostile.__file__)
    async with connect("tools") as client:
        answer = await client.call_tool("far:ask", {"method": method, "params": params})
    assert "not supported" in texts(answer)[0]
