"""The tools that run Python."""

import asyncio
import base64
from functools import partial
from typing import Annotated, Literal, cast

from mcp_types import CallToolResult, ContentBlock, ImageContent, TextContent
from pydantic import BaseModel, Field

from loci.code.api import CodeHost
from loci.code.detached_runs import PendingRun
from loci.code.executors import Ran, RunFailure, State, Value
from loci.core.errors import LociError
from loci.core.identity import Caller
from loci.core.json import Json, JsonObject
from loci.mcp.threads import on_thread, while_wanted
from loci.mcp.tool import LociTool, as_text, loci_tool

BESIDE = {"status", "scratchpad_id", "hint"}


class ExecutorRef(BaseModel):
    executor_id: str = Field(description="for run_memory_code")


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
    persisted: bool = Field(default=True, description="false: they are only in the memory of a machine that may go")
    reason: str | None = Field(default=None, description="why they are not persisted")


class Artifact(BaseModel):
    kind: str = Field(description="figure: an image of this answer; file: it lies in the work folder")
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
    truncated: bool = Field(description="whether more was printed than is here")
    elapsed_ms: float
    memory_mb: float = Field(description="the most memory that Python had, with what it shares")
    executor: ExecutorView
    artifacts: list[Artifact]


class RunResult(BaseModel):
    """What a run came to."""

    result: RunView | None = Field(description="null while the code goes on")
    status: Literal["running"] | None = Field(default=None, description="running: read the answer later")
    scratchpad_id: str | None = Field(default=None, description="where the answer is kept, for scratchpad_read")
    hint: str | None = None


def executor_tools(app: CodeHost) -> list[LociTool]:
    """`create_memory_code_runner` and `run_memory_code`."""

    def create_memory_code_runner(caller: Caller) -> Created:
        """Create a Python environment for run_memory_code. Create one per session, and use it for all runs.

        Returns its `executor_id`. Variables, imports and files of one run are there in the next. An environment that
        is not used for 7 days is removed.

        Example: create_memory_code_runner()
        """
        return Created(result=ExecutorRef(executor_id=app.code.runner.create(caller.owner)))

    async def run_memory_code(
        executor_id: Annotated[str, Field(description="from create_memory_code_runner")],
        code: Annotated[str, Field(description="complete Python 3 code, with its imports")],
        caller: Caller,
    ) -> Annotated[CallToolResult, RunResult]:
        """Run Python 3 in a sandbox, to compute on stored files: what it prints is the answer.

        pandas, numpy, openpyxl, xlrd, scipy, scikit-learn, xgboost and matplotlib are there; open figures come back as
        images. get_memory_path(memory_id, memory_name) is there without an import and gives the pathlib.Path of a
        stored file, for reading. Write to the current folder only. There is no network and no subprocess.
        print() what you want to see; a last expression is shown as well. State stays from run to run with the
        same executor_id: `executor` says what was kept and what was lost. On AWS, what takes longer than 25 seconds
        goes on, and answers with a `scratchpad_id`.

        Example: run_memory_code(executor_id="executor-0f…", code="import pandas as pd\\nprint(pd.__version__)")
        """
        started = await while_wanted(partial(app.code.runner.start, caller, executor_id, code))
        return _result(kept(started) if isinstance(started, Ran) else await _awaited(app, started))

    return [
        loci_tool(
            create_memory_code_runner,
            title="Create a Python environment",
            writes=True,
            idempotent=False,
        ),
        loci_tool(
            run_memory_code,
            title="Run Python",
            writes=True,
            idempotent=False,
        ),
    ]


async def _awaited(app: CodeHost, run: PendingRun) -> JsonObject:
    try:
        return await asyncio.wait_for(asyncio.shield(asyncio.wrap_future(run.future)), app.code.runner.patience)
    except asyncio.CancelledError:
        run.give_up()
        raise
    except TimeoutError:
        return await on_thread(run.later)


def kept(ran: Ran) -> JsonObject:
    """The run as it is kept for who reads it later: the result, its images, and its text where it failed."""
    view = _view(ran)
    if view.error is not None:
        # An error goes out whole: what was printed has to fit.
        view.stdout, view.stderr = _end(ran.stdout), _end(ran.stderr)
        view.truncated = ran.truncated or (view.stdout, view.stderr) != (ran.stdout, ran.stderr)
    structured: JsonObject = RunResult(result=view).model_dump(exclude=BESIDE)
    images: list[Json] = [base64.b64encode(one).decode() for one in ran.figures]
    if not isinstance(ran.outcome, RunFailure):
        return {**structured, "images": images}
    failure = ran.outcome
    error: JsonObject = {"code": failure.code, "message": failure.what, "resolution": failure.resolution}
    return {**structured, "error": error, "text": _told(ran, failure), "images": images}


def _result(told: JsonObject) -> CallToolResult:
    """The run as a result. One that failed says so, and still has what it printed."""
    structured = {name: value for name, value in told.items() if name not in ("images", "text")}
    images: list[ContentBlock] = [
        ImageContent(type="image", data=one, mime_type="image/png") for one in cast("list[str]", told.get("images", []))
    ]
    text = TextContent(type="text", text=str(told["text"]) if "text" in told else as_text(structured))
    return CallToolResult(content=[text, *images], structured_content=structured, is_error="error" in told)


def _told(ran: Ran, failure: RunFailure) -> str:
    """The failure as text, with what a model needs to correct the code."""
    parts = [f"{failure.code}: {LociError(failure.what, failure.resolution)}"]
    shown = {"stdout": ran.stdout, "stderr": ran.stderr, "traceback": failure.traceback or ""}
    parts += [f"{name}:\n{_end(text.rstrip())}" for name, text in shown.items() if text.strip()]
    if ran.condition.lost:
        parts.append("lost: " + "; ".join(f"{one.name} ({one.reason})" for one in ran.condition.lost[:20]))
    return "\n\n".join(parts)


def _end(text: str, most: int = 4000) -> str:
    """The last of a long text: what went wrong is at its end."""
    return text if len(text) <= most else f"…{text[-most:]}"


def _view(ran: Ran) -> RunView:
    outcome = ran.outcome
    value = outcome if isinstance(outcome, Value) else None
    error = outcome if isinstance(outcome, RunFailure) else None
    figures = [
        Artifact(kind="figure", name=f"figure-{number}.png", size_bytes=len(image))
        for number, image in enumerate(ran.figures, start=1)
    ]
    return RunView(
        stdout=ran.stdout,
        stderr=ran.stderr,
        value=value.text if value else None,
        value_type=value.type if value else None,
        error=error
        and ErrorView(code=error.code, message=error.what, resolution=error.resolution, traceback=error.traceback),
        truncated=ran.truncated,
        elapsed_ms=ran.elapsed_ms,
        memory_mb=ran.memory_mb,
        executor=ExecutorView(
            state=ran.condition.state,
            kept=list(ran.condition.kept),
            lost=[LostView(name=one.name, reason=one.reason) for one in ran.condition.lost],
            persisted=ran.condition.unsaved is None,
            reason=ran.condition.unsaved,
        ),
        artifacts=[*figures, *(Artifact(kind="file", name=one.name, size_bytes=one.size_bytes) for one in ran.files)],
    )
