"""Generated files with known places: what `search_memory` shows at limit 5 holds the answer, and says truly where."""

import random
from collections.abc import Iterable, Iterator
from typing import Any

import pytest

from loci.app import App
from loci.core.identity import LOCAL
from tests.support.files.sheets import workbook
from tests.surface.conftest import Connect
from tests.surface.files.searches import add
from tests.surface.results import structured

pytestmark = pytest.mark.anyio
SHARE = 0.9
PLACES = ("Berlin", "Oslo", "Quito", "Lagos", "Hanoi", "Perth", "Turin", "Basel", "Dakar", "Lima")
THINGS = ("bridge", "museum", "harbour", "station", "theatre", "library", "stadium", "garden", "tower", "market")
FILLER = "The council met, talked of the weather and of other matters, and went home without a decision. "


@pytest.fixture(autouse=True)
def ended(app: App) -> Iterator[None]:
    """No process that reads files outlives its test."""
    yield
    app.close()


async def answers(connect: Connect, questions: Iterable[str]) -> list[dict[str, Any]]:
    """What the tool answers to each of them, at limit 5."""
    async with connect("files") as client:
        asked = [await client.call_tool("search_memory", {"parsed_query": one, "limit": 5}) for one in questions]
    return [structured(one)["result"] for one in asked]


async def test_the_shown_lines_of_texts_hold_the_answer(connect: Connect, app: App) -> None:
    random_ = random.Random(1)
    asked: list[tuple[str, str, str, int]] = []
    for place in PLACES:
        lines = [FILLER * random_.randint(1, 4) for _ in range(60)]
        paid = {thing: str(random_.randrange(10_000, 99_999)) for thing in THINGS}
        for thing, cost in paid.items():
            lines.insert(random_.randrange(len(lines)), f"For the {thing} the council paid {cost} coins.")
        for thing, cost in paid.items():
            line = next(number for number, line in enumerate(lines, 1) if cost in line)
            asked.append((f"how much was paid for the {thing} of {place}", f"{place}.txt", cost, line))
        add(app, f"{place}.txt", "\n".join(lines))
    held = 0
    for (_, name, cost, line), answer in zip(asked, await answers(connect, [one[0] for one in asked]), strict=True):
        for found in answer["results"]:
            places = [one["locator"]["lines"] for one in found["passages"] if cost in one["text"]]
            if found["name"] == name and places:
                assert places[0][0] <= line <= places[0][1]
                held += 1
    assert held >= SHARE * len(asked)


async def test_the_shown_cells_of_workbooks_hold_the_answer(connect: Connect, app: App) -> None:
    random_ = random.Random(2)
    asked: list[tuple[str, str, str, int]] = []
    for place in PLACES:
        rows = [(random_.choice(THINGS), year, random_.randrange(10_000, 99_999)) for year in range(1900, 2020)]
        for _ in range(5):
            at = random_.randrange(len(rows))
            thing, year, coins = rows[at]
            asked.append((f"coins for the {thing} in {year} in {place}", f"{place}.xlsx", str(coins), at + 2))
        app.files.add(LOCAL, f"{place}.xlsx", workbook({"Costs": [("thing", "year", "coins"), *rows]}))
    held = 0
    for (_, name, coins, row), answer in zip(asked, await answers(connect, [one[0] for one in asked]), strict=True):
        for found in answer["results"]:
            places = [one["locator"]["cells"] for one in found["passages"] if coins in one["text"]]
            if found["name"] == name and places:
                first, _, last = places[0].partition(":")
                assert int(first[1:]) <= row <= int((last or first)[1:])
                held += 1
    assert held >= SHARE * len(asked)
