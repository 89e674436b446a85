"""The last calls of each owner's tool servers: who called which tool, and how that ended. Never with what."""

import threading
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any, Final, cast

from loci.core.background import Background
from loci.core.calls import Called
from loci.core.identity import Owner
from loci.core.json import JsonObject
from loci.core.stores import Record, RecordStore, read_or_none, update

LOG = "tool_calls"
"""The kind of the record: one an owner."""
MOST: Final = 100
"""Calls that are kept. All are in one record, which is written anew a few times a second at most."""


@dataclass(frozen=True, slots=True)
class LoggedCall:
    """One call of a tool of a tool server."""

    at: float
    tool: str
    door: str
    who: str
    """How the caller was recognised: `local`, by a `key` or by a `token`."""
    outcome: str
    """`ok`, or the code of the error."""
    ms: float


class CallLog:
    """Written on a thread of its own, all calls of a moment at once."""

    def __init__(self, records: RecordStore, later: Background, clock: Callable[[], float] = time.time) -> None:
        self._records = records
        self._later = later
        self._clock = clock
        self._turn = threading.Lock()
        self._waiting: dict[Owner, list[LoggedCall]] = {}

    def add(self, called: Called) -> None:
        """Note the call."""
        ended = "ok" if called.outcome == "ok" else called.code or called.outcome
        logged = LoggedCall(self._clock(), called.tool, called.door, called.caller.proof, ended, round(called.ms, 1))
        with self._turn:
            self._waiting.setdefault(called.caller.owner, []).append(logged)
        self._later.do(partial(self._write, called.caller.owner), (LOG, called.caller.owner))

    def last(self, owner: Owner, limit: int = MOST) -> list[LoggedCall]:
        """The last calls, the newest first: those of other processes, too."""
        self._write(owner)
        calls = read_or_none(self._records.get(owner, LOG, "last"), _calls) or []
        return calls[::-1][:limit]

    def _write(self, owner: Owner) -> None:
        with self._turn:
            new = self._waiting.pop(owner, [])
        if not new:
            return

        def written(record: Record | None) -> JsonObject:
            kept = [*(read_or_none(record, _calls) or []), *new][-MOST:]
            return cast("JsonObject", {"calls": [asdict(one) for one in kept]})

        update(self._records, owner, LOG, "last", written, durable=False)


def _calls(record: Record) -> list[LoggedCall]:
    return [LoggedCall(**one) for one in cast("list[dict[str, Any]]", record.value["calls"])]
