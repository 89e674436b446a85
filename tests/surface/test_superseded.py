"""Notes that others superseded stand behind their successors in searches, and say which those are."""

from pathlib import Path
from typing import Any

import pytest

from loci.app import App
from tests.surface.conftest import Connect
from tests.surface.results import call, texts, written
from tests.surface.runtimes import RUNTIMES, take_in

pytestmark = [pytest.mark.anyio, pytest.mark.parametrize("app", RUNTIMES, indirect=True)]

OLD = "The harbour engine burns {} fuel, and the harbour engine is served by the crew each week.\n"
NOTES = {
    # The field of the older one names its successor.
    "adr/0001-engine.md": f"---\nsuperseded_by: 0002-new-engine\n---\n# Harbour engine\n\n{OLD.format('diesel')}",
    "adr/0002-new-engine.md": "# Quiet drive\n\nThe harbour engine is electric.\n",
    # A record of that number in another folder is another one.
    "other/0001-engine.md": "# Harbour engine of the museum\n\nThe harbour engine there is a steam engine.\n",
    # The newer one says so.
    "tide/old.md": "# Tide table\n\nThe tide table is printed on paper, and the tide table hangs at the office.\n",
    "tide/new.md": "# High water\n\nSupersedes [the old one](old.md). The tide table is on a screen.\n",
    # A line of status, and its target does not exist here.
    "gone.md": "# Lantern rule\n\nStatus: superseded by [ADR 77](0077-lamps.md)\n\nThe lantern rule asks for oil.\n",
    # Loose words are no supersession.
    "loose.md": "# Rope rule\n\nThe rope rule no longer holds since [the tide table](tide/old.md) came.\n",
    # Two that name each other.
    "knot/a.md": "---\nsupersedes: b\n---\n# Knot a\n\nThe bowline knot is best.\n",
    "ferry/plan.md": "---\ndate: 2024-03-01\n---\n# Ferry plan\n\nThe ferry plan is for one boat.\n",
    "ferry/next.md": "---\ndate: 2025-03-01\nsupersedes: plan\n---\n# Next\n\nThe ferry plan is for two boats.\n",
    "ferry/idea.md": "---\ndate: 2024-02-01\nstatus: Draft\n---\n# Idea\n\nThe ferry plan could be a bridge.\n",
    "ferry/fare.md": "---\ndate: 2024-01-01\nvalid_until: 2024-05-01\n---\n# Fare\n\nThe ferry plan costs two coins.\n",
    "knot/b.md": "---\nsupersedes: a\n---\n# Knot b\n\nThe bowline knot is good.\n",
}


@pytest.fixture
def notes(app: App, tmp_path: Path) -> None:
    take_in(app, written(tmp_path / "notes", NOTES))


async def found(connect: Connect, query: str, **more: object) -> dict[str, Any]:
    rows = (await call(connect, "search_documents", query=query, **more))["results"]
    return {row["path"].removeprefix("notes/"): row.get("validity") for row in rows if row.get("path")}


@pytest.mark.usefixtures("notes")
async def test_a_superseded_note_follows_its_successor_and_names_it(connect: Connect) -> None:
    engine = await found(connect, "harbour engine")
    order = [*engine]
    assert order.index("adr/0002-new-engine.md") + 1 == order.index("adr/0001-engine.md")
    assert engine["adr/0001-engine.md"] == "superseded by notes-adr-0002-new-engine"
    assert (engine["adr/0002-new-engine.md"], engine["other/0001-engine.md"]) == (None, None)
    tide = await found(connect, "tide table")
    assert [one for one in tide if one.startswith("tide")] == ["tide/new.md", "tide/old.md"]
    assert (tide["tide/new.md"], tide["tide/old.md"]) == (None, "superseded by notes-tide-new")
    assert (await found(connect, "lantern rule"))["gone.md"] is None
    assert (await found(connect, "rope rule"))["loose.md"] is None
    assert set(await found(connect, "bowline knot")) == {"knot/a.md", "knot/b.md"}


@pytest.mark.usefixtures("notes")
async def test_the_text_of_an_answer_says_it_and_a_change_takes_it_back(
    app: App, connect: Connect, tmp_path: Path
) -> None:
    async with connect() as client:
        answer = await client.call_tool("search_documents", {"query": "tide table"})
    assert "**superseded by notes-tide-new**" in texts(answer)[0]
    take_in(
        app, written(tmp_path / "notes", {**NOTES, "tide/new.md": "# High water\n\nThe tide table is on a screen.\n"})
    )
    assert (await found(connect, "tide table"))["tide/old.md"] is None


@pytest.mark.usefixtures("notes")
async def test_a_note_that_may_not_hold_says_why_and_a_day_asks_for_what_held_then(connect: Connect) -> None:
    plan, later, idea, fare = (f"ferry/{one}.md" for one in ("plan", "next", "idea", "fare"))
    assert await found(connect, "ferry plan", folder="notes/ferry") == {
        later: None,
        plan: "superseded by notes-ferry-next",
        idea: "draft",
        fare: "valid until 2024-05-01",
    }
    then = await found(connect, "ferry plan", folder="notes/ferry", dates="as of 2024-04-01")
    assert then == {plan: None, idea: "draft", fare: None}
    assert set(await found(connect, "ferry plan", folder="notes/ferry", dates="As of June 2024")) == {plan, idea}
