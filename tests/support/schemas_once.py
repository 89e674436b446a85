"""The schemas of a tool are computed once in a process: tests make the same tools for every app, at 10 ms each."""

import inspect
from collections.abc import Callable
from typing import Any

from mcp.server.mcpserver.tools import Tool


def schemas_once() -> None:
    """Let tools of one name and signature share what the SDK computes of them."""
    made: dict[tuple[str | None, str, str], Tool] = {}
    compute = Tool.from_function

    def from_function(_: type[Tool], fn: Callable[..., Any], name: str | None = None, **given: Any) -> Tool:
        signature = str(inspect.signature(fn))
        # Types of the same name may differ if functions define them.
        if "<locals>" in signature:
            return compute(fn, name, **given)
        key = (name, fn.__name__, signature)
        if key not in made:
            made[key] = compute(fn, name, **given)
            return made[key]
        return made[key].model_copy(update={**given, "fn": fn})

    Tool.from_function = classmethod(from_function)  # pyright: ignore[reportAttributeAccessIssue]
