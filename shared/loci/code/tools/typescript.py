"""The tool that runs TypeScript."""

import asyncio
from typing import Annotated, Any, Literal

from mcp_types import CallToolResult, TextContent
from pydantic import BaseModel, ConfigDict, Field

from loci.code.api import CodeHost
from loci.code.typescript import TypeScriptRequest
from loci.core.identity import Caller
from loci.mcp.threads import on_thread
from loci.mcp.tool import LociTool, as_text, loci_tool


class SandboxConfig(BaseModel):
    """Limits of one run."""

    model_config = ConfigDict(extra="forbid")

    timeout: float = Field(30_000, ge=1, le=300_000, description="milliseconds after which the code is stopped")
    memoryLimit: float = Field(512, ge=64, le=2048, description="MB of heap")  # noqa: N815 (the reference's name)
    allowedReadPaths: list[str] = Field(  # noqa: N815
        [],
        max_length=20,
        description="absolute paths that the code may read, as far as the operator allows it; never on AWS",
    )


DEFAULTS = SandboxConfig.model_validate({})


class Log(BaseModel):
    level: Literal["debug", "log", "info", "warn", "error"]
    text: str


class Metrics(BaseModel):
    execution_time_ms: float
    memory_used_mb: float = Field(description="the most memory that the run was seen to have, Deno's own included")


class CodeAnswer(BaseModel):
    """What the code gave."""

    result: Any = Field(description="the value, as JSON")
    logs: list[Log] = Field(description="what the code wrote with console")
    metrics: Metrics
    result_type: str | None = Field(default=None, description="where the value is none of JSON's, such as undefined")
    hint: str | None = None
    cached: bool | None = Field(default=None, description="true: the same code has run before, and gave this")
    logs_dropped: int | None = Field(default=None, description="lines of logs beyond what is kept")
    tool_calls: int | None = None
    refused_read_paths: list[str] | None = Field(default=None, description="what the operator does not allow to read")
    status: Literal["running"] | None = Field(default=None, description="running: read the answer later")
    scratchpad_id: str | None = Field(default=None, description="where the answer is kept, for scratchpad_read")


def typescript_tools(app: CodeHost) -> list[LociTool]:
    """`pml_execute_code`."""

    async def execute_code(
        code: Annotated[str, Field(description="TypeScript or JavaScript, 100 KB at most")],
        caller: Caller,
        intent: Annotated[
            str | None, Field(description="what the code is for: the tools that fit can be called from it")
        ] = None,
        context: Annotated[
            dict[str, Any] | None, Field(description="data for the code, which finds it as `context`")
        ] = None,
        sandbox_config: Annotated[SandboxConfig | None, Field(description="limits of the run")] = None,
    ) -> Annotated[CallToolResult, CodeAnswer]:
        """Run TypeScript in an isolated Deno sandbox and get its value: compute, filter, join, call tools in bulk.

        The value of the last expression is the result; `return` and top-level `await` work, too. `context.x` and,
        where that is a name, plain `x` are what you passed. With `intent`, tools are objects named after their
        server: `await github.listCommits({limit: 100})` or `await mcp["github:list_commits"]({limit: 100})`. There is
        no network, no environment and no package; modules of Node come with `await import("node:…")`. What takes
        longer than 25 seconds goes on, and answers with a `scratchpad_id`.

        Example: pml_execute_code(code="context.items.filter(x => x.active).length", context={"items": []})
        """
        limits = sandbox_config or DEFAULTS
        asked = TypeScriptRequest(
            code, intent, context or {}, int(limits.timeout), int(limits.memoryLimit), limits.allowedReadPaths
        )
        run = app.code.typescript.start(caller, asked)
        try:
            answered, _ = await asyncio.wait([asyncio.wrap_future(run.future)], timeout=app.code.typescript.patience)
        except asyncio.CancelledError:
            run.give_up()
            raise
        told = answered.pop().result() if answered else await on_thread(run.later)
        return CallToolResult(content=[TextContent(type="text", text=as_text(told))], structured_content=dict(told))

    return [
        loci_tool(
            execute_code,
            title="Run TypeScript",
            id="pml:execute_code",
            writes=True,  # the tools that it may call do
            idempotent=False,
        )
    ]
