"""`suggest_reading` as clients call it."""

from pathlib import Path
from typing import Any

import pytest

from loci.app import App
from tests.surface.conftest import Connect
from tests.surface.ferries import BREAD, BRIEF, DEBRIEF, HARBOUR, NOTES, ROLLS
from tests.surface.results import call, failed, written
from tests.surface.runtimes import RUNTIMES, take_in

pytestmark = [pytest.mark.anyio, pytest.mark.parametrize("app", RUNTIMES, indirect=True)]
QUESTION = "Where are tickets sold?"


@pytest.fixture(autouse=True)
def folder(app: App, tmp_path: Path) -> Path:
    folder = written(tmp_path / "notes", NOTES)
    take_in(app, folder)
    return folder


async def suggested(connect: Connect, context: str = QUESTION, **arguments: object) -> dict[str, Any]:
    return await call(connect, "suggest_reading", context=context, **arguments)


def ids(found: dict[str, Any]) -> list[str]:
    return [one["id"] for one in found["documents"]]


async def test_what_answers_comes_first_then_what_is_around_it(connect: Connect) -> None:
    found = await suggested(connect)
    assert ids(found)[0] == HARBOUR
    assert set(ids(found)) >= {HARBOUR, DEBRIEF}
    assert not {BREAD, ROLLS} & set(ids(found))
    reasons = {one["id"]: one["reason"] for one in found["documents"]}
    assert reasons[HARBOUR].startswith("Answers the question: ")
    assert "Tickets are sold" in reasons[HARBOUR]
    assert reasons[DEBRIEF] == 'Links to "Harbour"'


async def test_a_debrief_is_named_as_such(connect: Connect) -> None:
    found = await suggested(connect, "Is later better?")
    reasons = {one["id"]: one["reason"] for one in found["documents"]}
    assert reasons[BRIEF].startswith("Answers the question: ")
    assert DEBRIEF in reasons


async def test_what_was_read_comes_last_until_it_changes(app: App, connect: Connect, folder: Path) -> None:
    await call(connect, "read_node_content", id=HARBOUR)
    found = await suggested(connect)
    assert ids(found)[-1] == HARBOUR
    assert [one["read"] for one in found["documents"]] == [False] * (len(ids(found)) - 1) + [True]
    (folder / "harbour.md").write_text("# Harbour\n\nTickets are sold on board. Ask the captain of the ferry.\n")
    take_in(app, folder)
    assert HARBOUR in [one["id"] for one in (await suggested(connect))["documents"] if not one["read"]]


async def test_the_tokens_are_kept_and_told(connect: Connect) -> None:
    found = await suggested(connect)
    totals = [one["running_total"] for one in found["documents"]]
    assert totals == [sum(one["tokens"] for one in found["documents"][: at + 1]) for at in range(len(totals))]
    assert found["total_tokens"] == totals[-1] > 100
    small = await suggested(connect, max_tokens=100)
    assert small["total_tokens"] <= 100
    assert small["left_out"] > 0


async def test_the_limit_is_kept(connect: Connect) -> None:
    found = await suggested(connect, limit=1)
    assert len(found["documents"]) == 1
    assert found["left_out"] > 0
    assert found["reason"].startswith("Left out: ")


async def test_nothing_near_is_an_answer_with_its_reason(connect: Connect) -> None:
    found = await suggested(connect, "xylophone quagga")
    assert (found["documents"], found["total_tokens"]) == ([], 0)
    assert found["reason"]


async def test_a_context_is_needed(connect: Connect) -> None:
    assert "context" in await failed(connect, "suggest_reading")
