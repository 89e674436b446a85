"""Real tool servers: three of the official ones, pinned beside this file, and Loci itself."""

import os
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from infra.node import NODE
from loci.gateway.tool_server import Endpoint, Program, ToolServer
from tests.servers.ports import free_port
from tests.support.npm_packages import install

HERE = Path(__file__).resolve().parent
PACKAGES = HERE / "node_modules" / "@modelcontextprotocol"


def node_server(name: str, *args: str, **env: str) -> Program:
    """One of the official servers: `everything`, `filesystem` or `memory`."""
    install(HERE)
    script = PACKAGES / f"server-{name}" / "dist" / "index.js"
    return Program(str(NODE), (str(script), *args), env)


def everything() -> ToolServer:
    """The server that has one of everything, over standard input and output."""
    return ToolServer("everything", node_server("everything", "stdio"))


def loci(folder: Path) -> Program:
    """Loci itself, with its data in the folder."""
    return Program(sys.executable, ("-m", "loci", "serve", "--stdio", "--no-models", "--data", str(folder)))


@contextmanager
def everything_over_http() -> Generator[Endpoint]:
    """The same server, over Streamable HTTP."""
    program, port = node_server("everything", "streamableHttp"), free_port()
    process = subprocess.Popen(
        [program.command, *program.args],
        env=os.environ | {"PORT": str(port)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stderr
        for line in process.stderr:
            if "listening" in line.lower():
                break
        yield Endpoint(f"http://127.0.0.1:{port}/mcp")
    finally:
        process.kill()
        process.communicate()
