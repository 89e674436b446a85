"""How near documents are to some, over links: personalised PageRank."""

from collections import deque
from collections.abc import Callable, Mapping
from typing import Final

RETURN: Final = 0.25
"""How likely a walk begins anew at each step."""
ENOUGH: Final = 1e-4
"""What is not walked on: it bounds the work, however large the graph is."""


def nearness(seeds: Mapping[str, float], around: Callable[[str], Mapping[str, float]]) -> dict[str, float]:
    """How often random walks from the seeds are at each document; together at most 1. Far ones are left out.

    Andersen, Chung and Lang's push: only the part of the graph is looked at that the walks reach.
    """
    whole = sum(seeds.values())
    left = {id: weight / whole for id, weight in seeds.items() if weight > 0}
    reached: dict[str, float] = {}
    waiting = deque(left)
    while waiting:
        id = waiting.popleft()
        amount = left.pop(id, 0.0)
        neighbours = around(id)
        stays = RETURN if neighbours else 1.0
        reached[id] = reached.get(id, 0.0) + stays * amount
        total = sum(neighbours.values())
        for other, weight in neighbours.items():
            before = left.get(other, 0.0)
            left[other] = before + (1 - stays) * amount * weight / total
            if before < ENOUGH <= left[other]:
                waiting.append(other)
    return reached
