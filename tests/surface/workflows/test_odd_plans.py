"""Plans that are odd: each is refused before anything runs, or does what it says."""

from typing import Any

import pytest

from tests.surface.workflows.conftest import Flow, task

pytestmark = pytest.mark.anyio


async def test_a_place_that_no_list_has_is_told_however_many_digits_it_has(flow: Flow) -> None:
    there = f"$t1.result.items[{'9' * 5000}]"
    answer = await flow.run(task("t1", "items"), task("t2", "note", value=there))
    assert "UNRESOLVED_REFERENCE" in answer["tasks"][1]["error"]
    gated: dict[str, Any] = {**task("t2", "note", value=there), "approve": True}
    answer = await flow.run(task("t1", "items"), gated)
    assert answer["status"] == "paused"
    assert answer["checkpoint"]["arguments"] == {"value": there}
