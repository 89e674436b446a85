"""The tools that run code, Python and TypeScript, and the tools that compute on stored files without Python."""

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Any, Literal, cast

from mcp_types import CallToolResult, ContentBlock, ImageContent, TextContent
from pydantic import BaseModel, ConfigDict, Field, JsonValue

from loci.code.api import StartedRun
from loci.code.ports import Cancelled, State, never
from loci.code.python import PythonRun
from loci.code.table_queries import ColumnOfTable, KnownTable
from loci.code.typescript import TypeScriptRequest
from loci.core.errors import Refused
from loci.core.identity import Caller
from loci.core.json import JsonObject
from loci.core.trust import saw
from loci.documents.tools.reading_tool import DocumentName
from loci.files.file import Status
from loci.mcp.answers import as_text, is_none
from loci.mcp.errors import failed_result
from loci.mcp.threads import WRITES, on_thread, while_wanted
from loci.mcp.tool import LociTool, loci_tool

if TYPE_CHECKING:
    from loci.app import App


async def answer_of(app: "App", start: Callable[[Cancelled], StartedRun], *, at_once: bool = False) -> JsonObject:
    """Start a run and return its answer, or the answer that it goes on. A cancelled call gives its run up.

    Starting a run reads and writes the stores, so it happens on a thread, unless it starts at once. No thread of
    that pool waits for the run's end.
    """
    run = start(never) if at_once else await while_wanted(start)
    # Python in this process has no answer that it goes on: its own limit is short.
    patience = None if isinstance(run, PythonRun) else app.code.patience
    try:
        answered, _ = await asyncio.wait([asyncio.wrap_future(run.future)], timeout=patience)
    except asyncio.CancelledError:
        run.cancel()
        raise
    if answered or isinstance(run, PythonRun):
        return answered.pop().result()
    return await on_thread(run.later)


class ExecutorRef(BaseModel):
    executor_id: str = Field(description="the id for run_memory_code")


class Created(BaseModel):
    """A new Python environment."""

    result: ExecutorRef


class LostView(BaseModel):
    name: str
    reason: str


class ExecutorView(BaseModel):
    state: State = Field(
        description="new, kept (variables of earlier runs are there), restored (from where they were saved), or lost"
    )
    kept: list[str] = Field(description="variables that were there when the code began")
    lost: list[LostView] = Field(description="variables that are gone, and why")
    older: list[str] = Field(default=[], description="kept, but as they were before the last runs: compute them again")
    persisted: bool = Field(
        default=True, description="false: the variables are only in the memory of a machine that may go away"
    )
    reason: str | None = Field(default=None, description="why they are not persisted")


class Artifact(BaseModel):
    kind: str = Field(description="figure: an image in this answer; file: a file in the work folder")
    name: str
    size_bytes: int


class ErrorView(BaseModel):
    code: str
    message: str
    resolution: str
    traceback: str | None = Field(description="of your own code only")


class RunView(BaseModel):
    stdout: str
    stderr: str
    value: str | None = Field(description="the value of a last expression, as Python shows it")
    value_type: str | None
    error: ErrorView | None
    truncated: bool = Field(description="true: the code printed more than is here")
    elapsed_ms: float
    memory_mb: float = Field(description="the most memory that Python used, including what it shares")
    executor: ExecutorView
    artifacts: list[Artifact]


class RunResult(BaseModel):
    """The answer of a run, which `python_answer` makes."""

    result: RunView | None = Field(description="null while the code is running")
    executor_id: str | None = Field(default=None, description="that of a new environment")
    status: Literal["running"] | None = Field(default=None, description="running: read the answer later")
    scratchpad_id: str | None = Field(default=None, description="the entry for scratchpad_read that has the answer")
    hint: str | None = None


class ComputedValue(BaseModel):
    """The answer of a computation, which `Computations.run` makes."""

    result: JsonValue = Field(description="the value; null if the attester refused the run: then show no value")
    attested: bool = Field(default=False, description="whether the attester of the note's author accepted the receipt")
    reason: str | None = Field(default=None, description="why it is not attested")
    warning: str | None = Field(default=None, description="if the value or the reason addresses the model")
    receipt_id: str | None = Field(default=None, description="for scratchpad_read: cite it with the value")
    path: str | None = Field(default=None, description="the note whose code ran: it is as trusted as its folder")
    code_sha256: str | None = None
    attester_sha256: str | None = None
    validity: str | None = Field(default=None, description="if the definition may not hold: draft, retired, stale, …")
    claim: str | None = Field(default=None, description="who verified the definition, as its bundle says")
    status: Literal["running"] | None = Field(default=None, description="running: read the answer later")
    scratchpad_id: str | None = None
    hint: str | None = None


def python_tools(app: "App") -> list[LociTool]:
    """`create_memory_code_runner`, `run_memory_code` and `run_computation`."""

    def create_memory_code_runner(caller: Caller) -> Created:
        """Create a Python environment for run_memory_code: one per session, for all its runs.

        Its variables and files stay for 7 days after the last run.
        """
        return Created(result=ExecutorRef(executor_id=app.code.create_python(caller.owner)))

    async def run_memory_code(
        code: Annotated[str, Field(description="complete, with its imports")],
        caller: Caller,
        executor_id: Annotated[str | None, Field(description="of an earlier run; none: a new one")] = None,
    ) -> Annotated[CallToolResult, RunResult]:
        """Run Python 3 in a sandbox, to compute on files (Excel, PDF, …) and notes. The answer is what it prints.

        It has pandas, numpy, openpyxl, xlrd, scipy, scikit-learn, xgboost and matplotlib; figures come as images.
        get_memory_path(memory_id, memory_name, version), without import, is the pathlib.Path of a file, of a note (id
        or path), or of a folder's notes ("notes/") as JSON lines: path, date, text. Write to the current folder. No
        network. `await tool("server:name", {…})` calls a tool. Variables stay with the `executor_id`.
        """
        id = executor_id or await on_thread(app.code.create_python, caller.owner)
        answer = await answer_of(app, lambda cancelled: app.code.start_python(caller, id, code, cancelled))
        saw(await on_thread(app.readings.sources, caller))  # a kept answer tells who reads it later
        return _result(answer if executor_id else answer | {"executor_id": id})

    async def run_computation(
        id: DocumentName,
        caller: Caller,
        parameters: Annotated[dict[str, JsonValue], Field(description="values by the names it declares")] = {},  # noqa: B006
    ) -> Annotated[CallToolResult, ComputedValue]:
        """Run the code in a note of type Attested Computation, over files if it reads them, and have the run attested.

        Use it instead of computing that value yourself. Find such notes with search_documents, properties
        ["type=attested computation"]. Show no value if the attester refused the run; else cite the receipt_id.

        Example: run_computation(id="acme-computations-revenue", parameters={"year": 2026})
        """
        answer = await answer_of(app, lambda cancelled: app.code.start_computation(caller, id, parameters, cancelled))
        saw(cast("list[str]", answer.get("sources", [])))
        view = ComputedValue.model_validate(answer).model_dump(mode="json", exclude_none=True)
        view.setdefault("result", None)
        return CallToolResult(content=[TextContent(type="text", text=as_text(view))], structured_content=view)

    return [
        loci_tool(
            create_memory_code_runner,
            title="Create a Python environment",
            writes=True,
            idempotent=False,
            only_for_clients=True,
        ),
        loci_tool(
            run_memory_code,
            title="Run Python",
            view="figure",
            writes=True,
            idempotent=False,
            only_for_clients=True,
        ),
        loci_tool(run_computation, title="Run a computation of a note", writes=True, only_for_clients=True),
    ]


def _result(answer: JsonObject) -> CallToolResult:
    """The answer as a tool's result. A failed run is an error that still has what the code printed."""
    images: list[ContentBlock] = [
        ImageContent(type="image", data=image, mime_type="image/png")
        for image in cast("list[str]", answer.get("images", []))
    ]
    if "error" in answer:
        error = cast("JsonObject", answer["error"])
        made = {name: answer[name] for name in ("executor_id",) if name in answer}
        texts = [str(answer["text"]), *(f"{name}: {id}" for name, id in made.items())]
        told = [TextContent(type="text", text=text) for text in texts]
        return failed_result([*told, *images], {**error, "result": answer["result"], **made})
    structured = {name: value for name, value in answer.items() if name != "images"}
    text = TextContent(type="text", text=as_text(structured))
    return CallToolResult(content=[text, *images], structured_content=structured)


class SandboxConfig(BaseModel):
    """Limits of one run."""

    model_config = ConfigDict(extra="forbid")

    timeout: float = Field(30_000, ge=1, le=300_000, description="milliseconds")
    memoryLimit: float = Field(512, ge=64, le=2048, description="MB of heap")  # noqa: N815 (the reference's name)
    allowedReadPaths: list[str] = Field(  # noqa: N815
        [],
        max_length=20,
    )


DEFAULTS = SandboxConfig.model_validate({})


class Log(BaseModel):
    level: Literal["debug", "log", "info", "warn", "error"]
    text: str


class Metrics(BaseModel):
    execution_time_ms: float
    memory_used_mb: float = Field(description="the most memory that the run was seen to use, including Deno's own")


class CodeAnswer(BaseModel):
    """The answer of a run, which `typescript_answer` makes."""

    result: Any = Field(description="the value, as JSON")
    logs: list[Log] = Field(description="what the code printed with console")
    metrics: Metrics
    result_type: str | None = Field(
        default=None, description="the type of a value that JSON does not have, such as undefined"
    )
    hint: str | None = None
    cached: bool | None = Field(default=None, description="true: the same code ran before and gave this")
    logs_dropped: int | None = Field(default=None, description="lines of logs that were not kept")
    tool_calls: int | None = None
    tools_offered: list[dict[str, str]] | None = None
    capability: dict[str, Any] | None = Field(default=None, description="code that worked for such an intent")
    refused_read_paths: list[str] | None = Field(default=None, description="paths that the operator does not allow")
    status: Literal["running"] | None = Field(default=None, description="running: read the answer later")
    scratchpad_id: str | None = Field(default=None, description="the entry for scratchpad_read that has the answer")


def typescript_tools(app: "App") -> list[LociTool]:
    """`pml_execute_code`."""

    async def execute_code(
        code: str,
        caller: Caller,
        intent: Annotated[str | None, Field(description="what for")] = None,
        context: Annotated[dict[str, Any] | None, Field(description="`context.x` in the code")] = None,
        sandbox_config: SandboxConfig | None = None,
        tools: Annotated[list[str] | None, Field(max_length=50, description="server:*")] = None,
    ) -> Annotated[CallToolResult, CodeAnswer]:
        """Run TypeScript in a sandbox, get its value: compute, join, call tools.

        The result is the last expression or what it returns; top-level `await` works. Notes are read with
        `(await loci.search_documents({query: "x", limit: 100})).results`, `loci.read_node_content({id})`. Servers are
        objects: `await github.listCommits({})`. `loci.search_tools("…")` finds tools, `loci.tools` has all with
        types, `loci.call("github:list_commits", {…})` calls any. No network, no packages but Node's.
        """
        limits = sandbox_config or DEFAULTS
        request = TypeScriptRequest(
            code,
            intent,
            context or {},
            int(limits.timeout),
            int(limits.memoryLimit),
            limits.allowedReadPaths,
            tools or (),
        )
        answer = await answer_of(
            app,
            lambda cancelled: app.code.start_typescript(caller, request, cancelled),
            at_once=app.code.starts_typescript_at_once,
        )
        saw(await on_thread(app.readings.sources, caller))
        return CallToolResult(content=[TextContent(type="text", text=as_text(answer))], structured_content=dict(answer))

    return [
        loci_tool(
            execute_code,
            title="Run TypeScript",
            id="pml:execute_code",
            writes=True,  # the tools that it may call do
            idempotent=False,
            only_for_clients=True,
        )
    ]


MOST_ROWS = 10_000
MOST_FILES = 20


class RowsView(BaseModel):
    columns: list[ColumnOfTable]
    rows: list[list[JsonValue]] = Field(description="decimals that JSON would round are texts")
    more: bool = Field(description="true: there are more rows than these; use LIMIT and OFFSET, or aggregate")
    tables: list[KnownTable] | None = Field(
        default=None,
        description="the tables and their columns, if no SQL was given",
        exclude_if=is_none,
    )


class RowsAnswer(BaseModel):
    result: RowsView


class SavedView(BaseModel):
    id: str = Field(description="for fetch_memory and get_memory_path()")
    name: str
    path: str | None = Field(default=None, exclude_if=is_none)
    status: Status = Field(description="okay: it can be found; error: it is kept, and `reason` says why it is not read")
    reason: str | None
    version: int
    lineage: dict[str, JsonValue] = Field(description="the code that made it, its inputs and the time")


class SavedAnswer(BaseModel):
    result: SavedView


def file_tools(app: "App") -> list[LociTool]:
    """`query_table` and `save_artifact`."""

    def query_table(
        caller: Caller,
        memory_id: Annotated[str, Field(description="a file, from search_memory")] = "",
        sql: Annotated[str, Field(description="one SELECT of DuckDB")] = "",
        memory_ids: Annotated[
            list[str], Field(max_length=MOST_FILES, description="several files; ds-0f…@2: version 2")
        ] = [],  # noqa: B006
        version: Annotated[int | None, Field(ge=1)] = None,
        limit: Annotated[int, Field(ge=1, le=MOST_ROWS, description="the most rows in the answer")] = 1000,
    ) -> RowsAnswer:
        """Ask about the tables of stored files in SQL: sums, counts, groups, joins.

        The tables are t1, t2, …; columns are named as in the header: write "Unit price" in quotation marks. Call it
        without `sql` first, to see tables and columns.

        Example: query_table(memory_id="ds-0f…", sql="SELECT region, sum(amount) FROM t1 GROUP BY region")
        """
        answer = app.code.query_tables(caller.owner, _asked_files(memory_id, memory_ids, version), sql, limit)
        tables = None if sql.strip() else answer.tables
        view = RowsView(columns=answer.columns, rows=answer.rows, more=answer.more, tables=tables)
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
        origin = app.readings.origin(caller)
        stored = app.code.save_artifact(caller.owner, executor_id, file, name, origin)
        app.wrote(caller.owner, "save_artifact", stored.full_path, origin)
        newest = stored.newest
        view = SavedView(
            id=stored.id,
            name=stored.name,
            path=stored.shown_path,
            status=newest.status,
            reason=newest.reason,
            version=newest.number,
            lineage=newest.lineage or {},
        )
        return SavedAnswer(result=view)

    return [
        loci_tool(query_table, title="Ask a table in SQL", threads=WRITES, view="table"),
        loci_tool(save_artifact, title="Keep a file that code made", writes=True, keeps=True),
    ]


def _asked_files(memory_id: str, memory_ids: list[str], version: int | None) -> list[str]:
    """The ids of the files that are asked about, each once, with the number of its version if one is asked for."""
    ids = [*dict.fromkeys(one for one in (memory_id, *memory_ids) if one)]
    if not ids:
        raise Refused("No file is named", "Give memory_id, or memory_ids for several files", code="MEMORY_NOT_FOUND")
    if version is None:
        return ids
    if len(ids) > 1:
        raise Refused("`version` is for one file", "Write ds-0f…@2 in memory_ids for version 2", code="BAD_ARGUMENTS")
    return [f"{ids[0].partition('@')[0]}@{version}"]
