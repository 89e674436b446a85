"""`read_memory`: a page, cells, lines or a section of a file, or its outline and its beginning."""

from typing import Any

import pytest
from reportlab.platypus import PageBreak, Table

from loci.app import App
from loci.core.identity import LOCAL
from loci.search.inference import tokens_at_most
from tests.support.each import each
from tests.support.files import office, papers, workbooks
from tests.surface.conftest import Connect
from tests.surface.files.conftest import on_vectors_too
from tests.surface.files.searches import add, call, search
from tests.surface.results import structured, texts

pytestmark = pytest.mark.anyio
HARBOUR = ["Kiel", "Genoa", "Marseille", "Bergen", "Porto"]
GOODS = [["Good", "2022", "2023"], *([f"good {number}", f"{number},100", f"{number},205"] for number in range(1, 61))]
NOTES = """# Trip

The train to Berlin costs 40 euros.

## Hotel

- a room

### Keys

Two.

## Food

Bread.
"""


def report() -> bytes:
    """A page for each harbour, of which the third has a table, too."""
    flowables: list[Any] = []
    for number, harbour in enumerate(HARBOUR, 1):
        flowables += [papers.paragraph(f"The harbour of {harbour}", "Heading1")]
        flowables += [papers.paragraph(f"{harbour} had {number}40 ships. {papers.SENTENCE * 3}")]
        flowables += [Table(papers.CITIES, style=papers.GRID)] if number == 3 else []
        flowables += [PageBreak()]
    return papers.flowing(*flowables)


def stored(app: App, name: str, content: bytes) -> str:
    file = app.files.add(LOCAL, name, content)
    assert file.newest.status == "okay", file.newest.reason
    return file.id


async def read(connect: Connect, id: str, **arguments: object) -> dict[str, Any]:
    return await call(connect, "read_memory", id=id, **arguments)


async def refused(connect: Connect, **arguments: object) -> str:
    async with connect("files") as client:
        answer = await client.call_tool("read_memory", arguments)
    assert answer.is_error
    return texts(answer)[0]


async def text_of(connect: Connect, **arguments: object) -> str:
    async with connect("files") as client:
        [text] = texts(await client.call_tool("read_memory", arguments))
    return text


async def test_a_page_of_a_pdf_is_read_with_its_table_and_says_what_comes_next(connect: Connect, app: App) -> None:
    id = stored(app, "harbours.pdf", report())
    for page in (3, "3", "page 3"):
        part = await read(connect, id, page=page)
        assert "Marseille had 340 ships" in part["text"]
        assert "Paris | 2023 | 55" in part["text"]
        assert "Bergen" not in part["text"]
        assert (part["label"], part["heading"], part["next"]) == (
            "page 3",
            "The harbour of Marseille",
            {"id": id, "page": 4},
        )
    two = await read(connect, id, page="4-5")
    assert "Bergen" in two["text"]
    assert "Porto" in two["text"]
    assert (two["label"], two["next"]) == ("pages 4-5", None)
    assert "Its pages are 1-5" in await refused(connect, id=id, page=6)


async def test_without_a_place_the_outline_and_the_beginning_are_read(connect: Connect, app: App) -> None:
    part = await read(connect, stored(app, "harbours.pdf", report()), max_tokens=400)
    assert part["outline"].split("\n")[1] == "- The harbour of Genoa (page 2)"
    assert part["text"].startswith("# The harbour of Kiel")
    book = await read(connect, stored(app, "goods.xlsx", workbooks.xlsx(("Goods", GOODS), ("Empty", []))))
    assert book["outline"] == "- Goods!A1:C61, 60 rows: Good, 2022, 2023\n- Empty: no table"
    assert book["text"].startswith(
        "[Goods!A1:C61]\nrow | A Good | B 2022 | C 2023\n---|---|---|---\n2 | good 1 | 1,100 | 1,205"
    )


@each(
    ("cells", "rows"),
    [
        ("Goods!A5:C6", ["row | A Good | B 2022 | C 2023", "5 | good 4 | 4,100 | 4,205", "6 | good 5 | 5,100 | 5,205"]),
        ("goods!$C$5", ["row | A Good | C 2023", "5 | good 4 | 4,205"]),
        ("B61:B99", ["row | A Good | B 2022", "61 | good 60 | 60,100"]),
    ],
)
async def test_cells_come_with_their_header_and_the_names_of_their_rows(
    connect: Connect, app: App, cells: str, rows: list[str]
) -> None:
    part = await read(connect, stored(app, "goods.xlsx", workbooks.xlsx(("Goods", GOODS))), cells=cells)
    assert [line for line in part["text"].split("\n")[1:] if "---" not in line] == rows
    table = "\n".join(";".join(row) for row in GOODS).encode()
    of_text = await read(connect, stored(app, "goods.csv", table), cells=cells.lower().replace("goods!", "Sheet1!"))
    assert of_text["text"].partition("\n")[2] == part["text"].partition("\n")[2]
    assert "its cells are named alone" in await refused(connect, id=of_text["id"], cells="Costs!A1:B2")


@on_vectors_too
async def test_lines_and_sections_are_read_as_they_were_added(connect: Connect, app: App) -> None:
    id = add(app, "trip.md", NOTES)
    lines = NOTES.split("\n")
    assert (await read(connect, id, lines="3-7"))["text"] == "\n".join(lines[2:7])
    assert (await read(connect, id, lines=[5, 6]))["text"] == "## Hotel"
    hotel = await read(connect, id, section="Trip > hotel")
    assert hotel["text"].endswith("### Keys\n\nTwo.")
    assert hotel["next"] == {"id": id, "lines": "13-"}
    assert "Its sections are 'Hotel', 'Trip'" in await refused(connect, id=id, section="Hotels")
    assert "only 15 lines" in await refused(connect, id=id, lines="90-99")
    assert "name two places" in await refused(connect, id=id, lines="3", page=1)
    add(app, "trip.md", "# Trip\n\nCancelled.\n")
    assert "costs 40 euros" in (await read(connect, id, version=1, lines="3"))["text"]
    assert "Cancelled" in (await read(connect, id))["text"]
    assert "Its versions are 1, 2" in await refused(connect, id=id, version=3)


def long_text() -> bytes:
    return "\n".join(
        f"## Day {day}\n\nOn day {day} it rained {day}.5 millimetres, and the tide rose." for day in range(90)
    ).encode()


LONG = {
    "days.md": long_text,
    "days.txt": lambda: b"x" * 9_000 + b"\n" + long_text(),
    "harbours.pdf": report,
    "goods.xlsx": lambda: workbooks.xlsx(
        ("Goods", GOODS), ("Other", [["Day", "Sum"], *([n, n * 7] for n in range(40))])
    ),
    "goods.csv": lambda: "\n".join(";".join(row) for row in GOODS).encode(),
    "report.docx": office.report,
    "talk.pptx": office.slides,
}


@each("name", [*LONG])
async def test_who_reads_on_as_each_answer_says_reads_all_of_it_once_within_the_tokens(
    connect: Connect, app: App, name: str
) -> None:
    id = stored(app, name, LONG[name]())
    whole = (await read(connect, id, max_tokens=20_000))["text"]
    arguments: dict[str, Any] | None = {"id": id}
    seen: list[str] = []
    async with connect("files") as client:
        while arguments is not None:
            answer = await client.call_tool("read_memory", {**arguments, "max_tokens": 200})
            assert tokens_at_most(texts(answer)[0]) <= 200
            part = structured(answer)["result"]
            seen.append(part["text"])
            arguments = part["next"]
            assert len(seen) < 400
    words = [word for word in " ".join(seen).split() if word.strip("|-[]#")]
    missing = [word for word in whole.replace("x" * 9_000, "").split() if word.strip("|-[]#") and word not in words]
    assert missing == []
    assert sum(one.count("xxx") * 3 for one in seen) in range(9_000 - 400, 9_001) if name == "days.txt" else True
    assert sum("harbour of Genoa" in one for one in seen) == (name == "harbours.pdf")


@each(
    ("name", "question"),
    [
        ("days.md", "rained 7.5"),
        ("harbours.pdf", "ships of Marseille"),
        ("goods.xlsx", "good 7"),
        ("goods.csv", "good 7"),
        ("report.docx", "costs"),
        ("talk.pptx", "harbour plans"),
    ],
)
async def test_the_label_of_a_passage_is_a_place_under_any_name(
    connect: Connect, app: App, name: str, question: str
) -> None:
    id = stored(app, name, LONG[name]())
    found = (await search(connect, question, memory_ids=[id]))["results"][0]["passages"]
    assert found
    for passage in found:
        label = passage["locator"]["label"]
        first, *others = [await read(connect, id, **{place: label}) for place in ("page", "cells", "lines", "section")]
        fields = {name: one for name, one in passage["locator"].items() if name != "box"}
        others += [await read(connect, id, cells=passage["locator"]), await read(connect, id, **fields)]
        assert all(one["text"] == first["text"] for one in others)
        cited = passage["text"].strip("…").split("\n")[-1]
        told = await call(connect, "verify_citation", chunk_id=passage["chunk_id"], text=cited)
        assert told["verified"]
        assert await read(connect, id, **told["locator"])
        assert "Sheet1" not in f"{passage} {first} {told}"
        text = " ".join(first["text"].replace("A Good", "Good").replace("B 2", "2").replace("C 2", "2").split())
        for line in passage["text"].strip("…").split("\n"):
            assert " ".join(line.split()) in text, label


async def test_what_cannot_be_read_says_why(connect: Connect, app: App) -> None:
    file = app.files.add(LOCAL, "odd.pdf", b"%PDF-1.7 no more")
    assert "odd.pdf is not read: " in await refused(connect, id=file.id)
    id = add(app, "trip.md", NOTES)
    assert "Did you mean id?" in await refused(connect, memory_id=id)
    assert (await text_of(connect, id=id, lines="1-3")).endswith(f'read_memory(id="{id}", lines="4-")')
