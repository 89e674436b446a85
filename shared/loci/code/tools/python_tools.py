"""The tools that run Python."""

from typing import Annotated, Literal, cast

from mcp_types import CallToolResult, ContentBlock, ImageContent, TextContent
from pydantic import BaseModel, Field

from loci.code.api import CodeHost
from loci.code.python_run import State
from loci.code.tools.waiting import answer_of
from loci.core.identity import Caller
from loci.core.json import JsonObject
from loci.mcp.errors import failed_result
from loci.mcp.tool import LociTool, as_text, loci_tool


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
    """The answer of a run. `loci.code.answers` makes it."""

    result: RunView | None = Field(description="null while the code is running")
    status: Literal["running"] | None = Field(default=None, description="running: read the answer later")
    scratchpad_id: str | None = Field(default=None, description="the entry for scratchpad_read that has the answer")
    hint: str | None = None


def python_tools(app: CodeHost) -> list[LociTool]:
    """`create_memory_code_runner` and `run_memory_code`."""

    def create_memory_code_runner(caller: Caller) -> Created:
        """Create a Python environment for run_memory_code: one per session, for all its runs.

        Returns its `executor_id`. Variables, imports and files stay from run to run, for 7 days after the last.
        """
        return Created(result=ExecutorRef(executor_id=app.code.create_python(caller.owner)))

    async def run_memory_code(
        executor_id: Annotated[str, Field(description="from create_memory_code_runner")],
        code: Annotated[str, Field(description="complete Python 3 code, with its imports")],
        caller: Caller,
    ) -> Annotated[CallToolResult, RunResult]:
        """Run Python 3 in a sandbox, to compute on stored files. The answer is what the code prints.

        It has pandas, numpy, openpyxl, xlrd, scipy, scikit-learn, xgboost and matplotlib; open figures come back as
        images. get_memory_path(memory_id, memory_name) needs no import and returns the pathlib.Path of a stored file,
        of a document (by id or path), or of a folder's documents ("notes/") as JSON lines: path, date, text.
        Write to the current folder only. No network, no subprocess. State stays from run to run with the
        same executor_id. On AWS, the answer of code that goes on after 25 seconds has a `scratchpad_id`.
        """
        answer = await answer_of(app, lambda given_up: app.code.start_python(caller, executor_id, code, given_up))
        return _result(answer)

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
            writes=True,
            idempotent=False,
            only_for_clients=True,
        ),
    ]


def _result(answer: JsonObject) -> CallToolResult:
    """The answer as a tool's result. A failed run is an error that still has what the code printed."""
    images: list[ContentBlock] = [
        ImageContent(type="image", data=image, mime_type="image/png")
        for image in cast("list[str]", answer.get("images", []))
    ]
    if "error" in answer:
        error = cast("JsonObject", answer["error"])
        text = TextContent(type="text", text=str(answer["text"]))
        return failed_result([text, *images], {**error, "result": answer["result"]})
    structured = {name: value for name, value in answer.items() if name != "images"}
    text = TextContent(type="text", text=as_text(structured))
    return CallToolResult(content=[text, *images], structured_content=structured)
