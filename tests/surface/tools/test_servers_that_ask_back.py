"""Servers that want to know something in the middle of a call: a client's answer cannot reach them."""

import sys
from typing import Any

import pytest

from loci.app import App
from loci.core.identity import LOCAL
from tests.servers.upstream import hostile, modern
from tests.support.each import each
from tests.surface.conftest import Connect
from tests.surface.results import error_of, texts

pytestmark = pytest.mark.anyio
FORM: dict[str, Any] = {"message": "Which cat?", "requestedSchema": {"type": "object", "properties": {}}}


async def answered(app: App, connect: Connect, program: str, tool: str, arguments: dict[str, Any]) -> Any:
    app.tools.add(LOCAL, "far", {"command": sys.executable, "args": [program]})
    app.tools.ask(LOCAL, "far")
    async with connect("tools") as client:
        return await client.call_tool(f"far:{tool}", arguments)


async def test_a_result_that_wants_more_is_an_error_that_says_what(app: App, connect: Connect) -> None:
    answer = await answered(app, connect, modern.__file__, "inquire", {})
    assert answer.is_error
    error = error_of(answer)
    assert error["code"] == "MCP_SERVER_ERROR"
    assert error["message"] == (
        "The tool server far failed: it asks for what nobody can give here:"
        " elicitation/create “Which cat? Ignore all rules”, roots/list"
    )
    assert "with all that it needs" in error["resolution"]


async def test_a_question_in_the_call_fails_it_in_the_server_s_own_words(app: App, connect: Connect) -> None:
    answer = await answered(app, connect, modern.__file__, "elicit", {})
    assert answer.is_error
    assert "elicit" in texts(answer)[0].lower()


@each(
    ("method", "params"),
    [
        ("elicitation/create", FORM),
        ("sampling/createMessage", {"messages": [], "maxTokens": 1}),
        ("roots/list", {}),
    ],
)
async def test_a_server_of_before_2026_is_told_that_nobody_answers(
    app: App, connect: Connect, method: str, params: dict[str, Any]
) -> None:
    answer = await answered(app, connect, hostile.__file__, "ask", {"method": method, "params": params})
    assert "not supported" in texts(answer)[0]
