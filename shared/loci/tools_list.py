"""Every tool of Loci, registered by hand: what is not in this list does not exist."""

from collections.abc import Callable, Sequence
from functools import partial

from loci.app import App
from loci.core.lazy import Lazy
from loci.mcp.tool import SURFACES, LociTool, Surface
from loci.mcp.tool_catalog import ToolFamily


def families(app: App) -> list[ToolFamily]:
    """All tools, none of them loaded."""

    def family(make: Callable[[App], Sequence[LociTool]], surfaces: tuple[Surface, ...], *ids: str) -> ToolFamily:
        return ToolFamily(ids, frozenset(surfaces), Lazy(partial(make, app)))

    return [
        family(
            _documents,
            ("documents",),
            "search_documents",
            "temporal_search",
            "query_by_tags",
            "read_node_content",
            "list_directory_structure",
        ),
        family(_links, ("documents",), "explore_links", "graph_neighbors"),
        family(_gaps, ("documents",), "find_gaps"),
        family(_clusters, ("documents",), "cluster_documents"),
        family(_reading, ("documents",), "suggest_reading"),
        family(_writing, ("documents",), "inject_tags", "write_document", "undo_write"),
        family(_executors, ("files",), "create_memory_code_runner", "run_memory_code"),
        family(_typescript, ("tools",), "pml:execute_code"),
        family(_scratchpad, SURFACES, "scratchpad_read", "scratchpad_list"),
    ]


def _documents(app: App) -> list[LociTool]:
    from loci.documents.tools.search import document_tools

    return document_tools(app)


def _links(app: App) -> list[LociTool]:
    from loci.documents.tools.links import link_tools

    return link_tools(app)


def _gaps(app: App) -> list[LociTool]:
    from loci.documents.tools.gaps import gap_tools

    return gap_tools(app)


def _clusters(app: App) -> list[LociTool]:
    from loci.documents.tools.clusters import cluster_tools

    return cluster_tools(app)


def _reading(app: App) -> list[LociTool]:
    from loci.documents.tools.reading_list import reading_tools

    return reading_tools(app)


def _writing(app: App) -> list[LociTool]:
    from loci.documents.tools.writing import writing_tools

    return writing_tools(app)


def _executors(app: App) -> list[LociTool]:
    from loci.code.tools.python import executor_tools

    return executor_tools(app)


def _typescript(app: App) -> list[LociTool]:
    from loci.code.tools.typescript import typescript_tools

    return typescript_tools(app)


def _scratchpad(app: App) -> list[LociTool]:
    from loci.scratchpad.tools import scratchpad_tools

    return scratchpad_tools(app)
