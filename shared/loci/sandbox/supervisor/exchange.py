"""One request to an executor, on its way."""

import json
import time
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from loci.sandbox.inside import frames
from loci.sandbox.supervisor.reply import Bounds, Memory, Output, Reply

DISK_SECONDS = 0.2
BEGUN_SECONDS = 0.1
Message = dict[str, Any]


class Exchange:
    """What is to be sent, what has come, and until when."""

    def __init__(
        self,
        is_answer: Callable[[Message], bool],
        seconds: float,
        *,
        soft: bool = False,
        room: int = 1 << 20,
        memory: Memory | None = None,
        take: Callable[[bytes], None] | None = None,
        given_up: Callable[[], bool] = lambda: False,
    ) -> None:
        self.is_answer = is_answer
        self.began = time.monotonic()
        self.until = self.began + seconds
        self.next_disk = self.began + DISK_SECONDS
        self.soft = soft
        """It is interrupted first, once its time is over."""
        self.interrupted = False
        self._given_up = given_up
        self.output = Output()
        self.memory = memory
        self.requests = 0
        self.take = take
        self.pieces: list[bytes] = []
        self.room = room
        """Bytes that may still come."""

    def reply(self, said: Message) -> Reply:
        """The end of it."""
        seconds = time.monotonic() - self.began
        return Reply(said, self.output, seconds, self.interrupted, tuple(self.pieces))

    def is_given_up(self, now: float) -> bool:
        """Whether nobody waits for the answer. What has just begun would not hear that it is interrupted."""
        return now - self.began > BEGUN_SECONDS and self._given_up()

    def keep(self, payload: bytes) -> bool:
        """Whether there was room for these bytes."""
        self.room -= len(payload)
        if self.room < 0:
            return False
        if self.take is None:
            self.pieces.append(payload)
        else:
            self.take(payload)
        return True

    def asked(self, said: Message, bounds: Bounds) -> dict[str, str] | None:
        """The answer to a request for a stored file; None where it is no such request, or one too many."""
        id, name = said.get("memory_id"), said.get("memory_name")
        if said.get("t") != "memory" or self.memory is None or not isinstance(id, str):
            return None
        self.requests += 1
        if self.requests > bounds.memory_requests:
            return {"missing": f"One run may ask for {bounds.memory_requests} files"}
        return self.memory(id, name if isinstance(name, str) else "")


def framed(message: Message, pieces: Iterable[bytes] | None = None) -> Iterator[bytes]:
    """The message as a frame, and the bytes that go with it."""
    yield frames.packed(frames.JSON, json.dumps(message).encode())
    if pieces is None:
        return
    for piece in pieces:
        for part in frames.pieces(piece):
            yield frames.packed(frames.BYTES, part)
    yield frames.packed(frames.JSON, b"{}")
