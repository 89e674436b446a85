"""Code that calls upstream tools, through `pml_execute_code`."""

from typing import Any

import pytest

from loci.app import App
from tests.support.deno import needs_deno
from tests.surface.conftest import Connect
from tests.surface.results import structured, texts

pytestmark = [pytest.mark.anyio, needs_deno]


async def run(connect: Connect, code: str, intent: str | None = None) -> Any:
    async with connect("tools") as client:
        answer = await client.call_tool("pml_execute_code", {"code": code, "intent": intent})
    assert not answer.is_error, texts(answer)
    return structured(answer)


async def test_code_gets_the_tools_that_fit_its_intent(served: App, connect: Connect) -> None:
    told = await run(connect, "(await shop.addNumbers({a: 2, b: 3})).sum + 1", "add two numbers")
    assert (told["result"], told["tool_calls"]) == (6, 1)


async def test_a_bare_value_comes_without_its_wrapper(served: App, connect: Connect) -> None:
    told = await run(connect, "await shop.long_story({words: 2})", "tell a long story")
    assert told["result"] == "tale tale "


async def test_arguments_are_checked_for_code_too(served: App, connect: Connect) -> None:
    code = "let said; try { await shop.add_numbers({a: 'x'}) } catch (error) { said = error.message }; said"
    assert "arguments.a" in (await run(connect, code, "add two numbers"))["result"]
