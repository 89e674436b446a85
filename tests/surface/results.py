"""Reading results in tests."""

from typing import Any, cast

from mcp_types import CallToolResult, TextContent


def texts(result: CallToolResult) -> list[str]:
    """The texts of all blocks."""
    return [block.text for block in result.content if isinstance(block, TextContent)]


def structured(result: CallToolResult) -> dict[str, Any]:
    """The structured content, which is an object."""
    content = cast("object", result.structured_content)
    assert isinstance(content, dict)
    return cast("dict[str, Any]", content)
