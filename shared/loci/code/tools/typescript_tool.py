"""The tool that runs TypeScript."""

from typing import Annotated, Any, Literal

from mcp_types import CallToolResult, TextContent
from pydantic import BaseModel, ConfigDict, Field

from loci.code.api import CodeHost
from loci.code.tools.waiting import answer_of
from loci.code.typescript import TypeScriptRequest
from loci.core.identity import Caller
from loci.mcp.tool import LociTool, as_text, loci_tool


class SandboxConfig(BaseModel):
    """Limits of one run."""

    model_config = ConfigDict(extra="forbid")

    timeout: float = Field(30_000, ge=1, le=300_000, description="milliseconds")
    memoryLimit: float = Field(512, ge=64, le=2048, description="MB of heap")  # noqa: N815 (the reference's name)
    allowedReadPaths: list[str] = Field(  # noqa: N815
        [],
        max_length=20,
        description="paths to read, if the operator allows them",
    )


DEFAULTS = SandboxConfig.model_validate({})


class Log(BaseModel):
    level: Literal["debug", "log", "info", "warn", "error"]
    text: str


class Metrics(BaseModel):
    execution_time_ms: float
    memory_used_mb: float = Field(description="the most memory that the run was seen to use, including Deno's own")


class CodeAnswer(BaseModel):
    """The answer of a run. `loci.code.answers` makes it."""

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


def typescript_tools(app: CodeHost) -> list[LociTool]:
    """`pml_execute_code`."""

    async def execute_code(
        code: Annotated[str, Field(description="TypeScript or JavaScript, 100 KB at most")],
        caller: Caller,
        intent: Annotated[str | None, Field(description="what it is for: it gets the tools that fit")] = None,
        context: Annotated[
            dict[str, Any] | None, Field(description="data: `context.x` in the code, or plain `x`")
        ] = None,
        sandbox_config: Annotated[SandboxConfig | None, Field(description="limits of the run")] = None,
    ) -> Annotated[CallToolResult, CodeAnswer]:
        """Run TypeScript in an isolated Deno sandbox and get its value: compute, filter, join, call tools in bulk.

        The value of the last expression is the result; `return` and top-level `await` work too. Documents are read with
        `(await loci.search_documents({query: "x", limit: 100})).results`, `loci.read_node_content({id})`. With
        `intent`, other tools are objects named after their server: `await github.listCommits({limit: 100})` or
        `await mcp["github:list_commits"]({limit: 100})`. There is no network and no package but Node's own:
        `await import("node:…")`. If the code goes on after 25 seconds, the answer has a `scratchpad_id`.
        """
        limits = sandbox_config or DEFAULTS
        request = TypeScriptRequest(
            code, intent, context or {}, int(limits.timeout), int(limits.memoryLimit), limits.allowedReadPaths
        )
        answer = await answer_of(
            app,
            lambda given_up: app.code.start_typescript(caller, request, given_up),
            at_once=app.code.starts_typescript_at_once,
        )
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
