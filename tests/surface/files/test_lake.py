"""Files through the tools: added, found, fetched, removed."""

from typing import Any

import pytest
from reportlab.platypus import Table

from loci.app import App
from loci.core.identity import LOCAL
from loci.search.inference import tokens_at_most
from tests.support.each import each
from tests.support.files import papers, workbooks
from tests.surface.conftest import Connect
from tests.surface.files.conftest import on_vectors_too
from tests.surface.files.searches import call
from tests.surface.results import structured, texts

pytestmark = pytest.mark.anyio
NOTES = "# Trip\nThe train to Berlin costs 40 euros.\n\n## Next\nAnn buys the tickets.\n"


@on_vectors_too
async def test_a_text_is_found_in_the_same_turn_with_its_lines(connect: Connect) -> None:
    async with connect("files") as client:
        [added] = structured(await client.call_tool("add_memory", {"name": "trip.md", "text": NOTES}))["result"]
        assert (added["status"], added["version"], added["num_chunks"]) == ("okay", 1, 2)
        answer = structured(await client.call_tool("search_memory", {"parsed_query": "who buys the tickets"}))["result"]
        assert (answer["status"], answer["n"]) == ("ok", 1)
        [result] = answer["results"]
        assert (result["id"], result["name"]) == (added["id"], "trip.md")
        assert result["passages"][0]["locator"]["lines"] == [5, 5]
        assert result["passages"][0]["text"] == "Ann buys the tickets."


async def test_the_overview_counts_files_by_the_types_of_the_reference(connect: Connect) -> None:
    async with connect("files") as client:
        await client.call_tool("add_memory", {"name": "trip.md", "text": NOTES})
        overview = structured(await client.call_tool("get_memorylake_metadata", {}))["result"]
    assert overview["total_files"] == overview["total_txt_files"] == 1
    assert overview["total_excel_files"] == overview["total_pdf_files"] == 0
    [sample] = overview["sample_memories"]
    assert (sample["name"], sample["type"], sample["format"]) == ("trip.md", "txt_file", "md")


async def test_the_overview_pages_by_name_and_folder_and_says_what_could_not_be_read(
    connect: Connect, app: App
) -> None:
    for number in range(25):
        app.files.add(LOCAL, f"reports/2023/trip-{number}.md", NOTES.encode())
    wide = workbooks.xlsx(*((f"Sheet of the month {number:02}", [["A", "B"], [1, 2]]) for number in range(40)))
    for number in range(12):
        app.files.add(LOCAL, f"books/{number}.xlsx", wide)
    app.files.add(LOCAL, "odd.pdf", b"%PDF-1.7 no more")
    seen: list[str] = []
    page: dict[str, Any] = {"next_offset": 0}
    while (offset := page.get("next_offset")) is not None:
        async with connect("files") as client:
            answer = await client.call_tool("get_memorylake_metadata", {"offset": offset, "limit": 30})
        assert tokens_at_most(texts(answer)[0]) < 3_500
        page = structured(answer)["result"]
        seen += [one["id"] for one in page["sample_memories"]]
    assert (len(seen), len({*seen}), page["n"], page["total_files"]) == (38, 38, 38, 38)
    assert [(one["name"], "damaged" in one["reason"]) for one in page["not_read"]] == [("odd.pdf", True)]
    for scope, count in (
        ({"name": "TRIP-2"}, 6),
        ({"folder": "/2023/"}, 25),
        ({"folder": "reports", "name": "odd"}, 0),
        ({"folder": "2023/trip"}, 0),
        ({"added_since": "2020-01-01", "folder": "books"}, 12),
        ({"added_until": "2020-01-01"}, 0),
    ):
        assert (await call(connect, "get_memorylake_metadata", **scope))["n"] == count, scope


MONTHS = [
    ["Visits to the harbour by month"],
    [],
    ["Year", "Month", "Ships"],
    ["2022", "Jan", 7],
    ["", "Feb", 9],
    ["2023", "Jan", 8],
    ["", "Feb", 11],
]
MARGINS = [
    ["Margin", "2021", "2022", "2023"],
    ["Goods", "35.3 %", "36.3 %", "36.5 %"],
    ["Total", "41.8 %", "43.3 %", "44 %"],
]


def annual_report() -> bytes:
    title = papers.paragraph("Harbour of Kiel, annual report", "Heading1")
    caption = papers.paragraph("Gross margin percentage:", "Heading3")
    return papers.flowing(title, papers.paragraph(papers.SENTENCE), caption, Table(MARGINS, style=papers.GRID))


def cover() -> bytes:
    """The cover of a form: the authority in large letters, then the form, the period, and the name above its label."""
    authority, form = (papers.paragraph(one, "Heading1") for one in ("HARBOUR AUTHORITY OF THE NORTH", "FORM 7-A"))
    name = papers.paragraph("Kiel Ferries, Ltd.", "Heading2"), papers.paragraph("(Exact name of the carrier)")
    lines = map(papers.paragraph, ("Oslo 0150", "ANNUAL RETURN For the fiscal year ended March 31, 2023. or"))
    quays = [["Quay", "2024", "2039"], ["North", "7", "9"], ["South", "8", "3"]]
    tons = papers.paragraph("(in thousands of tons)", "Heading3"), Table(quays, style=papers.GRID)
    return papers.flowing(authority, next(lines), form, next(lines), *name, *tons)


@each(
    ("name", "content", "summary"),
    [
        (
            "visits.xlsx",
            workbooks.xlsx(("Visits", MONTHS), ("Ports", [["Port", "Ships"], ["Kiel", 7], ["Porto", 9]])),
            "Visits to the harbour by month: a workbook of 2 sheets, 2022 to 2023, with Visits (4 rows of Year, Month "
            "and Ships) and Ports (2 rows of Port and Ships).",
        ),
        (
            "annual.pdf",
            annual_report(),
            "Harbour of Kiel, annual report: a PDF, 2021 to 2023, with Gross margin percentage (3 rows).",
        ),
        (
            "return.pdf",
            cover(),
            "Kiel Ferries, Ltd., FORM 7-A: a PDF, fiscal year ended March 31, 2023, with 3 rows on page 1. ",
        ),
        (
            "fees.csv",
            b"day,port,fee,paid,by\n2023-01-02,Kiel,7,yes,Ann\n2024-01-02,Kiel,8,no,Bob\n",
            "A csv file, 2023 to 2024, with 2 rows of day, port, fee and 2 more.",
        ),
        ("trip.md", NOTES.encode(), "Trip: The train to Berlin costs 40 euros. Ann buys the tickets."),
        ("numbers.csv", b"1;2\n3;4\n", "A csv file, with 2 rows."),
    ],
)
async def test_a_summary_names_the_title_the_period_and_the_main_tables(
    connect: Connect, app: App, name: str, content: bytes, summary: str
) -> None:
    id = app.files.add(LOCAL, name, content).id
    async with connect("files") as client:
        told = structured(await client.call_tool("fetch_memory", {"memory_ids": [id]}))[id]
    assert told["summary"].startswith(summary), told["summary"]


@on_vectors_too
async def test_a_removed_file_is_gone_everywhere(connect: Connect, app: App) -> None:
    async with connect("files") as client:
        [added] = structured(await client.call_tool("add_memory", {"name": "trip.md", "text": NOTES}))["result"]
        await client.call_tool("delete_memory", {"memory_ids": [added["id"]]})
        answer = structured(await client.call_tool("search_memory", {"parsed_query": "tickets"}))["result"]
        assert (answer["results"], answer["n"], answer["match"]) == ([], 0, "none")
        fetched = await client.call_tool("fetch_memory", {"memory_ids": [added["id"]]})
    assert fetched.is_error
    assert not list(app.files.parts.lake.files(LOCAL))
