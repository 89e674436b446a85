"""The endpoint of tools on each runtime, without any tool server."""

import pytest

from tests.surface.conftest import Connect, on_both
from tests.surface.results import structured, texts

pytestmark = pytest.mark.anyio


@on_both
async def test_loci_s_own_tools_are_found_and_called(connect: Connect) -> None:
    async with connect("tools") as client:
        found = structured(await client.call_tool("pml_search_tools", {"query": "run TypeScript code", "limit": 1}))
        assert [one["tool_id"] for one in found["tools"]] == ["pml_execute_code"]
        passed = await client.call_tool("pml_call_tool", {"tool": "scratchpad_list", "arguments": {}})
        assert structured(passed) == structured(await client.call_tool("scratchpad_list", {}))


async def test_a_tool_of_no_server_is_unknown(connect: Connect) -> None:
    async with connect("tools") as client:
        answer = await client.call_tool("github:create_issue", {})
    assert answer.is_error
    assert texts(answer)[0].startswith("TOOL_NOT_FOUND: There is no tool 'github:create_issue'")
    assert "pml_search_tools" in texts(answer)[0]
