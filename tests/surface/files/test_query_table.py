"""`query_table`: SQL about the tables of a stored file."""

from collections.abc import Generator, Sequence
from typing import Any

import pytest
from mcp import Client
from mcp_types import CallToolResult

from loci.app import App
from loci.core.identity import LOCAL
from loci.files.file import file_id
from loci.files.reading import Reading, TableSection
from loci.mcp.server import build_server
from tests.support.computing import computing
from tests.support.each import each
from tests.surface.conftest import on_both
from tests.surface.results import error_of, structured, texts

pytestmark = pytest.mark.anyio

SALES = TableSection(
    sheet="Sales 2026",
    title="Sales by region",
    header=("Region", "Unit price", "Units", "Sold on", "Code", ""),
    rows=(
        ("North", "0.10", "3", "2026-05-01", "007", "x"),
        ("South", "0.20", "1,200", "2026-05-02", "042", ""),
        ("North", "", "n/a", "2026-06-01", "100", ""),
    ),
)
LARGE = TableSection(sheet="Large", header=("n", "text"), rows=tuple((str(n), f"row {n} " * 5) for n in range(3000)))


@pytest.fixture(scope="module", params=["embedded"])
def app(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Generator[App]:
    """Loci with the runner's packages. On AWS its machine is in this process."""
    with computing(request.param, tmp_path_factory) as app:
        yield app


async def called(app: App, **arguments: object) -> CallToolResult:
    async with Client(build_server(app, "files"), mode="2026-07-28") as client:
        return await client.call_tool("query_table", arguments)


async def asked(app: App, **arguments: object) -> dict[str, Any]:
    answer = await called(app, **arguments)
    assert not answer.is_error, texts(answer)
    return structured(answer)["result"]


def stored(app: App, *tables: TableSection, name: str = "sales.md") -> str:
    """A file in which these tables were read. No parser is needed for that."""
    app.files.add(LOCAL, name, b"sales")
    return read_again(app, name, tables)


def read_again(app: App, name: str, tables: Sequence[TableSection]) -> str:
    from dataclasses import replace

    lake, id = app.files.parts.lake, file_id(name)
    file = lake.get(LOCAL, id)
    version = replace(file.newest, status="okay", tables=len(tables), format="md")
    lake.keep_reading(LOCAL, id, version, Reading(format="md", sections=tuple(tables)))
    lake.put(LOCAL, file.read_as(version))
    return id


async def test_the_tables_are_listed_by_two_names_with_typed_columns(app: App) -> None:
    answer = await asked(app, memory_id=stored(app, SALES, LARGE))
    assert (answer["columns"], answer["rows"]) == ([], [])
    first, second = answer["tables"]
    assert (first["name"], first["alias"], first["sheet"], first["rows"]) == ("t1", "sales_by_region", "Sales 2026", 3)
    assert [(one["name"], one["type"]) for one in first["columns"]] == [
        ("Region", "VARCHAR"),
        ("Unit price", "DECIMAL(18,2)"),
        ("Units", "BIGINT"),
        ("Sold on", "DATE"),
        ("Code", "VARCHAR"),
        ("column6", "VARCHAR"),
    ]
    assert (second["name"], second["alias"], second["rows"]) == ("t2", "large", 3000)


async def test_sql_computes_exactly(app: App) -> None:
    sql = 'SELECT "Region", sum("Units"), sum("Unit price") FROM sales_by_region GROUP BY 1 ORDER BY 1'
    answer = await asked(app, memory_id=stored(app, SALES), sql=sql)
    assert answer["rows"] == [["North", 3, 0.1], ["South", 1200, 0.2]]
    total = await asked(app, memory_id=stored(app, SALES), sql='SELECT sum("Unit price") = 0.3, min("Sold on") FROM t1')
    assert total["rows"] == [[True, "2026-05-01"]]
    assert [one["type"] for one in total["columns"]] == ["BOOLEAN", "DATE"]


async def test_a_decimal_that_json_would_round_is_a_text(app: App) -> None:
    exact = TableSection(header=("amount",), rows=(("123456789012345.67",), ("9007199254740993.5",)))
    answer = await asked(app, memory_id=stored(app, exact), sql="SELECT max(amount) FROM t1")
    assert answer["rows"] == [["9007199254740993.50"]]


async def test_a_mistake_says_what_is_wrong_and_which_tables_there_are(app: App) -> None:
    answer = await called(app, memory_id=stored(app, SALES), sql="SELECT price FROM t1")
    assert answer.is_error
    error = error_of(answer)
    assert error["code"] == "SQL_ERROR"
    assert "price" in error["message"]
    assert "t1 or sales_by_region (Region, Unit price, Units, Sold on, Code, column6)" in error["resolution"]
    assert error["tables"][0]["name"] == "t1"


@on_both
@each(
    "sql",
    [
        "SELECT * FROM read_csv('/etc/passwd')",
        "SELECT * FROM read_text('/proc/self/environ')",
        "SELECT * FROM '/etc/passwd'",
        "SELECT * FROM read_csv('https://example.com/x.csv')",
        "COPY t1 TO '/tmp/x.csv'",
        "ATTACH 'x.db'",
        "INSTALL httpfs",
        "SET threads = 64",
        "DROP TABLE t1",
        "DELETE FROM t1",
        "SELECT 1; DROP TABLE t1",
        "PRAGMA database_list",
        "CALL pragma_version()",
        "SELECT * FROM tables",
        "SELECT",
    ],
)
async def test_sql_reaches_nothing_but_the_tables_and_changes_nothing(app: App, sql: str) -> None:
    id = stored(app, SALES)
    answer = await called(app, memory_id=id, sql=sql)
    assert answer.is_error
    assert error_of(answer)["code"] == "SQL_ERROR"
    assert (await asked(app, memory_id=id, sql="SELECT count(*) FROM t1"))["rows"] == [[3]]


@each(
    ("asks", "rows", "more"),
    [({"limit": 5}, 5, True), ({"limit": 1200}, 1200, False), ({"limit": 1199}, 1199, True), ({}, 1000, True)],
)
async def test_no_more_rows_come_than_asked_for_and_it_is_told_if_there_are_more(
    app: App, asks: dict[str, int], rows: int, more: bool
) -> None:
    sql = "SELECT n FROM large WHERE n < 1200 ORDER BY n"
    answer = await asked(app, memory_id=stored(app, LARGE), sql=sql, **asks)
    assert answer["rows"] == [[n] for n in range(rows)]
    assert answer["more"] is more


async def test_a_large_answer_is_cut_and_whole_in_the_scratchpad(app: App) -> None:
    answer = await called(app, memory_id=stored(app, LARGE), sql="SELECT * FROM large", limit=2000)
    assert "Results cached" in texts(answer)[-1]
    async with Client(build_server(app, "files"), mode="2026-07-28") as client:
        part = await client.call_tool("scratchpad_read", {"id": structured(answer)["scratchpad_id"]})
    assert '"more":true' in texts(part)[0] or structured(part)["total"] > 16_000


async def test_a_row_that_is_too_large_is_no_empty_answer(app: App) -> None:
    answer = await called(app, memory_id=stored(app, SALES), sql="SELECT repeat('x', 500000)")
    assert error_of(answer)["code"] == "SQL_ERROR"
    assert "The first row has more than 400,000 characters" in texts(answer)[0]


async def test_a_pivot_with_its_columns_is_answered_and_another_says_what_it_lacks(app: App) -> None:
    id = stored(app, SALES)
    pivot = 'PIVOT t1 ON "Region" IN (\'North\') USING sum("Units") GROUP BY "Code"'
    assert ["007", 3] in (await asked(app, memory_id=id, sql=pivot))["rows"]
    assert (
        "a PIVOT needs IN" in texts(await called(app, memory_id=id, sql='PIVOT t1 ON "Region" USING sum("Units")'))[0]
    )


async def test_a_new_version_is_asked_next(app: App) -> None:
    id = stored(app, SALES)
    app.files.add(LOCAL, "sales.md", b"new")
    read_again(app, "sales.md", [LARGE])
    assert (await asked(app, memory_id=id, sql="SELECT max(n) FROM t1"))["rows"] == [[2999]]


async def test_a_file_without_a_table_says_so(app: App) -> None:
    file = app.files.add(LOCAL, "trip.md", b"# Trip\n\nNo table.\n")
    answer = await called(app, memory_id=file.id, sql="SELECT 1")
    assert error_of(answer)["code"] == "NO_TABLES"
    answer = await called(app, memory_id="ds-none", sql="SELECT 1")
    assert error_of(answer)["code"] == "MEMORY_NOT_FOUND"
