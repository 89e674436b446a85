"""The schemas of a tool are computed once in a process: tests make the same tools for every app, at 10 ms each."""

import inspect
import json
from collections.abc import Callable
from typing import Any

from mcp.client.session import ClientSession
from mcp.server.mcpserver.tools import Tool


def schemas_once() -> None:
    """Let tools, and clients, share what the SDK computes of the same schemas."""
    _tools_once()
    _validators_once()


def _tools_once() -> None:
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


def _validators_once() -> None:
    made: dict[str, Any] = {}
    compute: Callable[..., Any] = getattr(ClientSession, "_output_schema_validator")  # noqa: B009 (it is private)

    def validator(self: ClientSession, name: str, output_schema: dict[str, Any]) -> Any:
        key = json.dumps(output_schema)
        if key not in made:
            made[key] = compute(self, name, output_schema)
        return made[key]

    ClientSession._output_schema_validator = validator  # pyright: ignore[reportPrivateUsage]
