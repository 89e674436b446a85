"""The tools that compute on stored files without Python."""

from typing import Annotated

from pydantic import BaseModel, Field, JsonValue

from loci.code.api import CodeHost
from loci.code.table_queries import ColumnOfTable, KnownTable
from loci.core.identity import Caller
from loci.mcp.threads import WRITES
from loci.mcp.tool import LociTool, loci_tool

MOST_ROWS = 10_000


class RowsView(BaseModel):
    columns: list[ColumnOfTable]
    rows: list[list[JsonValue]] = Field(description="decimals that JSON would round are texts")
    more: bool = Field(description="true: there are more rows than these; use LIMIT and OFFSET, or aggregate")
    tables: list[KnownTable] = Field(description="the tables of the file, with their columns")


class RowsAnswer(BaseModel):
    result: RowsView


def file_tools(app: CodeHost) -> list[LociTool]:
    """`query_table`."""

    def query_table(
        memory_id: Annotated[str, Field(description="the file, from search_memory")],
        caller: Caller,
        sql: Annotated[str, Field(description="one SELECT of DuckDB; empty: only list the tables")] = "",
        limit: Annotated[int, Field(ge=1, le=MOST_ROWS, description="the most rows in the answer")] = 1000,
    ) -> RowsAnswer:
        """Ask about the tables of a stored file in SQL: sums, counts, groups, joins. No Python is needed.

        The tables of the file are t1, t2, …, and have a readable name beside, such as costs; names of columns are those
        in the header, so write "Unit price" in quotation marks. Numbers and dates have types. Call it without `sql`
        first, to see the tables and their columns. Nothing can be changed.

        Example: query_table(memory_id="ds-0f…", sql="SELECT region, sum(amount) FROM t1 GROUP BY region")
        """
        answer = app.code.query_tables(caller.owner, memory_id, sql, limit)
        view = RowsView(columns=answer.columns, rows=answer.rows, more=answer.more, tables=answer.tables)
        return RowsAnswer(result=view)

    return [loci_tool(query_table, title="Ask a table in SQL", threads=WRITES)]
