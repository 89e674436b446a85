"""Workflows, as the server offers them. Nothing here loads the vertical itself."""

from functools import partial
from typing import TYPE_CHECKING

from loci.core.lazy import Lazy
from loci.mcp.module import Module
from loci.mcp.tasks import LongWork
from loci.mcp.tool import LociTool
from loci.mcp.tool_catalog import tool_family

if TYPE_CHECKING:
    from loci.workflows.tools import WorkflowsHost

TOOLS = (
    "pml:execute_dag",
    "pml:continue",
    "pml:abort",
    "pml:replan",
    "pml:workflow_status",
)
APPROVAL = "pml:approval_response"


def workflows_module(app: "WorkflowsHost") -> Module:
    """Plans of tasks, and the answers that they wait for."""

    def tools() -> list[LociTool]:
        from loci.workflows.tools import workflow_tools

        return workflow_tools(app)

    loaded = Lazy(tools)

    def chosen(*ids: str) -> list[LociTool]:
        return [tool for tool in loaded.get() if tool.id in ids]

    def long_work() -> LongWork:
        from loci.workflows.tools import LongWorkflows

        return LongWorkflows(app.workflows)

    on = ("tools",)
    return Module(
        name="workflows",
        surfaces=frozenset({"tools"}),
        tools=[
            tool_family(partial(chosen, *TOOLS), *TOOLS, surfaces=on, area="workflows"),
            tool_family(partial(chosen, APPROVAL), APPROVAL, surfaces=on, area="approvals"),
        ],
        long_work=Lazy(long_work),
    )
