"""A tool cut a text in the middle of an emoji: JavaScript writes the half that is left as `\\ud83d`."""

import sys
from pathlib import Path

import pytest

from loci.core.identity import LOCAL
from tests.support.each import each
from tests.surface.conftest import on_both
from tests.surface.workflows.conftest import Flow, task

pytestmark = pytest.mark.anyio
CUTTING = Path(__file__).parents[2] / "servers" / "upstream" / "cutting.py"


@pytest.fixture
def cutting(flow: Flow) -> Flow:
    flow.app.tools.add(LOCAL, "cutting", {"command": sys.executable, "args": [str(CUTTING)]})
    flow.app.tools.ask(LOCAL, "cutting")
    return flow


@on_both
@each(
    ("how", "kept"),
    [
        ("value", {"title": "\ufffd", "whole": "😀"}),
        ("name", {"\ufffd": 1}),
        ("text", "cut \ufffd"),
        ("structure", {"title": "\ufffd"}),
    ],
)
async def test_half_a_character_spoils_no_result(cutting: Flow, how: str, kept: object) -> None:
    cut = {"id": "t1", "tool": "cutting:cut", "arguments": {"how": how}}
    answer = await cutting.run(cut, task("t2", "echo", value="$t1.result"), task("t3", "note", value="so: $t1.result"))
    assert answer["status"] == "complete"
    assert answer["results"]["t1"] == kept
    assert answer["results"]["t2"] == {"value": kept}
    assert "\ufffd" in answer["results"]["t3"]["value"]
