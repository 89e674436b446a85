"""Code that worked, learned from `pml_execute_code` and found with `pml_search_capabilities`."""

import pytest

from loci.app import App
from tests.support.deno import needs_deno
from tests.surface.conftest import Connect
from tests.surface.results import structured

pytestmark = [pytest.mark.anyio, needs_deno, pytest.mark.parametrize("app", ["embedded"], indirect=True)]
SUM = "const told = await shop.addNumbers({a: 20, b: 22});\nreturn told.sum"


async def test_code_that_worked_is_found(served: App, connect: Connect) -> None:
    async with connect("tools") as client:
        ran = await client.call_tool("pml_execute_code", {"code": SUM, "intent": "add two numbers"})
        assert structured(ran)["result"] == 42
        served.tools.finish_learning()
        found = structured(await client.call_tool("pml_search_capabilities", {"intent": "add two numbers"}))
    print(found, structured(ran))
    [one] = found["capabilities"]
    assert one["match_score"] == 1.0
