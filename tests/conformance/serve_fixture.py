"""The real app with the suite's fixtures in it. What is Loci's own about it comes from the environment.

`python -m tests.conformance.serve_fixture` serves on a free loopback port, prints the URL of its MCP endpoint as its
first line, and ends when its standard input does. `lambda_fixture.py` is the same in Lambda.
"""

import socket
import sys
import threading

import uvicorn
from mcp.server.mcpserver.tools import Tool
from starlette.applications import Starlette

from loci.app import App
from loci.compose import build_app
from loci.mcp.http.application import asgi
from loci.mcp.http.connection import uvicorn_config
from loci.mcp.module import tool_families
from loci.mcp.server import LociServer, build_server
from loci.mcp.tool import LociTool, Surface, ToolFunction
from loci.mcp.tool_catalog import family_of

from . import fixtures

HTTP = (sys.executable, "-m", "tests.conformance.serve_fixture")
LAMBDA = "tests.conformance.lambda_fixture:lambda_handler"
PATH = "/mcp"


def application() -> Starlette:
    """Loci over HTTP."""
    return asgi(build_app(), on_loopback=True, build=with_fixtures)


def with_fixtures(app: App, surface: Surface) -> LociServer:
    """Loci's server of one endpoint, and everything that the suite calls by name."""
    extra = [family_of(fixture_tool(tool)) for tool in fixtures.tools()]
    server = build_server(app, surface, [*tool_families(app), *extra])
    fixtures.register(server)
    return server


def fixture_tool(tool: Tool) -> LociTool:
    """A tool of the SDK as one of Loci's."""
    return LociTool(tool.name, tool, ToolFunction(tool.fn), budget=None, quick=False, only_for_clients=False)


def serve_http() -> None:
    """Serve until standard input ends."""
    listening = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listening.bind(("127.0.0.1", 0))
    listening.listen()
    web = uvicorn.Server(uvicorn_config(application(), log_level="error"))
    print(f"http://127.0.0.1:{listening.getsockname()[1]}{PATH}", flush=True)
    threading.Thread(target=_stop_with_stdin, args=[web], daemon=True).start()
    web.run([listening])


def _stop_with_stdin(web: uvicorn.Server) -> None:
    sys.stdin.buffer.read()
    web.should_exit = True


if __name__ == "__main__":
    serve_http()
