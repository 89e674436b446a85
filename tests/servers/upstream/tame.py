"""Tool servers that behave: `python -m tests.servers.upstream.tame FOLDER [NAME]`.

With a NAME it is the server of that name, over standard input and output. Without one it is all of them, over HTTP on
loopback: it prints its port, and each answers at `/NAME/mcp`. FOLDER holds what they read and what they tell a test.
"""

import contextlib
import json
import os
import socket
import sys
from collections.abc import AsyncGenerator, Callable, Mapping
from pathlib import Path
from typing import Any

import anyio
from mcp.server.mcpserver import Context, MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp_types import ToolAnnotations

from tests.support.upstream_server import add_numbers, break_plate, draw_cat, upstream

COMMITS = [{"sha": "a1", "author": "alice"}, {"sha": "b2", "author": "bob"}, {"sha": "c3", "author": "alice"}]
FOLDER = Path(sys.argv[1])
CALLS, GO, CLOSED, FILES = (FOLDER / name for name in ("calls.jsonl", "go", "closed", "files"))
WHO = "X-Who"
"""The header, or `WHO` the variable, by which an entry says for whom it is."""


def list_commits(context: Context[Any], limit: int = 100) -> list[dict[str, str]]:
    """List the commits of a GitHub repository."""
    note(context, "github:list_commits", {"limit": limit})
    return COMMITS[:limit]


def read_file(context: Context[Any], path: str) -> str:
    """Read a file as text."""
    note(context, "filesystem:read_file", {"path": path})
    return (FILES / Path(path).name).read_text("utf-8")


def fails(context: Context[Any]) -> str:
    """Fail in words of its own."""
    note(context, "broken:fails", {})
    raise ToolError("The server is on fire")


def bug(context: Context[Any]) -> str:
    """Break because of a bug."""
    note(context, "broken:bug", {})
    raise KeyError("not there")


def dies(context: Context[Any]) -> str:
    """Die in the middle of the call."""
    note(context, "broken:dies", {})
    sys.stderr.write("The disk is full\n")
    sys.stderr.flush()
    os._exit(3)


async def wait_for_it(context: Context[Any]) -> str:
    """Wait for it to come."""
    note(context, "clock:wait_for_it", {})
    while not GO.exists():
        await anyio.sleep(0.02)
    return "it came"


def delete_all(context: Context[Any]) -> str:
    """Delete everything."""
    note(context, "admin:delete_all", {})
    return "all is gone"


def price(context: Context[Any], of: str) -> dict[str, Any]:
    """Tell the price of something to buy."""
    note(context, "shop:price", {"of": of})
    return {"price": 3, "for": asking(context), "of": of}


def buy_ticket() -> str:
    """Buy a ticket for the boat."""
    return "a ticket"


SERVERS: Mapping[str, tuple[Callable[..., Any], ...]] = {
    "github": (list_commits,),
    "filesystem": (read_file,),
    "broken": (fails, bug, dies),
    "clock": (wait_for_it,),
    "admin": (delete_all,),
    "shop": (add_numbers, draw_cat, break_plate, price),
    "kiosk": (buy_ticket,),
}
UPSTREAM = "upstream"
"""The tests' own server, which may also be a program."""


def asking(context: Context[Any]) -> str:
    return (context.headers or {}).get(WHO.lower()) or os.environ.get("WHO", "")


def note(context: Context[Any], tool: str, arguments: Mapping[str, object]) -> None:
    """Write the call down before it is answered."""
    line = json.dumps({"who": asking(context), "tool": tool, "arguments": arguments})
    with CALLS.open("a", encoding="utf-8") as calls:
        calls.write(line + "\n")


def server(name: str) -> MCPServer:
    made = MCPServer(name, log_level="ERROR")
    for tool in SERVERS[name]:
        made.add_tool(tool, annotations=ToolAnnotations(read_only_hint=tool is not delete_all))
    return made


def over_http() -> None:
    """Serve all on a port that the system gives. While the file `closed` is there, the kiosk is."""
    import uvicorn
    from starlette.applications import Starlette
    from starlette.responses import PlainTextResponse
    from starlette.routing import Mount
    from starlette.types import Receive, Scope, Send

    made = {UPSTREAM: upstream(), **{name: server(name) for name in SERVERS}}
    apps = {name: one.streamable_http_app(json_response=True) for name, one in made.items()}

    async def kiosk(scope: Scope, receive: Receive, send: Send) -> None:
        await (PlainTextResponse("Closed", 503) if CLOSED.exists() else apps["kiosk"])(scope, receive, send)

    @contextlib.asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncGenerator[None]:
        async with contextlib.AsyncExitStack() as started:
            for app in apps.values():
                await started.enter_async_context(app.router.lifespan_context(app))
            yield

    routes = [Mount(f"/{name}", kiosk if name == "kiosk" else app) for name, app in apps.items()]
    listening = socket.create_server(("127.0.0.1", 0))
    print(listening.getsockname()[1], flush=True)
    public, private = (FOLDER / name for name in ("certificate.pem", "key.pem"))
    config = uvicorn.Config(
        Starlette(routes=routes, lifespan=lifespan),
        log_level="error",
        ssl_certfile=public if public.exists() else None,
        ssl_keyfile=private if private.exists() else None,
    )
    uvicorn.Server(config).run(sockets=[listening])


if __name__ == "__main__":
    if len(sys.argv) > 2:
        server(sys.argv[2]).run("stdio")
    else:
        over_http()
