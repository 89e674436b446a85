"""Bytes on a socket that are no HTTP: a plain refusal, a closed connection, one line in the log and no traceback."""

import logging
import socket
from collections.abc import Generator
from contextlib import suppress

import pytest

from tests.attack.conftest import Doors
from tests.attack.doors import PATIENCE, Door, on_the_wire
from tests.attack.malformed import PING
from tests.attack.wire import legacy

TARGETS = ["/mcp", "/ui/sign-in", "/ui/sign-out", "/documents", "/healthz", "/nowhere"]
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


def said(doors: Doors, *pieces: bytes) -> bytes:
    """All that the server sends until it hangs up, after it got these pieces one by one."""
    with socket.create_connection(("127.0.0.1", doors.uvicorn.port), timeout=PATIENCE) as connection:
        answer = b""
        for number, piece in enumerate(pieces):
            if number:  # each piece is read by itself: the server answered the one before, or reads on
                connection.settimeout(0.1)
                with suppress(TimeoutError):
                    answer += connection.recv(65536)
                connection.settimeout(PATIENCE)
            try:
                connection.sendall(piece)
            except OSError:
                break
        with suppress(ConnectionError):
            while part := connection.recv(65536):
                answer += part
        return answer


@pytest.mark.parametrize("target", TARGETS)
def test_a_body_with_two_lengths_is_refused_and_nothing_is_smuggled(
    doors: Doors, ann: str, logged: list[logging.LogRecord], target: str
) -> None:
    body = b"%x\r\n%s\r\n0\r\n\r\n" % (len(PING), PING)
    asked = legacy(body, ann).at(target).having("Transfer-Encoding", "chunked").having("Content-Length", "4")
    answer = said(doors, on_the_wire(asked) + SMUGGLED)
    assert answer.startswith(b"HTTP/1.1 400 ")
    assert b"connection: close" in answer.lower()
    assert b"send only one of them" in answer
    assert answer.count(b"HTTP/1.1") == 1
    assert len(logged) == 1
    assert logged[0].exc_info is None


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("chunk", [b"zz\r\nx\r\n", b"-1\r\n", b"3\r\nabcdef\r\n"])
@pytest.mark.parametrize("together", [True, False], ids=["at once", "after the headers"])
def test_a_bad_chunk_writes_one_line_to_the_log(
    doors: Doors, ann: str, logged: list[logging.LogRecord], target: str, chunk: bytes, together: bool
) -> None:
    head = on_the_wire(legacy(b"", ann).at(target).having("Transfer-Encoding", "chunked"))
    answer = said(doors, head + chunk) if together else said(doors, head, chunk)
    assert answer.startswith(b"HTTP/1.1 ")
    assert len(logged) <= 1
    assert [one.exc_info for one in logged if one.exc_info] == []


def test_a_bad_chunk_that_is_waited_for_is_logged(doors: Doors, ann: str, logged: list[logging.LogRecord]) -> None:
    head = on_the_wire(legacy(b"", ann).having("Transfer-Encoding", "chunked"))
    assert said(doors, head, b"zz\r\nx\r\n").startswith(b"HTTP/1.1 400 ")
    assert len(logged) == 1


def test_behind_a_gateway_a_body_has_the_length_that_the_gateway_found(doors: Doors, ann: str) -> None:
    asked = legacy(PING, ann).having("Transfer-Encoding", "chunked").having("Content-Length", "4")
    both: list[Door] = [doors.rest, doors.http]
    assert [door.ask(asked).status for door in both] == [200, 200]
