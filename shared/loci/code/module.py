"""Code behind a wall, as the server offers it. Nothing here loads the vertical itself."""

from typing import TYPE_CHECKING

from loci.core.json import JsonObject
from loci.mcp.module import Module
from loci.mcp.tool import LociTool
from loci.mcp.tool_catalog import tool_family

if TYPE_CHECKING:
    from loci.code.api import CodeHost


def code_module(app: "CodeHost") -> Module:
    """The tools that run Python and TypeScript, and the runs that outlive their requests."""

    def python() -> list[LociTool]:
        from loci.code.tools.python import executor_tools

        return executor_tools(app)

    def typescript() -> list[LociTool]:
        from loci.code.tools.typescript import typescript_tools

        return typescript_tools(app)

    def job(job: JsonObject) -> None:
        from loci.code.job_handlers import works

        if app.code.elsewhere is not None:
            app.code.elsewhere.drive(job, works(app.code))

    return Module(
        name="code",
        tools=[
            tool_family(python, "create_memory_code_runner", "run_memory_code", surfaces=("files",)),
            tool_family(typescript, "pml:execute_code", surfaces=("tools",)),
        ],
        job=job,
    )
