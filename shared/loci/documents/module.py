"""Documents, as the server offers them. Nothing here loads the vertical itself."""

from collections.abc import Iterable
from importlib import import_module
from typing import TYPE_CHECKING

from starlette.types import ASGIApp

from loci.core.lazy import Lazy
from loci.documents.prompt_templates import PROMPTS
from loci.documents.resources import DOCUMENTS, TAGS, TEMPLATES, DocumentResources
from loci.mcp.module import Module, ModuleRoute
from loci.mcp.resources import ModuleResources, Resources
from loci.mcp.tool import LociTool
from loci.mcp.tool_catalog import ToolFamily, tool_family

if TYPE_CHECKING:
    from loci.core.finding import Finding
    from loci.documents.host import DocumentsHost

INSTRUCTIONS = """

Documents hold what was learned, decided and solved:
- search_documents: your default for what was learned, how something was solved, related work, and problems that may \
have been met before. Before technical work begins, search unasked: show the user what you found, and offer to review \
it.
- read_node_content: after a search, for the whole of it, for a detail, to check that something is right, to copy a \
solution.
- explore_links: to follow a chain of thought, and to come upon related topics.
- find_gaps: now and then, for upkeep: missing connections, holes in the documentation, a better order.
Do not search where the user wants a fresh approach, in a wholly new domain, for a one-off of less than 5 minutes, or \
while the user experiments. It is yours to decide: weigh what is known against new thinking.
After a session of more than half an hour that solved a problem, suggest a debrief, and offer to help write it."""


def documents_module(app: "DocumentsHost") -> Module:
    """Everything of documents but their commands."""

    def resources() -> Resources:
        return DocumentResources(app.documents)

    def route(is_open: bool) -> ASGIApp:
        from loci.documents.http_route import DocumentsRoute

        return DocumentsRoute(app, is_open=is_open)

    def checks(fix: bool) -> "Iterable[Finding]":
        from loci.documents.checks import check_owners

        return check_owners(app, fix=fix)

    return Module(
        name="documents",
        surfaces=frozenset({"documents"}),
        tools=_tools(app),
        instructions=INSTRUCTIONS,
        prompts=PROMPTS,
        resources=ModuleResources((DOCUMENTS, TAGS), TEMPLATES, Lazy(resources), "documents:read"),
        routes=[ModuleRoute("/documents", route)],
        checks=checks,
    )


def _tools(app: "DocumentsHost") -> list[ToolFamily]:
    """The tools, in families that are loaded together: a search does not load what only writing needs."""

    def family(module: str, *names: str) -> ToolFamily:
        def tools() -> list[LociTool]:
            return getattr(import_module(f"loci.documents.tools.{module}"), module)(app)

        return tool_family(tools, *names, surfaces=("documents",), area="documents")

    searching = ("search_documents", "temporal_search", "query_by_tags", "read_node_content")
    writes = ("inject_tags", "write_document", "move_document", "delete_document", "undo_write")
    return [
        family("search_tools", *searching, "list_directory_structure"),
        family("link_tools", "explore_links", "graph_neighbors"),
        family("overview_tools", "find_gaps", "cluster_documents", "suggest_reading"),
        family("writing_tools", *writes),
    ]
