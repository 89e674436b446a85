"""A client of `/events` as browsers have it: it goes on behind the last event whenever an answer ends."""

import contextlib
import http.client
import json
import socket
import threading
import time
from collections.abc import Callable, Generator, Iterable
from dataclasses import dataclass, field
from typing import Any

from tests.attack.doors import Door, LambdaDoor, UvicornDoor, on_the_wire
from tests.attack.wire import Ask, Headers
from tests.support.polling import until

PAUSE = 0.02
"""Instead of the second that the server asks for."""


@dataclass(frozen=True, slots=True)
class Seen:
    """An event on the wire."""

    id: str | None
    kind: str
    data: dict[str, Any]


@dataclass
class Follower:
    """Collects events until it is closed."""

    door: Door
    headers: Headers = ()
    query: str = ""
    path: str = "/events"
    last_id: str | None = None
    seen: list[Seen] = field(default_factory=list[Seen])
    statuses: list[int] = field(default_factory=list[int])
    raw: list[str] = field(default_factory=list[str])
    is_closed: bool = False
    connection: socket.socket | None = None

    def of(self, kind: str) -> list[dict[str, Any]]:
        return [one.data for one in self.seen if one.kind == kind]

    def wait(self, found: Callable[["Follower"], object], seconds: float = 30) -> None:
        """Until that is so."""
        try:
            until(lambda: found(self) or None, seconds)
        except AssertionError:
            raise AssertionError(f"not seen: {self.statuses[-5:]} {self.seen}") from None

    def begun(self) -> "Follower":
        """Wait until the server knows where it begins."""
        self.wait(lambda one: one.statuses and one.raw)
        return self

    def go_on(self) -> None:
        while not self.is_closed:
            try:
                self.ask()
            except (OSError, http.client.HTTPException, ValueError, AttributeError):
                if self.is_closed:
                    return
            time.sleep(PAUSE)

    def ask(self) -> None:
        """Read one answer to its end."""
        more = (("Last-Event-ID", self.last_id),) if self.last_id else ()
        ask = Ask(b"", (*self.headers, *more, ("Accept", "text/event-stream")), "GET", f"{self.path}{self.query}")
        if isinstance(self.door, LambdaDoor):
            answer = self.door.ask(ask)
            self.statuses.append(answer.status)
            self.take(answer.body.decode().split("\n"))
            return
        assert isinstance(self.door, UvicornDoor)
        with socket.create_connection(("127.0.0.1", self.door.port), timeout=60) as self.connection:
            if self.is_closed:  # since the last look: nobody would end this one
                return
            self.connection.sendall(on_the_wire(ask))
            with http.client.HTTPResponse(self.connection, method="GET") as answer:
                answer.begin()
                self.statuses.append(answer.status)
                self.take(line.decode().rstrip("\n") for line in answer)

    def take(self, lines: Iterable[str]) -> None:
        id, kind, data = self.last_id, "message", ""
        for line in lines:
            self.raw.append(line)
            name, _, value = line.partition(":")
            value = value.removeprefix(" ")
            if name == "id":
                id = value
            elif name == "event":
                kind = value
            elif name == "data":
                data += value
            elif not line:
                self.last_id = id
                if data:
                    self.seen.append(Seen(id, kind, json.loads(data)))
                kind, data = "message", ""

    def close(self) -> None:
        self.is_closed = True
        if self.connection is not None:
            with contextlib.suppress(OSError):
                self.connection.shutdown(socket.SHUT_RDWR)


@contextlib.contextmanager
def following(
    door: Door, headers: Headers = (), query: str = "", path: str = "/events", last_id: str | None = None
) -> Generator[Follower]:
    """Follow in a thread."""
    follower = Follower(door, headers, query, path, last_id)
    thread = threading.Thread(target=follower.go_on, daemon=True)
    thread.start()
    try:
        yield follower
    finally:
        follower.close()
        thread.join(20)
