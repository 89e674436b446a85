"""Bytes on a socket that are no HTTP: a plain refusal, a closed connection, one line in the log and no traceback."""

import logging
import socket
from collections.abc import Generator
from contextlib import suppress

import pytest

from tests.attack.conftest import Doors
from tests.attack.doors import PATIENCE, Door, on_the_wire
from tests.attack.malformed import PING
from tests.attack.wire import Ask, legacy
from tests.support.each import each

TARGETS = ["/mcp", "/ui/sign-in", "/ui/sign-out", "/documents", "/healthz", "/nowhere"]
GO_ON = b"HTTP/1.1 100 Continue\r\n\r\n"
SMUGGLED = b"GET /healthz HTTP/1.1\r\nHost: loci.test\r\n\r\n"


class Lines(logging.Handler):
    """Keeps what is logged."""

    def __init__(self) -> None:
        super().__init__()
        self.records: list[logging.LogRecord] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.records.append(record)


@pytest.fixture
def logged(doors: Doors) -> Generator[list[logging.LogRecord]]:
    """What uvicorn and the event loop write while a test runs."""
    lines = Lines()
    loggers = [logging.getLogger(name) for name in ("uvicorn.error", "asyncio")]
    levels = [one.level for one in loggers]
    for one in loggers:
        one.addHandler(lines)
        one.setLevel(logging.WARNING)
    yield lines.records
    for one, level in zip(loggers, levels, strict=True):
        one.removeHandler(lines)
        one.setLevel(level)


def said(doors: Doors, sent: bytes, later: bytes = b"") -> bytes:
    """All that the server sends until it hangs up. What is sent later comes once it has read what was sent before."""
    with socket.create_connection(("127.0.0.1", doors.uvicorn.port), timeout=PATIENCE) as connection:
        connection.sendall(sent)
        answer = b""
        with suppress(ConnectionError):
            if later:
                answer = connection.recv(65536).removeprefix(GO_ON)
                connection.sendall(later)
            while part := connection.recv(65536):
                answer += part
        return answer


def chunked(key: str, target: str = "/mcp") -> Ask:
    return legacy(b"", key).at(target).having("Transfer-Encoding", "chunked")


def slowly(asked: Ask) -> Ask:
    """The same from somebody who sends the body when the server asks for it."""
    return asked.having("Expect", "100-continue")


@each("target", TARGETS)
def test_a_body_with_two_lengths_is_refused_and_nothing_is_smuggled(
    doors: Doors, ann: str, logged: list[logging.LogRecord], target: str
) -> None:
    logged.clear()
    body = b"%x\r\n%s\r\n0\r\n\r\n" % (len(PING), PING)
    asked = legacy(body, ann).at(target).having("Transfer-Encoding", "chunked").having("Content-Length", "4")
    answer = said(doors, on_the_wire(asked) + SMUGGLED)
    assert answer.startswith(b"HTTP/1.1 400 ")
    assert b"connection: close" in answer.lower()
    assert b"send only one of them" in answer
    assert answer.count(b"HTTP/1.1") == 1
    assert len(logged) == 1
    assert logged[0].exc_info is None


@each("target", TARGETS)
@each("chunk", [b"zz\r\nx\r\n", b"-1\r\n", b"3\r\nabcdef\r\n"])
@each("together", [True, False])
def test_a_bad_chunk_writes_one_line_to_the_log(
    doors: Doors, ann: str, logged: list[logging.LogRecord], target: str, chunk: bytes, together: bool
) -> None:
    logged.clear()
    asked = chunked(ann, target)
    answer = said(doors, on_the_wire(asked) + chunk) if together else said(doors, on_the_wire(slowly(asked)), chunk)
    assert answer.startswith(b"HTTP/1.1 ")
    assert len(logged) <= 1
    assert [one.exc_info for one in logged if one.exc_info] == []


def test_a_bad_chunk_that_is_waited_for_is_logged(doors: Doors, ann: str, logged: list[logging.LogRecord]) -> None:
    head = on_the_wire(slowly(chunked(ann)))
    assert said(doors, head, b"zz\r\nx\r\n").startswith(b"HTTP/1.1 400 ")
    assert len(logged) == 1


def test_behind_a_gateway_a_body_has_the_length_that_the_gateway_found(doors: Doors, ann: str) -> None:
    asked = legacy(PING, ann).having("Transfer-Encoding", "chunked").having("Content-Length", "4")
    both: list[Door] = [doors.rest, doors.http]
    assert [door.ask(asked).status for door in both] == [200, 200]
