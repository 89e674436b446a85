"""A list as an answer, with a sentence beside it if it says too little."""

from collections.abc import Sequence

from mcp_types import CallToolResult, TextContent
from pydantic import BaseModel

from loci.mcp.tool import as_text


def noted_list(values: Sequence[BaseModel | str], note: str | None) -> CallToolResult:
    """The list; the note is a second block of text."""
    plain = [one if isinstance(one, str) else one.model_dump(mode="json") for one in values]
    content = [TextContent(type="text", text=text) for text in (as_text(plain), note) if text]
    return CallToolResult(content=[*content], structured_content={"result": plain})
