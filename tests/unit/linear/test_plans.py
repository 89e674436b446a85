"""A plan is checked in time in proportion to it, whatever it names."""

from collections.abc import Callable
from contextlib import suppress
from typing import Any

from loci.core.errors import Refused
from loci.workflows.plan import Plan
from tests.support.each import each
from tests.unit.linear.growth import faulty_growth

PLANS: dict[str, Callable[[list[str]], dict[str, Any]]] = {
    "unknown tasks": lambda names: {"dependsOn": names},
    "one task again and again": lambda names: {"dependsOn": ["b" for _ in names]},
    "references to unknown tasks": lambda names: {"arguments": {"x": [f"${name}.result" for name in names]}},
    "references to one task": lambda names: {"arguments": {"x": ["$b.result" for _ in names]}},
    "references in names": lambda names: {"arguments": {f"$b.result.{name}": 1 for name in names}},
    "what is no part of a result": lambda names: {"arguments": {"x": [f"$b.result[{name}]" for name in names]}},
    "what is no result": lambda names: {"arguments": {"x": [f"$b.{name}" for name in names]}},
}


@each("plan", PLANS)
def test_a_plan_that_names_very_much_is_checked_at_once(plan: str) -> None:
    def check(text: str) -> None:
        task = {"id": "a", "tool": "x:y", **PLANS[plan](text.split(","))}
        with suppress(Refused):
            Plan.parse({"tasks": [task, {"id": "b", "tool": "x:y"}]})

    assert faulty_growth(check, lambda size: ",".join(f"x{at}" for at in range(size // 7)), most=32_000) is None
