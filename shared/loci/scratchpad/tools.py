"""The scratchpad's tools."""

import json
from typing import Annotated

from mcp_types import CallToolResult, TextContent
from pydantic import BaseModel, Field

from loci.core.identity import Caller
from loci.core.scopes import check_scopes
from loci.mcp.tool import LociTool, loci_tool
from loci.scratchpad.api import Scratchpad, Slice

LARGEST_PIECE = 2_000_000
"""Bytes of UTF-8 in one answer."""

LARGEST_ESCAPED = 2_700_000
"""A Lambda answer ends at 6 MB and holds the text twice, as JSON inside of JSON."""

LISTED = 8
"""Entries in a list without a limit: with the longest names it has less than 2 KB."""
MOST_LISTED = 1000


class ResultPart(BaseModel):
    """A kept result, or a part of it."""

    result: str = Field(description="the text, from the offset on")
    offset: int = Field(description="the first character of this part")
    total: int = Field(description="the number of characters of the whole result")
    next_offset: int | None = Field(description="the offset to read on from; null at the end")


class KeptResult(BaseModel):
    id: str
    tool: str = Field(description="the tool whose result it is")
    about: str = Field(description="what the tool was asked, shortened")
    size_bytes: int
    timestamp: str = Field(description="the time when it was kept, UTC")


class Stats(BaseModel):
    total_entries: int = Field(description="of all entries, with those that are not listed")
    total_size_bytes: int
    max_size_bytes: int


class Listing(BaseModel):
    entries: list[KeptResult]
    stats: Stats


def scratchpad_tools(scratchpad: Scratchpad) -> list[LociTool]:
    """`scratchpad_read` and `scratchpad_list`."""

    def scratchpad_read(
        id: str,
        caller: Caller,
        offset: Annotated[int, Field(ge=0, description="in characters")] = 0,
        limit: Annotated[int | None, Field(ge=1)] = None,
    ) -> Annotated[CallToolResult, ResultPart]:
        """Read the full content of a result that was too large for its answer, by the `scratchpad_id` in it.

        Read long ones piece by piece: `next_offset` is where the next starts.
        """
        if caller.proof == "grant":  # all others may read everything of their own
            check_scopes(caller, scratchpad.scopes(caller.owner, id), "This result")
        piece = _sendable(scratchpad.read(caller.owner, id, offset, limit))
        view = ResultPart(result=piece.text, offset=piece.offset, total=piece.total, next_offset=piece.next_offset)
        content = [TextContent(type="text", text=piece.text)]
        if piece.next_offset is not None and limit is None:
            more = f"Cut at {piece.next_offset} of {piece.total} characters. Use offset={piece.next_offset} to read on"
            content.append(TextContent(type="text", text=more))
        return CallToolResult(content=[*content], structured_content=view.model_dump())

    def scratchpad_list(
        caller: Caller,
        limit: Annotated[int, Field(ge=1, le=MOST_LISTED)] = LISTED,
    ) -> Listing:
        """List the results that are kept for scratchpad_read, newest first. Look before you repeat a long call."""
        newest = scratchpad.newest(caller.owner, limit, lambda one: all(map(caller.may, one.scopes)))
        return Listing(
            entries=[
                KeptResult(
                    id=one.id, tool=one.tool, about=one.about, size_bytes=one.size_bytes, timestamp=one.timestamp
                )
                for one in newest.entries
            ],
            stats=Stats(
                total_entries=newest.total_entries,
                total_size_bytes=newest.total_size_bytes,
                max_size_bytes=scratchpad.capacity,
            ),
        )

    return [
        loci_tool(scratchpad_read, title="Read a kept result", budget=None, quick=True),
        loci_tool(scratchpad_list, title="List kept results", budget=None, quick=True),
    ]


def _sendable(piece: Slice) -> Slice:
    """The piece, shortened where an answer could not carry it."""
    text = piece.text
    while len(text.encode("utf-8", "replace")) > LARGEST_PIECE or _escaped(text) > LARGEST_ESCAPED:
        largest = max(len(text.encode("utf-8", "replace")) / LARGEST_PIECE, _escaped(text) / LARGEST_ESCAPED)
        text = text[: min(len(text) - 1, int(len(text) / largest))]
    return Slice(text, piece.offset, piece.total)


def _escaped(text: str) -> int:
    once = json.dumps(text, ensure_ascii=False)
    return len(json.dumps(once, ensure_ascii=False).encode("utf-8", "replace"))
