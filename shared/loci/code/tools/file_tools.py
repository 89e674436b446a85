"""The tools that compute on stored files without Python."""

from typing import TYPE_CHECKING, Annotated

from pydantic import BaseModel, Field, JsonValue

from loci.code.table_queries import ColumnOfTable, KnownTable
from loci.core.identity import Caller
from loci.files.file import Status
from loci.mcp.threads import WRITES
from loci.mcp.tool import LociTool, loci_tool

if TYPE_CHECKING:
    from loci.app import App

MOST_ROWS = 10_000


class RowsView(BaseModel):
    columns: list[ColumnOfTable]
    rows: list[list[JsonValue]] = Field(description="decimals that JSON would round are texts")
    more: bool = Field(description="true: there are more rows than these; use LIMIT and OFFSET, or aggregate")
    tables: list[KnownTable] = Field(description="the tables of the file, with their columns")


class RowsAnswer(BaseModel):
    result: RowsView


class SavedView(BaseModel):
    id: str = Field(description="for fetch_memory and get_memory_path()")
    name: str
    status: Status = Field(description="okay: it can be found; error: it is kept, and `reason` says why it is not read")
    reason: str | None
    version: int
    lineage: dict[str, JsonValue] = Field(description="the code that made it, its inputs and the time")


class SavedAnswer(BaseModel):
    result: SavedView


def file_tools(app: "App") -> list[LociTool]:
    """`query_table` and `save_artifact`."""

    def query_table(
        memory_id: Annotated[str, Field(description="the file, from search_memory")],
        caller: Caller,
        sql: Annotated[str, Field(description="one SELECT of DuckDB; empty: only list the tables")] = "",
        limit: Annotated[int, Field(ge=1, le=MOST_ROWS, description="the most rows in the answer")] = 1000,
    ) -> RowsAnswer:
        """Ask about the tables of a stored file in SQL: sums, counts, groups, joins.

        The tables are t1, t2, …; columns are named as in the header: write "Unit price" in quotation marks. Call it
        without `sql` first, to see tables and columns.

        Example: query_table(memory_id="ds-0f…", sql="SELECT region, sum(amount) FROM t1 GROUP BY region")
        """
        answer = app.code.query_tables(caller.owner, memory_id, sql, limit)
        view = RowsView(columns=answer.columns, rows=answer.rows, more=answer.more, tables=answer.tables)
        return RowsAnswer(result=view)

    def save_artifact(
        executor_id: Annotated[str, Field(description="from create_memory_code_runner")],
        file: Annotated[str, Field(min_length=1, max_length=1000, description="its name in the work folder")],
        caller: Caller,
        name: Annotated[str | None, Field(max_length=255, description="the name it gets; else its own")] = None,
    ) -> SavedAnswer:
        """Keep a file that run_memory_code wrote: it becomes a stored file, which search_memory finds.

        It knows its lineage: the code that made it, and what that read. A stored file of that name gets a new version.
        `artifacts` of run_memory_code names the files.

        Example: save_artifact(executor_id="executor-0f…", file="totals.csv")
        """
        stored = app.code.save_artifact(caller.owner, executor_id, file, name)
        newest = stored.newest
        view = SavedView(
            id=stored.id,
            name=stored.name,
            status=newest.status,
            reason=newest.reason,
            version=newest.number,
            lineage=newest.lineage or {},
        )
        return SavedAnswer(result=view)

    return [
        loci_tool(query_table, title="Ask a table in SQL", threads=WRITES),
        loci_tool(save_artifact, title="Keep a file that code made", writes=True),
    ]
