"""A workbook, a PDF and two texts in one lake, through the tools."""

import datetime
from collections.abc import Generator
from dataclasses import dataclass
from typing import Any

import pytest
from mcp import Client
from openpyxl import Workbook

from loci.app import App
from loci.core.identity import LOCAL
from loci.mcp.server import build_server
from tests.support.computing import computing
from tests.support.each import each
from tests.support.files import papers
from tests.support.files.workbooks import xlsx
from tests.surface.results import call_files, error_of

pytestmark = pytest.mark.anyio
FARES = [["route", "price"], ["Kos", 12], ["Rhodes", 30]]
TRIP = b"# Trip\n\nThe train to Berlin costs 40 euros.\n\n## Next\n\nAnn buys the tickets.\n"


def two_tables(book: Workbook) -> None:
    """A sheet with a header of two rows, merged above two columns, and a second table below a gap."""
    sheet = book.create_sheet("2026年")
    for row in (["地区", "Sales", None], [None, "May", "Jun"], ["北京", 1200, 7], ["上海", 30, 5], [], []):
        sheet.append(row)
    sheet.merge_cells("A1:A2")
    sheet.merge_cells("B1:C1")
    sheet.append(["Due", "Paid"])
    sheet.append([datetime.date(2026, 5, 1), 10.5])
    sheet.append([datetime.date(2026, 6, 2), 0.25])


@dataclass(frozen=True, slots=True)
class MixedLake:
    """The app, and the ids of its files by their names."""

    app: App
    ids: dict[str, str]

    async def call(self, tool: str, **arguments: object) -> dict[str, Any]:
        return await call_files(self.app, tool, **arguments)

    async def error(self, tool: str, **arguments: object) -> dict[str, Any]:
        async with Client(build_server(self.app, "files"), mode="2026-07-28") as client:
            answer = await client.call_tool(tool, arguments)
        assert answer.is_error
        return error_of(answer)

    async def samples(self) -> dict[str, dict[str, Any]]:
        """The samples of the overview, by their names."""
        overview = (await self.call("get_memorylake_metadata"))["result"]
        return {one["name"]: one for one in overview["sample_memories"]}

    async def rows(self, sql: str) -> list[list[Any]]:
        """The answer to SQL about the workbook."""
        return (await self.call("query_table", memory_id=self.ids["costs.xlsx"], sql=sql))["result"]["rows"]


@pytest.fixture(scope="module", params=["embedded"])
def lake(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Generator[MixedLake]:
    files = {
        "costs.xlsx": xlsx(("Fares", FARES), then=two_tables),
        "report.pdf": papers.flowing(
            papers.paragraph("Harbours", "Heading1"), papers.paragraph("The lighthouse keeper earns forty crowns.")
        ),
        "scan.pdf": papers.drawn(papers.both(papers.line("A plan of the quay", y=750), papers.picture)),
        "trip.md": TRIP,
        "notes.txt": b"Plums are ripe in August.\n",
    }
    with computing(request.param, tmp_path_factory) as app:
        added = {name: app.files.add(LOCAL, name, content) for name, content in files.items()}
        assert {name: one.newest.reason for name, one in added.items()} == dict.fromkeys(files)
        yield MixedLake(app, {name: one.id for name, one in added.items()})


# The overview


async def test_the_overview_counts_workbooks_papers_and_texts(lake: MixedLake) -> None:
    overview = (await lake.call("get_memorylake_metadata"))["result"]
    fields = ("total_files", "total_excel_files", "total_pdf_files", "total_txt_files")
    assert [overview[one] for one in fields] == [5, 1, 2, 2]


async def test_one_call_names_all_files_with_their_types(lake: MixedLake) -> None:
    assert {name: one["type"] for name, one in (await lake.samples()).items()} == {
        "costs.xlsx": "excel_file",
        "report.pdf": "pdf_file",
        "scan.pdf": "pdf_file",
        "trip.md": "txt_file",
        "notes.txt": "txt_file",
    }


async def test_samples_have_the_ids_under_which_files_were_added(lake: MixedLake) -> None:
    assert {name: one["id"] for name, one in (await lake.samples()).items()} == lake.ids


async def test_the_ids_of_samples_can_be_fetched(lake: MixedLake) -> None:
    ids = {name: one["id"] for name, one in (await lake.samples()).items()}
    fetched = await lake.call("fetch_memory", memory_ids=[*ids.values()])
    assert {one["name"]: id for id, one in fetched.items()} == ids


async def test_code_opens_a_sample_by_its_id(lake: MixedLake) -> None:
    id = (await lake.samples())["notes.txt"]["id"]
    executor = (await lake.call("create_memory_code_runner"))["result"]["executor_id"]
    code = f"print(get_memory_path('{id}', 'notes.txt').read_text())"
    ran = await lake.call("run_memory_code", executor_id=executor, code=code)
    assert ran["result"]["stdout"].strip() == "Plums are ripe in August."


async def test_a_sample_counts_the_passages_that_a_search_can_find(lake: MixedLake) -> None:
    sample = (await lake.samples())["trip.md"]
    assert sample["num_chunks"] == 2
    last = f"{sample['id']}#{sample['num_chunks'] - 1}"
    assert (await lake.call("verify_citation", chunk_id=last, text="Ann buys the tickets."))["result"]["verified"]
    beyond = f"{sample['id']}#{sample['num_chunks']}"
    assert (await lake.error("verify_citation", chunk_id=beyond, text="x"))["code"] == "PASSAGE_NOT_FOUND"


async def test_a_sample_counts_figures(lake: MixedLake) -> None:
    samples = await lake.samples()
    assert {name: one["num_figures"] for name, one in samples.items() if one["num_figures"]} == {"scan.pdf": 1}


async def test_a_sample_counts_tables(lake: MixedLake) -> None:
    samples = await lake.samples()
    assert {name: one["num_tables"] for name, one in samples.items() if one["num_tables"]} == {"costs.xlsx": 3}


async def test_a_workbook_alone_has_sheet_names(lake: MixedLake) -> None:
    samples = await lake.samples()
    assert {name: one.get("sheet_names") for name, one in samples.items() if "sheet_names" in one} == {
        "costs.xlsx": ["Fares", "2026年"]
    }


# Fetching


async def test_fetching_gives_each_file_under_its_own_id_with_its_name(lake: MixedLake) -> None:
    fetched = await lake.call("fetch_memory", memory_ids=[*lake.ids.values()])
    assert {id: (one["id"], one["name"]) for id, one in fetched.items()} == {
        id: (id, name) for name, id in lake.ids.items()
    }


async def test_fetching_gives_a_summary_out_of_the_text(lake: MixedLake) -> None:
    fetched = await lake.call("fetch_memory", memory_ids=[*lake.ids.values()])
    for name, word in (("costs.xlsx", "Fares"), ("report.pdf", "lighthouse"), ("notes.txt", "Plums")):
        assert word in fetched[lake.ids[name]]["summary"]


# Searches


async def test_results_have_a_text_about_their_file_and_are_counted(lake: MixedLake) -> None:
    answer = (await lake.call("search_memory", parsed_query="Rhodes Berlin plums"))["result"]
    assert {one["name"] for one in answer["results"]} == {"costs.xlsx", "trip.md", "notes.txt"}
    assert answer["n"] == 3
    words = {"costs.xlsx": "Fares", "trip.md": "Berlin", "notes.txt": "Plums"}
    assert all(words[one["name"]] in one["summary"] for one in answer["results"])


@pytest.mark.parametrize("lake", ["embedded", "aws"], indirect=True)
@each(
    ("question", "name", "label"),
    [
        ("fare to Rhodes", "costs.xlsx", "Fares!A1:B3"),
        ("上海", "costs.xlsx", "2026年!A1:C4"),
        ("lighthouse keeper", "report.pdf", "page 1"),
        ("who buys tickets", "trip.md", "line 7"),
        ("ripe plums", "notes.txt", "line 1"),
    ],
)
async def test_files_of_every_type_are_searched(lake: MixedLake, question: str, name: str, label: str) -> None:
    [first, *_] = (await lake.call("search_memory", parsed_query=question))["result"]["results"]
    assert (first["name"], first["passages"][0]["locator"]["label"]) == (name, label)


# Tables in SQL


async def test_the_tables_of_all_sheets_are_listed_with_their_columns(lake: MixedLake) -> None:
    tables = (await lake.call("query_table", memory_id=lake.ids["costs.xlsx"]))["result"]["tables"]
    assert [(one["name"], one["sheet"], [column["name"] for column in one["columns"]]) for one in tables] == [
        ("t1", "Fares", ["route", "price"]),
        ("t2", "2026年", ["地区", "Sales May", "Sales Jun"]),
        ("t3", "2026年", ["Due", "Paid"]),
    ]


async def test_columns_under_a_merged_header_are_added_up(lake: MixedLake) -> None:
    assert await lake.rows('SELECT "地区", "Sales May" + "Sales Jun" AS total FROM t2 ORDER BY total') == [
        ["上海", 35],
        ["北京", 1207],
    ]


async def test_dates_of_a_workbook_are_dates_in_sql(lake: MixedLake) -> None:
    assert await lake.rows('SELECT month("Due"), "Paid" FROM t3 WHERE "Due" > DATE \'2026-05-15\'') == [[6, 0.25]]


async def test_tables_of_two_sheets_are_joined(lake: MixedLake) -> None:
    assert await lake.rows('SELECT route, "地区" FROM t1 JOIN t2 ON price = "Sales May"') == [["Rhodes", "上海"]]


@each("sql", ["SELECT Region FROM t2", "SELECT * FROM sales"])
async def test_a_mistake_names_the_tables_and_columns_that_there_are(lake: MixedLake, sql: str) -> None:
    error = await lake.error("query_table", memory_id=lake.ids["costs.xlsx"], sql=sql)
    assert error["code"] == "SQL_ERROR"
    for known in ("t1 or fares (route, price)", "(地区, Sales May, Sales Jun)", "(Due, Paid)"):
        assert known in error["resolution"]


async def test_pandas_reads_a_sheet_of_a_stored_workbook(lake: MixedLake) -> None:
    id = lake.ids["costs.xlsx"]
    executor = (await lake.call("create_memory_code_runner"))["result"]["executor_id"]
    code = (
        "import pandas as pd\n"
        f'df = pd.read_excel(get_memory_path("{id}", "costs.xlsx"), sheet_name="Fares")\n'
        "print(df.head())"
    )
    printed = (await lake.call("run_memory_code", executor_id=executor, code=code))["result"]["stdout"]
    assert [line.split() for line in printed.splitlines()] == [
        ["route", "price"],
        ["0", "Kos", "12"],
        ["1", "Rhodes", "30"],
    ]
