"""Calls that a person must approve."""

from collections.abc import Generator
from pathlib import Path
from typing import Any, Literal

import pytest
from mcp import Client
from mcp.client import ClientRequestContext
from mcp.shared.exceptions import MCPError
from mcp_types import CallToolResult, ElicitRequestParams, ElicitResult, InputRequiredResult, InputResponses

from loci.app import App
from loci.core.errors import Refused
from loci.core.identity import LOCAL, LOCAL_CALLER
from loci.mcp.approval import QUESTION
from loci.mcp.server import build_server
from tests.support.each import each
from tests.surface.conftest import Mode
from tests.surface.results import structured, texts
from tests.surface.tools.conftest import shop_app, upstream_over_http

pytestmark = pytest.mark.anyio
PLATE = {"plate": "china"}
ERAS: tuple[Mode, ...] = ("legacy", "2026-07-28")
Action = Literal["accept", "decline", "cancel"]
Answer = tuple[Action, bool]
YES: Answer = ("accept", True)
NOES: tuple[Answer, ...] = (("accept", False), ("decline", True), ("cancel", True))


@pytest.fixture
def careful(tmp_path: Path) -> Generator[App]:
    """A person must approve that plates are broken."""
    with shop_app(tmp_path, {"approve": ["break_*"]}) as app:
        yield app


class Person:
    """Answers questions in the same way each time."""

    def __init__(self, answer: Answer) -> None:
        self.action: Action = answer[0]
        self.approves = answer[1]
        self.asked: list[str] = []

    async def __call__(self, context: ClientRequestContext, params: ElicitRequestParams) -> ElicitResult:  # noqa: ARG002
        self.asked.append(params.message)
        content: dict[str, Any] | None = {"approve": self.approves} if self.action == "accept" else None
        return ElicitResult(action=self.action, content=content)


async def call(
    app: App, tool: str, arguments: dict[str, Any], person: Person | None = None, mode: Mode = "2026-07-28"
) -> CallToolResult:
    async with Client(build_server(app, "tools"), mode=mode, elicitation_callback=person) as client:
        return await client.call_tool(tool, arguments)


async def test_only_a_tool_that_a_pattern_names_is_not_called_without_approval(careful: App) -> None:
    assert structured(await call(careful, "shop:add_numbers", {"a": 1, "b": 1})) == {"sum": 2}
    answer = await call(careful, "shop:break_plate", PLATE)
    assert texts(answer)[0].startswith("APPROVAL_PENDING: A person must approve this call of shop:break_plate: ")


@each("mode", ERAS)
async def test_a_client_that_can_ask_is_asked_and_the_approved_call_is_made(careful: App, mode: Mode) -> None:
    person = Person(YES)
    assert texts(await call(careful, "shop:break_plate", PLATE, person, mode)) == ["china broke"]
    [question] = person.asked
    assert "shop:break_plate" in question


@each("mode", ERAS)
@each("answer", NOES)
async def test_what_the_person_does_not_approve_is_not_called(careful: App, mode: Mode, answer: Answer) -> None:
    said = texts(await call(careful, "shop:break_plate", PLATE, Person(answer), mode))[0]
    assert said.startswith("NOT_APPROVED: ")


async def test_an_approval_is_good_for_one_call(careful: App) -> None:
    person = Person(YES)
    async with Client(build_server(careful, "tools"), mode="2026-07-28", elicitation_callback=person) as client:
        for plate in ("china", "glass"):
            assert texts(await client.call_tool("shop:break_plate", {"plate": plate})) == [f"{plate} broke"]
    assert len(person.asked) == 2


async def test_an_approval_counts_only_with_the_sealed_question_of_the_same_call(careful: App) -> None:
    person = Person(YES)
    async with Client(build_server(careful, "tools"), mode="2026-07-28", elicitation_callback=person) as client:

        async def approved(plate: str, state: str | None) -> CallToolResult | InputRequiredResult:
            said: InputResponses = {QUESTION: ElicitResult(action="accept", content={"approve": True})}
            return await client.session.call_tool(
                "shop:break_plate",
                {"plate": plate},
                input_responses=said,
                request_state=state,
                allow_input_required=True,
            )

        question = await approved("china", None)
        assert isinstance(question, InputRequiredResult), "nobody was asked"
        for plate, state in (("glass", question.request_state), ("china", QUESTION)):
            with pytest.raises(MCPError, match="requestState"):
                await approved(plate, state)
        answer = await approved("china", question.request_state)
        assert isinstance(answer, CallToolResult)
        assert texts(answer) == ["china broke"]


async def test_arguments_that_do_not_fit_ask_nobody(careful: App) -> None:
    person = Person(YES)
    said = texts(await call(careful, "shop:break_plate", {}, person))[0]
    assert (said.partition(":")[0], person.asked) == ("INVALID_PARAMS", [])


async def test_a_search_says_which_tools_need_approval(careful: App) -> None:
    async with Client(build_server(careful, "tools"), mode="2026-07-28") as client:
        found = structured(await client.call_tool("pml_search_tools", {"query": "shop", "limit": 50}))["tools"]
    assert [one["name"] for one in found if one.get("needs_approval")] == ["shop:break_plate"]


@each(
    ("setting", "refused"),
    [
        ("chosen", []),
        ("destructive", ["shop:break_plate"]),
        ("writes", ["shop:break_plate", "shop:stack_plates"]),
        ("all", ["shop:break_plate", "shop:stack_plates", "shop:add_numbers"]),
    ],
)
def test_a_setting_decides_by_what_tools_say_of_themselves(tmp_path: Path, setting: str, refused: list[str]) -> None:
    with shop_app(tmp_path / setting, tools_approval=setting) as app:
        tools = ("shop:break_plate", "shop:stack_plates", "shop:add_numbers")
        policies = app.tools.gateway.policies(app.tools.servers(LOCAL))
        assert [one for one in tools if policies[one].approval] == refused


def test_an_approved_call_is_made(careful: App) -> None:
    result = careful.tools.result(LOCAL_CALLER, "workflow", "shop:break_plate", {"plate": "china"}, approved=True)
    assert result.value == "china broke"


def test_an_approval_allows_nothing_that_the_operator_denies(careful: App) -> None:
    careful.tools.add(LOCAL, "shop", upstream_over_http() | {"deny": ["break_*"]})
    careful.tools.ask(LOCAL, "shop")
    with pytest.raises(Refused, match="the operator denies it"):
        careful.tools.result(LOCAL_CALLER, "workflow", "shop:break_plate", {"plate": "china"}, approved=True)
