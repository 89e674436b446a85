"""Calls of one tool that stand for calls of another: for clients that refuse names which were not listed."""

from typing import Any, cast

from loci.core.errors import Refused

CALL_TOOL = "pml:call_tool"


def passed_on(arguments: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    """The name and the arguments of the call that this one stands for."""
    tool, given = cast("object", arguments.get("tool")), cast("object", arguments.get("arguments"))
    passed: object = {} if given in (None, "") else given
    is_known = not arguments.keys() - {"tool", "arguments"}
    if not (is_known and isinstance(tool, str) and tool and isinstance(passed, dict)):
        raise Refused(
            "pml_call_tool takes the name of a tool in `tool`, and an object in `arguments`",
            "Correct them and call again",
            code="INVALID_PARAMS",
        )
    return tool, cast("dict[str, Any]", passed)
