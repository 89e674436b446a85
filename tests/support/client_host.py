"""A host on this machine with the document of a client, behind https, as if it were on the internet."""

import json
import socket
import ssl
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, cast

import pytest

from loci.adapters.tool_servers import public_addresses
from loci.adapters.tool_servers.public_addresses import PublicAddresses
from loci.adapters.tool_servers.small_requests import read_public
from tests.servers.upstream.certificate import certificate

NAME = "client.example"


@dataclass
class ClientHost:
    """What it answers, and how it is read."""

    url: str
    read: Callable[[str], bytes]
    status: int = 200
    body: bytes = b""
    headers: dict[str, str] = field(default_factory=lambda: {"Content-Type": "application/json"})
    asked: list[str] = field(default_factory=list[str])

    def describes(self, **told: object) -> None:
        self.body = json.dumps({"client_id": self.url, "client_name": "A client of the web", **told}).encode()


class _Answers(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        host = cast("ClientHost", cast("Any", self.server).told)
        host.asked.append(self.path)
        self.send_response(host.status)
        for name, value in host.headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(host.body)))
        self.end_headers()
        self.wfile.write(host.body)

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""


@contextmanager
def client_host(folder: Path) -> Generator[ClientHost]:
    """Its name leads to this machine, and this machine counts as public."""
    secured, trusted = certificate(NAME, folder)
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Answers)
    server.socket = secured.wrap_socket(server.socket, server_side=True)
    find = socket.getaddrinfo

    def found(host: str, *args: Any, **more: Any) -> Any:
        return find("127.0.0.1" if host == NAME else host, *args, **more)

    def read(trusted: ssl.SSLContext, url: str) -> bytes:
        return read_public(url, PublicAddresses(trusted))

    host = ClientHost(f"https://{NAME}:{server.server_port}/client.json", partial(read, trusted))
    cast("Any", server).told = host
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    with pytest.MonkeyPatch.context() as changed:
        changed.setattr(socket, "getaddrinfo", found)
        changed.setattr(public_addresses, "is_public", bool)
        thread.start()
        yield host
        server.shutdown()
        thread.join()
        server.server_close()
