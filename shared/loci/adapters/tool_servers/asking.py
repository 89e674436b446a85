"""A question to a server on its way: how far it has come, until when it may take, what went wrong."""

import time
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Literal


@dataclass(frozen=True, slots=True)
class Trouble:
    """A failure on the way, in Loci's own words, and what to do about it."""

    what: str
    resolution: str


@dataclass(slots=True)
class Asking:
    """Shared by the caller's thread, the connection and, through the context, the transport."""

    seconds: float
    is_call: bool = False
    """True: once it is asked, it may have done something."""
    stage: Literal["connecting", "waiting", "asked"] = "connecting"
    trouble: Trouble | None = None
    asked_at: float = 0.0
    until: float = field(init=False)

    def __post_init__(self) -> None:
        self.until = time.monotonic() + self.seconds

    def now_asked(self) -> None:
        self.stage, self.asked_at = "asked", time.monotonic()

    @property
    def seconds_left(self) -> float:
        return max(0.0, self.until - time.monotonic())


ASKING: ContextVar[Asking | None] = ContextVar("asking", default=None)
"""The client sends each request in the context of who asked."""
