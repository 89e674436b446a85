"""Code, as the server offers it. Nothing here loads the vertical itself."""

from collections.abc import Iterable
from typing import TYPE_CHECKING

from loci.core.json import JsonObject
from loci.core.settings import Settings
from loci.mcp.module import Module
from loci.mcp.tool import LociTool
from loci.mcp.tool_catalog import tool_family

if TYPE_CHECKING:
    from loci.code.api import CodeHost
    from loci.core.finding import Finding


def code_module(app: "CodeHost") -> Module:
    """The tools that run Python and TypeScript, and the runs that outlive their requests."""

    def python() -> list[LociTool]:
        from loci.code.tools.run_tools import python_tools

        return python_tools(app)

    def typescript() -> list[LociTool]:
        from loci.code.tools.run_tools import typescript_tools

        return typescript_tools(app)

    def files() -> list[LociTool]:
        from loci.code.tools.file_tools import file_tools

        return file_tools(app)

    def job(job: JsonObject) -> None:
        app.code.do_job(job)

    return Module(
        name="code",
        tools=[
            tool_family(
                python,
                "create_memory_code_runner",
                "run_memory_code",
                surfaces=("files",),
                area="files",
                needs=["documents:read"],
            ),
            tool_family(files, "query_table", "save_artifact", surfaces=("files",), area="files"),
            tool_family(typescript, "pml:execute_code", surfaces=("tools",), area="tools"),
        ],
        job=job,
    )


def machine_checks(settings: Settings) -> "Iterable[Finding]":
    """`loci doctor`: examine what this machine needs to run code. Opens no store."""
    from loci.code.checks import check_machine

    return check_machine(settings)
