"""`query_table`: SQL about the tables of a stored file."""

from collections.abc import Generator, Sequence
from typing import Any

import pytest
from mcp import Client
from mcp_types import CallToolResult

from loci.app import App
from loci.core.identity import LOCAL
from loci.files.file import file_id
from loci.files.lake import packed, reading_key
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
EMPTY = Reading(format="md", sections=(TableSection(rows=()),))
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
    lake.keep_reading(LOCAL, id, version, packed(Reading(format="md", sections=tuple(tables))))
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


AMOUNTS = TableSection(
    sheet="Amounts",
    header=("Item", "Share", "", "Paid", "Due", "Flight", "When"),
    rows=(
        ("rent", "7.7%", "$", "$1,234.50", "30.09.2023", "LH 007", "01/02/2024"),
        ("power", "12%", "$", "(200)", "01.02.2024", "BA 12", "03/04/2024"),
        ("rest", "", "", "-", "", "", ""),
    ),
)


async def test_amounts_and_days_as_people_write_them_are_numbers_and_days_with_the_text_beside_them(app: App) -> None:
    id = stored(app, AMOUNTS, name="amounts.md")
    [table] = (await asked(app, memory_id=id))["tables"]
    kinds = {one["name"]: one["type"].partition("(")[0] for one in table["columns"]}
    assert kinds == {
        "Item": "VARCHAR",
        "Share": "DECIMAL",
        "Share as shown": "VARCHAR",
        "Paid": "DECIMAL",
        "Paid as shown": "VARCHAR",
        "Due": "DATE",
        "Due as shown": "VARCHAR",
        "Flight": "VARCHAR",  # no amounts
        "When": "VARCHAR",  # nobody knows which is the month
    }
    sql = 'SELECT sum(Share), sum(Paid), max(Due), min("Share as shown") FROM amounts'
    assert (await asked(app, memory_id=id, sql=sql))["rows"] == [[0.197, 1034.5, "2024-02-01", "12%"]]


def of_month(sheet: str, *rows: tuple[str, ...]) -> TableSection:
    return TableSection(sheet=sheet, title=f"Costs of {sheet}", header=("Item", "Euros", "Remark"), rows=rows)


MONTHS = (
    of_month("January", ("rent", "40", ""), ("power", "10", "")),
    of_month("February", ("rent", "41.50", "raised")),
    TableSection(sheet="Rooms", header=("Room",), rows=(("hall",),)),
    of_month("O'March", ("rent", "", ""), ("water", "5", "")),
)


@on_both
async def test_tables_of_one_shape_are_asked_together_and_answers_repeat_no_schema(app: App) -> None:
    id = stored(app, *MONTHS, name="house costs.md")
    tables = (await asked(app, memory_id=id))["tables"]
    assert [(one["name"], one["rows"]) for one in tables[:4]] == [("t1", 2), ("t2", 1), ("t3", 1), ("t4", 2)]
    [united] = tables[4:]
    assert (united["name"], united["unites"], united["rows"]) == ("house_costs", ["t1", "t2", "t4"], 5)
    assert [one["name"] for one in united["columns"]] == ["sheet", "title", "Item", "Euros", "Remark"]
    answer = await asked(app, memory_id=id, sql="SELECT sheet, sum(Euros) FROM house_costs GROUP BY 1 ORDER BY 2")
    assert answer["rows"] == [["O'March", 5], ["February", 41.5], ["January", 50]]
    assert answer.keys() == {"columns", "rows", "more"}
    error = error_of(await called(app, memory_id=id, sql="SELECT * FROM everything"))
    assert "house_costs: t1, t2, t4 together (sheet, title, Item, Euros, Remark); t1 or costs" in error["resolution"]


@on_both
async def test_files_are_joined_and_versions_compared_in_one_statement(app: App) -> None:
    stock = TableSection(sheet="Stock", header=("Fruit", "Tons"), rows=(("quince", "3"), ("medlar", "4")))
    price = TableSection(sheet="Prices", header=("Fruit", "Price"), rows=(("quince", "2.50"), ("medlar", "1")))
    later = TableSection(sheet="Prices", header=("Fruit", "Price"), rows=(("quince", "2.75"), ("medlar", "1")))
    south, north = (stored(app, stock, name=f"{one}/stock.md") for one in ("south", "north"))
    prices = stored(app, price, name="prices.md")
    app.files.add(LOCAL, "prices.md", b"later")
    app.files.parts.lake.keep_history(LOCAL, prices, app.files.status(LOCAL, [prices])[0].shown)
    read_again(app, "prices.md", [later])
    ids = [south, north, prices, f"{prices}@1"]
    tables = (await asked(app, memory_ids=ids))["tables"]
    assert [(one["name"], one["alias"], one["file"]) for one in tables[:4]] == [
        ("t1", "south_stock", "south/stock.md"),
        ("t2", "north_stock", "north/stock.md"),
        ("t3", "prices", "prices.md"),
        ("t4", "prices_v1", "prices.md v1"),
    ]
    assert [one["unites"] for one in tables[4:] if one["name"].startswith("all_files")] == [["t1", "t2"], ["t3", "t4"]]
    sql = "SELECT sum(Tons * Price) FROM south_stock JOIN prices USING (Fruit)"
    assert (await asked(app, memory_ids=ids, sql=sql))["rows"] == [[12.25]]
    changed = "SELECT Fruit, b.Price, a.Price FROM prices a JOIN prices_v1 b USING (Fruit) WHERE a.Price <> b.Price"
    assert (await asked(app, memory_ids=ids, sql=changed))["rows"] == [["quince", 2.5, 2.75]]
    together = "SELECT file, sum(Tons) FROM all_files GROUP BY file ORDER BY 1"
    assert (await asked(app, memory_ids=ids, sql=together))["rows"] == [["north/stock.md", 7], ["south/stock.md", 7]]
    old = await asked(app, memory_id=prices, version=1, sql="SELECT max(Price) FROM prices")
    assert old["rows"] == [[2.5]]
    for wrong, code in (({}, "MEMORY_NOT_FOUND"), ({"memory_ids": ids, "version": 1}, "BAD_ARGUMENTS")):
        assert error_of(await called(app, sql="SELECT 1", **wrong))["code"] == code
    missing = error_of(await called(app, memory_id=prices, version=7, sql="SELECT 1"))
    assert (missing["code"], missing["resolution"]) == ("VERSION_NOT_FOUND", "Its versions are 1, 2")


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
        "SELECT * FROM duckdb_settings()",
        "SELECT * FROM tables",
        "SELECT",
    ],
)
async def test_sql_reaches_nothing_but_the_tables(app: App, sql: str) -> None:
    await is_refused(app, stored(app, SALES), sql)


@each(
    "sql",
    [
        "DROP TABLE t1",
        "DROP VIEW sales_by_region",
        "DELETE FROM t1",
        "TRUNCATE t1",
        "INSERT INTO t1 FROM t1",
        'UPDATE t1 SET "Units" = 0',
        'EXPLAIN ANALYZE UPDATE t1 SET "Units" = 0',
        'EXPLAIN (ANALYZE, FORMAT JSON) UPDATE t1 SET "Units" = 0',
        'EXPLAIN/**/ANALYZE UPDATE t1 SET "Units" = 0',
        '/* /* */ explain select 1 -- */ explain analyze update t1 set "Units" = 0',
        "EXPLAIN ANALYZE SELECT 1",
        "EXPLAIN SELECT 1; DROP TABLE t1",
        "SELECT 1; DROP TABLE t1",
        "CREATE MACRO sum(x) AS 0",
        "CREATE TEMP MACRO sum(x) AS 0",
        'CREATE TEMP VIEW t1 AS SELECT 0 AS "Units"',
        "CREATE TEMP TABLE kept AS FROM t1",
        "CREATE SEQUENCE counted",
        "PREPARE asked AS SELECT 1",
        "SET VARIABLE kept = 1",
        "BEGIN",
        "PRAGMA database_list",
        "PRAGMA version",
        "CALL pragma_version()",
        "CALL enable_logging()",
        "CHECKPOINT",
        "SELECT * FROM enable_logging()",
        'SELECT * FROM system.main."Enable_Logging"()',
        "SELECT (SELECT count(*) FROM enable_profiling())",
        "WITH one AS (FROM force_checkpoint()) FROM one",
        "SUMMARIZE FROM disable_logging()",
        "EXPLAIN SELECT * FROM checkpoint()",
        "SELECT * FROM query('SELECT 1')",
        "SELECT * FROM json_execute_serialized_sql(json_serialize_sql('SELECT 1'))",
        "SELECT setseed(0.5)",
        "SELECT [nextval(x) FOR x IN ['counted']]",
    ],
)
async def test_sql_that_does_more_than_read_is_refused_and_changes_no_later_answer(app: App, sql: str) -> None:
    error = await is_refused(app, stored(app, SALES), sql)
    assert error["message"].startswith(("query_table only reads", "query_table does not call")), error["message"]


async def is_refused(app: App, id: str, sql: str) -> dict[str, Any]:
    """The error; a sum is then what it was."""
    answer = await called(app, memory_id=id, sql=sql)
    assert answer.is_error, texts(answer)
    assert error_of(answer)["code"] == "SQL_ERROR"
    assert (await asked(app, memory_id=id, sql='SELECT sum("Units"), count(*) FROM t1'))["rows"] == [[1203, 3]]
    return error_of(answer)


@each(
    ("sql", "row"),
    [
        ("SELECT 1", [1]),
        ("(SELECT 1)", [1]),
        ("VALUES (1)", [1]),
        ("FROM (VALUES (1))", [1]),
        ("/* a; b */ SELECT 1 -- ; c\n;;", [1]),
        ("-- nothing; yet\nSELECT ';'", [";"]),
        ("SELECT 1 AS n UNION ALL SELECT 2 ORDER BY n DESC", [2]),
        ('WITH "insert" AS (SELECT 1) FROM "insert"', [1]),
        ("WITH update AS (SELECT 1) SELECT * FROM update", [1]),
        ("WITH RECURSIVE r AS (SELECT 1 AS n UNION ALL SELECT n + 1 FROM r WHERE n < 9) SELECT max(n) FROM r", [9]),
        ("SELECT * FROM range(3) ORDER BY 1 DESC", [2]),
        ("SELECT unnest([1]) ", [1]),
        ("SELECT 'EXPLAIN ANALYZE DROP TABLE t1'", ["EXPLAIN ANALYZE DROP TABLE t1"]),
        ("SELECT 'enable_logging()', '\"type\":\"TABLE_FUNCTION\"'", ["enable_logging()", '"type":"TABLE_FUNCTION"']),
        ("SELECT name FROM pragma_table_info('t1')", ["Region"]),
        ("DESCRIBE t1", ["Region", "VARCHAR", "YES", None, None, None]),
        ("SHOW TABLES", ["sales"]),
        ("SELECT column_name FROM (SUMMARIZE t1)", ["Region"]),
        ('PIVOT t1 ON "Region" IN (\'North\') USING sum("Units") GROUP BY "Code" ORDER BY 1', ["007", 3]),
        ('UNPIVOT (SELECT "Units" FROM t1) ON "Units" INTO NAME n VALUE v', ["Units", 3]),
    ],
)
async def test_all_kinds_of_sql_that_read_are_answered(app: App, sql: str, row: list[object]) -> None:
    assert (await asked(app, memory_id=stored(app, SALES), sql=sql))["rows"][0] == row


@each(
    "sql",
    ["EXPLAIN FROM t1", "-- the plan\nexplain (format json) SELECT 1;", "EXPLAIN WITH a AS (FROM t1) FROM a -- all"],
)
async def test_a_plan_is_shown(app: App, sql: str) -> None:
    assert (await asked(app, memory_id=stored(app, SALES), sql=sql))["columns"][0]["name"] == "explain_key"


@on_both
async def test_sql_that_does_not_let_itself_be_interrupted_is_ended_and_the_next_is_answered(app: App) -> None:
    id = stored(app, SALES)
    endless = "SELECT levenshtein(repeat('x', 500000), repeat('y', 500000))"
    assert error_of(await called(app, memory_id=id, sql=endless))["code"] == "SQL_TIMEOUT"
    assert (await asked(app, memory_id=id, sql='SELECT sum("Units") FROM t1'))["rows"] == [[1203]]


async def test_sql_that_wants_too_much_memory_says_so_and_the_next_is_answered(app: App) -> None:
    id = stored(app, SALES)
    answer = await called(app, memory_id=id, sql="SELECT len(generate_series(1, 1000000000))")
    assert error_of(answer)["code"] == "SQL_MEMORY"
    assert (await asked(app, memory_id=id, sql='SELECT sum("Units") FROM t1'))["rows"] == [[1203]]


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


async def test_a_pivot_that_names_no_columns_says_what_it_lacks(app: App) -> None:
    answer = await called(app, memory_id=stored(app, SALES), sql='PIVOT t1 ON "Region" USING sum("Units")')
    assert "a PIVOT needs IN" in texts(answer)[0]


async def test_the_tables_stay_for_the_next_question(app: App) -> None:
    id, sql = stored(app, SALES), "SELECT txid_current()"  # the database counts them
    first, second = [(await asked(app, memory_id=id, sql=sql))["rows"][0][0] for _ in range(2)]
    assert second > first


async def test_a_new_version_is_asked_next(app: App) -> None:
    id = stored(app, SALES)
    app.files.add(LOCAL, "sales.md", b"new")
    read_again(app, "sales.md", [LARGE])
    assert (await asked(app, memory_id=id, sql="SELECT max(n) FROM t1"))["rows"] == [[2999]]


@each("content", [b"", b"no gzip", packed(Reading(format="md", sections=(SALES,)))[:-20], packed(EMPTY)])
async def test_a_reading_that_is_damaged_or_has_no_table_says_so(app: App, content: bytes) -> None:
    id = stored(app, SALES)
    app.blobs.write(LOCAL, reading_key(id, app.files.status(LOCAL, [id])[0].newest.sha256), content)
    for sql in ("", "SELECT 1"):
        error = error_of(await called(app, memory_id=id, sql=sql))
        assert (error["code"], error["resolution"]) == ("READING_DAMAGED", f"Read it again: loci files read {id}")


async def test_a_file_without_a_table_says_so(app: App) -> None:
    file = app.files.add(LOCAL, "trip.md", b"# Trip\n\nNo table.\n")
    answer = await called(app, memory_id=file.id, sql="SELECT 1")
    assert error_of(answer)["code"] == "NO_TABLES"
    answer = await called(app, memory_id="ds-none", sql="SELECT 1")
    assert error_of(answer)["code"] == "MEMORY_NOT_FOUND"
