"""The other users of a machine: the user who started Loci needs no key on the loopback, and everybody else does."""

import asyncio
import errno
import os
import socket
import struct
import subprocess
import sys
from collections.abc import Generator
from contextlib import ExitStack, closing

import httpx2
import pytest

from loci.app import App
from loci.compose import build_app
from loci.core.identity import LOCAL
from loci.core.settings import load_settings
from loci.mcp.http import peer
from loci.mcp.http.application import asgi
from loci.mcp.http.peer import peer_at
from tests.attack.doors import PATIENCE, UvicornDoor, on_the_wire, uvicorn_door
from tests.attack.malformed import PING
from tests.attack.wire import Ask, legacy
from tests.support.each import each

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells who is at the other end")
as_root = pytest.mark.skipif(os.name != "posix" or os.geteuid() != 0, reason="only root can become another user")

OTHER = 65534
SECRET = "only-its-owner-reads-this"
AS_OTHER = """
import os, socket, sys
host, port, user = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
os.setgroups([]), os.setgid(user), os.setuid(user)
with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET) as one:
    one.settimeout(60)
    one.connect((host, port))
    one.sendall(sys.stdin.buffer.read())
    while part := one.recv(65536):
        sys.stdout.buffer.write(part)
"""
"""Everything is loaded before it is another user, who may not be able to read it."""
HOME = (("Host", "127.0.0.1"), ("Connection", "close"))
LIST = Ask(b"", HOME, "GET", "/ui/graph")
ASKS = [
    LIST,
    legacy(PING).having("Host", "127.0.0.1").having("Connection", "close"),
    *(
        Ask(b"", HOME, "GET", target)
        for target in ("/transfer", "/documents?under=x", "/events", "/log", "/ui/files", "/ui/settings/health")
    ),
    Ask(b'{"event": "user-prompt"}', (*HOME, ("Content-Type", "application/json")), "POST", "/hooks"),
]
PAIRS = [
    ("127.0.0.1", "127.0.0.1"),
    ("127.0.0.1", "::ffff:127.0.0.1"),
    ("::1", "::1"),
    ("::ffff:127.0.0.1", "127.0.0.1"),
    ("::ffff:127.0.0.1", "::ffff:127.0.0.1"),
]
"""Where Loci listens, and the address by which it is reached."""


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory) -> Generator[App]:
    with closing(build_app(load_settings({"data": tmp_path_factory.mktemp("home")}))) as app:
        app.documents.parts.library.add(LOCAL, f"{SECRET}.md", b"# Plan\n")
        yield app


@pytest.fixture(scope="module")
def doors(app: App) -> Generator[dict[str, UvicornDoor]]:
    with ExitStack() as opened:
        hosts = {host for host, _ in PAIRS}
        yield {one: opened.enter_context(uvicorn_door(asgi(app, on_loopback=True), host=one)) for one in hosts}


def said(door: UvicornDoor, sent: bytes, user: int = OTHER, host: str = "127.0.0.1") -> str:
    """All that a user is answered on one connection."""
    command = [sys.executable, "-c", AS_OTHER, host, str(door.port), str(user)]
    return subprocess.run(command, input=sent, capture_output=True, timeout=PATIENCE, check=True).stdout.decode()


@pytest.mark.smoke
@as_root
@each(("at", "host"), PAIRS)
def test_another_user_of_the_machine_needs_a_key(doors: dict[str, UvicornDoor], at: str, host: str) -> None:
    for ask in ASKS:
        answer = said(doors[at], on_the_wire(ask), host=host)
        assert answer.startswith("HTTP/1.1 403 "), ask.target
        assert "loci keys create NAME" in answer
    assert SECRET in said(doors[at], on_the_wire(LIST), user=0, host=host)


@as_root
def test_another_user_with_a_key_is_its_owner(doors: dict[str, UvicornDoor], app: App) -> None:
    key = app.api_keys.create(LOCAL, "neighbour")[1]
    assert SECRET in said(doors["127.0.0.1"], on_the_wire(LIST.having("X-API-Key", key)))


@as_root
def test_the_browser_of_another_user_is_asked_for_a_key(doors: dict[str, UvicornDoor]) -> None:
    page = Ask(b"", (*HOME, ("Accept", "text/html")), "GET", "/ui/files")
    led = said(doors["127.0.0.1"], on_the_wire(page))
    assert led.startswith("HTTP/1.1 303 ")
    assert "sign-in?to=files" in led
    assert "Another user of this machine" in said(doors["127.0.0.1"], on_the_wire(page.at("/ui/sign-in?to=files")))


@as_root
@each(
    "sent",
    [
        b"GET /ui/graph HTTP/1.0\r\nHost: localhost\r\n\r\n",
        b"GET /ui/graph HTTP/1.1\r\nHost: localhost:1\r\nConnection: close\r\n\r\n",
        b"GET /ui/graph HTTP/1.0\r\n\r\n",
        b"GET http://127.0.0.1/ui/graph HTTP/1.1\r\nHost: [::1]\r\nConnection: close\r\n\r\n",
        b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n" + on_the_wire(LIST),
        on_the_wire(LIST.having("X-Forwarded-For", "127.0.0.1").having("X-Forwarded-User", "root")),
        on_the_wire(LIST.having("Forwarded", "for=127.0.0.1;by=root")),
        on_the_wire(LIST.having("Cookie", "loci_visit=x").having("Authorization", "Bearer ")),
        on_the_wire(LIST.having("Origin", "http://127.0.0.1").having("Sec-Fetch-Site", "same-origin")),
        on_the_wire(LIST.having("Sec-Fetch-Site", "none")),
    ],
)
def test_nothing_that_another_user_says_makes_them_the_person(doors: dict[str, UvicornDoor], sent: bytes) -> None:
    assert SECRET not in said(doors["127.0.0.1"], sent)


@each("with_a_reset", [False, True])
def test_a_socket_that_is_closed_already_is_nobodys(with_a_reset: bool) -> None:
    """The kernel shows root as its user then."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        own = ("127.0.0.7", 0)  # nobody else takes its port meanwhile
        with socket.create_connection(listener.getsockname(), source_address=own) as one:
            one.sendall(on_the_wire(LIST))
            one.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", with_a_reset, 0))
            name = one.getsockname()
        kept, _ = listener.accept()
        with kept:
            assert peer_at(kept) == "unseen"
            if with_a_reset:  # its port is free again
                with socket.create_connection(listener.getsockname(), source_address=name):
                    assert peer_at(kept) == "unseen"


@as_root
@each(("at", "host"), PAIRS)
def test_without_netlink_the_tables_tell_the_same(
    doors: dict[str, UvicornDoor], monkeypatch: pytest.MonkeyPatch, at: str, host: str
) -> None:
    def none(*_: object) -> int | None:
        raise OSError(errno.EPROTONOSUPPORT, "no netlink")

    monkeypatch.setattr(peer, "_user_by_netlink", none)
    assert said(doors[at], on_the_wire(LIST), host=host).startswith("HTTP/1.1 403 ")
    assert SECRET in said(doors[at], on_the_wire(LIST), user=0, host=host)


def test_a_request_without_a_connection_is_nobodys(app: App) -> None:
    async def asked() -> httpx2.Response:
        within = httpx2.ASGITransport(app=asgi(app, on_loopback=True))
        async with httpx2.AsyncClient(transport=within, base_url="http://127.0.0.1") as client:
            return await client.get("/transfer")

    answer = asyncio.run(asked())
    assert answer.status_code == 403
    assert "Loci cannot see which user of this machine asks" in answer.text


def test_where_no_system_tells_the_machine_is_trusted(
    doors: dict[str, UvicornDoor], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "platform", "darwin")
    assert doors["127.0.0.1"].ask(LIST).status == 200
