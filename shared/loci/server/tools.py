"""Every tool of Loci, registered by hand: what is not in this list does not exist."""

from collections.abc import Callable, Sequence
from functools import partial

from loci.app import App
from loci.later import Later
from loci.server.door import SURFACES, Door, Surface
from loci.server.offer import Family


def families(app: App) -> list[Family]:
    """All tools, none of them loaded."""

    def family(make: Callable[[App], Sequence[Door]], surfaces: tuple[Surface, ...], *ids: str) -> Family:
        return Family(ids, frozenset(surfaces), Later(partial(make, app)))

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


def _documents(app: App) -> list[Door]:
    from loci.server.documents import document_doors

    return document_doors(app)


def _links(app: App) -> list[Door]:
    from loci.server.links import link_doors

    return link_doors(app)


def _gaps(app: App) -> list[Door]:
    from loci.server.gaps import gap_doors

    return gap_doors(app)


def _clusters(app: App) -> list[Door]:
    from loci.server.clusters import cluster_doors

    return cluster_doors(app)


def _reading(app: App) -> list[Door]:
    from loci.server.reading import reading_doors

    return reading_doors(app)


def _writing(app: App) -> list[Door]:
    from loci.server.writing import writing_doors

    return writing_doors(app)


def _executors(app: App) -> list[Door]:
    from loci.server.executors import executor_doors

    return executor_doors(app)


def _typescript(app: App) -> list[Door]:
    from loci.server.typescript import typescript_doors

    return typescript_doors(app)


def _scratchpad(app: App) -> list[Door]:
    from loci.server.scratchpad import scratchpad_doors

    return scratchpad_doors(app)
