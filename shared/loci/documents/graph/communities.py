"""Groups of points that hang together: networkx's methods, with the same groups from run to run."""

from collections.abc import Iterable, Mapping
from importlib import import_module
from typing import Any, Final, Literal, cast

Community = Literal["louvain", "label_propagation"]
SEED: Final = 1
"""Both methods visit the points in an order of chance."""


def communities(count: int, weights: Mapping[tuple[int, int], float], method: Community) -> list[list[int]]:
    """The points 0 to `count` in groups, by the weights of their edges; each group in order, the largest first."""
    nx: Any = import_module("networkx")  # 0.2 s, and it brings no types
    graph: Any = nx.Graph()
    # Numbers and in order: the order of sets of texts would be another one in every process.
    graph.add_nodes_from(range(count))
    graph.add_weighted_edges_from((one, other, weights[one, other]) for one, other in sorted(weights))
    match method:
        case "louvain":
            found = nx.community.louvain_communities(graph, weight="weight", seed=SEED)
        case "label_propagation":
            for _, _, edge in graph.edges(
                data=True
            ):  # or one firm edge is outvoted by many loose ones, up to one group
                edge["weight"] **= 2
            found = nx.community.asyn_lpa_communities(graph, weight="weight", seed=SEED)
    groups = [sorted(group) for group in cast("Iterable[Iterable[int]]", found)]
    return sorted(groups, key=lambda group: (-len(group), group))
