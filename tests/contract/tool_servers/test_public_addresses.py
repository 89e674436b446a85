"""On AWS, connections go to public addresses only, however they are named."""

import asyncio
import socket
from collections.abc import Iterator, Sequence
from contextlib import closing, nullcontext
from pathlib import Path
from typing import Any

import httpx2
import pytest

from loci.adapters.tool_servers import public_addresses
from loci.adapters.tool_servers.connections import Connections
from loci.adapters.tool_servers.public_addresses import PublicAddresses, is_public
from loci.core.identity import LOCAL
from loci.gateway.ports import ToolServerError
from loci.gateway.tool_server import Endpoint, Program, ToolServer
from tests.servers.upstream.certificate import certificate
from tests.servers.upstream.hostile_http import hostile_http
from tests.support.each import each

PRIVATE = (
    "0.0.0.0",
    "10.1.2.3",
    "100.64.0.1",
    "127.0.0.1",
    "169.254.169.254",
    "172.16.0.1",
    "192.0.0.8",
    "192.88.99.1",
    "192.168.1.1",
    "198.18.0.1",
    "203.0.113.5",
    "224.0.0.1",
    "240.0.0.1",
    "255.255.255.255",
    "::",
    "::1",
    "::127.0.0.1",
    "::ffff:127.0.0.1",
    "::ffff:8.8.8.8",
    "64:ff9b::7f00:1",
    "64:ff9b:1::7f00:1",
    "100::1",
    "2001:0:4136:e378::1",
    "2001:db8::1",
    "2002:7f00:1::1",
    "fc00::1",
    "fd00:ec2::254",
    "fe80::1",
    "fe80::1%1",
    "fec0::1",
    "ff02::1",
)
PUBLIC = ("1.1.1.1", "8.8.8.8", "2606:4700:4700::1111", "2a00:1450:4001:81b::200e")


class Resolver:
    """Answers in turn; the last answer stays."""

    def __init__(self, *answers: Sequence[str]) -> None:
        self.answers = list(answers)
        self.asked = 0

    def __call__(self, _host: str, port: int, *_: Any, **__: Any) -> list[Any]:
        answer = self.answers[min(self.asked, len(self.answers) - 1)]
        self.asked += 1
        return [
            (socket.AF_INET6, socket.SOCK_STREAM, 6, "", (one, port, 0, 0))
            if ":" in one
            else (socket.AF_INET, socket.SOCK_STREAM, 6, "", (one, port))
            for one in answer
        ]


@pytest.fixture
def careful() -> Iterator[Connections]:
    made = Connections(only_public=True)
    yield made
    made.close()


@each("address", PRIVATE)
def test_an_address_inside_is_not_public(address: str) -> None:
    assert not is_public(address)


@each("address", PUBLIC)
def test_an_address_on_the_internet_is_public(address: str) -> None:
    assert is_public(address)


@each("host", ["localhost", "127.0.0.1", "127.1", "2130706433", "0x7f000001", "[::1]", "[::ffff:127.0.0.1]", "0.0.0.0"])
def test_a_name_of_this_machine_is_refused(careful: Connections, host: str) -> None:
    with pytest.raises(ToolServerError, match="its address is not public"):
        careful.tools(LOCAL, ToolServer("far", Endpoint(f"https://{host}/mcp")))


@each("address", ["127.0.0.1", "169.254.169.254", "::1", "10.0.0.7", "::ffff:127.0.0.1"])
def test_a_name_that_resolves_to_an_address_inside_is_refused(monkeypatch: pytest.MonkeyPatch, address: str) -> None:
    monkeypatch.setattr(socket, "getaddrinfo", Resolver(["1.1.1.1", address]))
    knows_of_no_failures = closing(Connections(only_public=True))
    with knows_of_no_failures as careful, pytest.raises(ToolServerError, match="its address is not public"):
        careful.tools(LOCAL, ToolServer("far", Endpoint("https://cats.example/mcp")))


def test_a_name_that_changes_its_address_after_the_check_leads_nowhere_else(
    careful: Connections, monkeypatch: pytest.MonkeyPatch
) -> None:
    connected: list[object] = []

    async def connect(_: object, __: socket.socket, address: object) -> None:
        connected.append(address)
        raise ConnectionRefusedError

    resolver = Resolver(["1.1.1.1"], ["127.0.0.1"])
    monkeypatch.setattr(socket, "getaddrinfo", resolver)
    monkeypatch.setattr("asyncio.selector_events.BaseSelectorEventLoop.sock_connect", connect)
    with pytest.raises(ToolServerError, match="its address is not public"):
        careful.tools(LOCAL, ToolServer("far", Endpoint("https://cats.example/mcp")))
    assert connected == [("1.1.1.1", 443)]


def test_only_https_is_allowed_and_no_program_is_started(careful: Connections) -> None:
    for server in (ToolServer("far", Endpoint("http://1.1.1.1/mcp")), ToolServer("near", Program("true"))):
        with pytest.raises(ToolServerError, match="only servers with an https address"):
            careful.tools(LOCAL, server)


@pytest.mark.parametrize(("host", "is_trusted"), [("cats.example", True), ("dogs.example", False)])
def test_a_certificate_is_checked_against_the_name(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, host: str, is_trusted: bool
) -> None:
    monkeypatch.setattr(socket, "getaddrinfo", Resolver(["127.0.0.1"]))
    monkeypatch.setattr(public_addresses, "is_public", bool)
    secured, trusted = certificate("cats.example", tmp_path)

    async def post(port: int) -> None:
        async with httpx2.AsyncClient(transport=PublicAddresses(trusted)) as client:
            await client.post(f"https://{host}:{port}/plain", json={"method": "notifications/cancelled"})

    with hostile_http(secured) as server:
        with nullcontext() if is_trusted else pytest.raises(httpx2.ConnectError, match="certificate is not valid for"):
            asyncio.run(post(server.server_port))
        assert [headers["Host"] for _, headers in server.received] == [f"{host}:{server.server_port}"] * is_trusted
