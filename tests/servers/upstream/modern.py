"""A tool server of the revision 2026-07-28 whose tools change: it tells only who subscribes."""

from mcp.server.mcpserver import Context, MCPServer

server = MCPServer("modern")


@server.tool()
async def grow(context: Context) -> str:
    """Add a tool."""

    def new() -> str:
        return ""

    server.add_tool(new)
    await context.notify_tools_changed()
    return "grown"


if __name__ == "__main__":
    server.run()
