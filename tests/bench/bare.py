"""The server that Loci is compared with: the SDK's own, with the same two tools over a dictionary.

It has what every server of the SDK has. It has no names, errors, auth, telemetry, sessions or store.
"""

import asyncio
from typing import TYPE_CHECKING, Annotated, Any

from mcp.server import MCPServer
from mcp_types import CallToolResult, TextContent
from pydantic import BaseModel, Field

from tests.bench.entry import TEXT, TIMESTAMP, TOOL

if TYPE_CHECKING:
    from mangum import Mangum
    from starlette.applications import Starlette

ID = "0123456789ab"
CAPACITY = 10 * 1024 * 1024


class Piece(BaseModel):
    result: str = Field(description="the text from offset on")
    offset: int = Field(description="where it starts, in characters")
    total: int = Field(description="characters of the whole result")
    next_offset: int | None = Field(description="the offset to read on from; null at the end")


class Kept(BaseModel):
    id: str
    tool: str = Field(description="the tool whose result it is")
    size_bytes: int
    timestamp: str = Field(description="when it was kept, UTC")


class Stats(BaseModel):
    total_entries: int
    total_size_bytes: int
    max_size_bytes: int


class Listing(BaseModel):
    entries: list[Kept]
    stats: Stats


def bare_server() -> MCPServer[Any]:
    """The server, for HTTP and for stdio."""
    server = MCPServer("bare", version="1", log_level="WARNING")
    kept = {ID: TEXT}

    @server.tool()
    def scratchpad_read(  # pyright: ignore[reportUnusedFunction] (the server has it)
        id: Annotated[str, Field(description="the entry's id")],
        offset: Annotated[int, Field(ge=0, description="start at this character")] = 0,
        limit: Annotated[int | None, Field(ge=1, description="this many characters at most")] = None,
    ) -> Annotated[CallToolResult, Piece]:
        """Read the full content of a result that was too large for its answer."""
        text = kept[id]
        part = text[offset : None if limit is None else offset + limit]
        end = offset + len(part)
        view = Piece(result=part, offset=offset, total=len(text), next_offset=end if end < len(text) else None)
        return CallToolResult(content=[TextContent(type="text", text=part)], structured_content=view.model_dump())

    @server.tool()
    def scratchpad_list() -> Listing:  # pyright: ignore[reportUnusedFunction] (the server has it)
        """List the results that are kept for you."""
        entries = [Kept(id=id, tool=TOOL, size_bytes=len(text), timestamp=TIMESTAMP) for id, text in kept.items()]
        size = sum(entry.size_bytes for entry in entries)
        return Listing(
            entries=entries, stats=Stats(total_entries=len(entries), total_size_bytes=size, max_size_bytes=CAPACITY)
        )

    return server


def bare_app(*, json: bool) -> "Starlette":
    """The application. With `json` it answers legacy calls as JSON, otherwise as an event stream."""
    return bare_server().streamable_http_app(json_response=json, stateless_http=True)


def pinned(app: "Starlette") -> "Mangum":
    """The application as a Lambda handler, its lifespan entered once."""
    from mangum import Mangum  # the server over stdio does without

    loop = asyncio.new_event_loop()
    asyncio.set_event_loop(loop)
    started = loop.create_future()

    async def live() -> None:
        async with app.router.lifespan_context(app):
            started.set_result(None)
            await asyncio.Event().wait()

    app.state.lifespan = loop.create_task(live())
    loop.run_until_complete(started)
    return Mangum(app, lifespan="off")
