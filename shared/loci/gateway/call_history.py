"""The last calls of each owner's tool servers, without their contents, and which tools are used after which."""

import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any, Final, cast

from loci.core.background import BackgroundQueue
from loci.core.identity import Owner
from loci.core.ids import content_id
from loci.core.json import Json, JsonObject, iso
from loci.core.stores import Record, RecordStore, read_or_none, update
from loci.core.telemetry import Called

LOG = "tool_calls"
"""The kind of the record; each owner has one."""
MOST: Final = 100
"""The number of calls that are kept, in one record that is written a few times a second at most."""
DAYS: Final = 30
"""The days for which calls are counted, in the same record."""
PENDING: Final = "APPROVAL_PENDING"
"""The code of a call that waits for a person."""


@dataclass(frozen=True, slots=True)
class LoggedCall:
    """A call of a tool of a tool server."""

    at: float
    tool: str
    door: str
    who: str
    """The proof by which the caller was recognised: `local`, `key` or `token`."""
    outcome: str
    """`ok`, or the code of the error."""
    ms: float

    @property
    def server(self) -> str:
        """The name of the tool's server."""
        return self.tool.partition(":")[0]

    @property
    def is_failed(self) -> bool:
        """True if the call failed. One that waits for a person has not."""
        return self.outcome not in ("ok", PENDING)


class CallLog:
    """The log of calls. A background thread writes all calls of a moment at once."""

    def __init__(self, records: RecordStore, later: BackgroundQueue, clock: Callable[[], float] = time.time) -> None:
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
        """The last calls of all processes, the newest first."""
        return self.history(owner)[0][:limit]

    def history(self, owner: Owner) -> tuple[list[LoggedCall], dict[str, tuple[int, int]]]:
        """The last calls, the newest first, and how many worked and failed by the day (UTC), for days with a call."""
        self._write(owner)
        record = self._records.get(owner, LOG, "last")
        calls = read_or_none(record, _calls) or []
        return calls[::-1], read_or_none(record, _days) or {}

    def _write(self, owner: Owner) -> None:
        with self._turn:
            new = self._waiting.pop(owner, [])
        if not new:
            return

        def written(record: Record | None) -> JsonObject:
            # As they are stored: `asdict` of a hundred calls costs more than the call.
            kept = cast("list[Json]", record.value["calls"]) if read_or_none(record, _calls) and record else []
            days = _counted(read_or_none(record, _days) or {}, new)
            return cast("JsonObject", {"calls": [*kept, *map(asdict, new)][-MOST:], "days": days})

        update(self._records, owner, LOG, "last", written, durable=False)


def _calls(record: Record) -> list[LoggedCall]:
    return [LoggedCall(**one) for one in cast("list[dict[str, Any]]", record.value["calls"])]


def _days(record: Record) -> dict[str, tuple[int, int]]:
    days = cast("dict[str, list[int]]", record.value["days"])
    return {day: (int(worked), int(failed)) for day, (worked, failed) in days.items()}


def _counted(days: dict[str, tuple[int, int]], new: Iterable[LoggedCall]) -> dict[str, tuple[int, int]]:
    """The counts of the last days with these calls. A call that waits for a person comes again, and counts then."""
    for one in new:
        worked, failed = days.get(day := iso(one.at)[:10], (0, 0))
        days = {**days, day: (worked + (one.outcome == "ok"), failed + one.is_failed)}
    return dict(sorted(days.items())[-DAYS:])


TRAIL, FOLLOWERS = "tool_trail", "tool_followers"
"""The kinds of records: the tools that an owner used last, and for each tool the tools that followed it."""
MEMORY: Final = 3
"""The number of earlier calls that count as followed by a call."""
PAUSE: Final = 600.0
"""Seconds after which a call has nothing to do with the one before it."""
AGAIN: Final = 60.0
"""Seconds in which the same tool, called again, counts once: a loop over a list is one use."""
HALF_LIFE: Final = 30 * 24 * 3600.0
FAILED: Final = 0.7
"""The share of a count that is left when the tool that follows fails."""
MOST_FOLLOWERS: Final = 50
HALF_SURE: Final = 3.0
"""The count that makes a tool half related."""


class Usage:
    """Counts which tools follow which, in the background: no call waits for it."""

    def __init__(self, records: RecordStore, later: BackgroundQueue, clock: Callable[[], float] = time.time) -> None:
        self._records = records
        self._later = later
        self._clock = clock

    def record(self, owner: Owner, tool: str, *, worked: bool) -> None:
        """Note that the tool was called."""
        self._later.do(partial(self._record, owner, tool, worked, self._clock()))

    def related(self, owner: Owner, tools: Iterable[str]) -> dict[str, float]:
        """The tools that are used after these, each with how surely, from 0 to 1."""
        now, sums = self._clock(), dict[str, float]()
        for tool in dict.fromkeys(tools):
            for follower, (count, at) in self._followers(owner, tool).items():
                sums[follower] = sums.get(follower, 0.0) + _faded(count, now - at)
        return {one: count / (count + HALF_SURE) for one, count in sums.items()}

    def _record(self, owner: Owner, tool: str, worked: bool, at: float) -> None:
        trail = self._trail(owner)
        if worked and trail and trail[-1][0] == tool and at - trail[-1][1] < AGAIN:
            return
        before = [one for one, when in trail if at - when < PAUSE and one != tool]
        for distance, earlier in enumerate(reversed(before[-MEMORY:]), 1):
            self._count(owner, earlier, tool, 1 / distance if worked else None, at)
        if worked:
            kept = [[one, when] for one, when in trail if one != tool][-MEMORY:]
            value = cast("JsonObject", {"tools": [*kept, [tool, at]]})
            self._records.put(owner, TRAIL, "last", value, durable=False)

    def _count(self, owner: Owner, tool: str, follower: str, more: float | None, at: float) -> None:
        """Add to the count of a follower. `more`: None if the follower failed."""

        def counted(record: Record | None) -> JsonObject | None:
            counts = read_or_none(record, _counts) or {}
            if more is None and follower not in counts:
                return None
            count, when = counts.get(follower, (0.0, at))
            faded = _faded(count, at - when)
            counts[follower] = (faded * FAILED if more is None else faded + more, at)
            kept = sorted(counts.items(), key=lambda one: -_faded(one[1][0], at - one[1][1]))[:MOST_FOLLOWERS]
            return cast("JsonObject", {"tool": tool, "followers": {one: [*pair] for one, pair in kept}})

        update(self._records, owner, FOLLOWERS, content_id(tool), counted, durable=False)

    def _followers(self, owner: Owner, tool: str) -> dict[str, tuple[float, float]]:
        return read_or_none(self._records.get(owner, FOLLOWERS, content_id(tool)), _counts) or {}

    def _trail(self, owner: Owner) -> list[tuple[str, float]]:
        return read_or_none(self._records.get(owner, TRAIL, "last"), _used) or []


def _faded(count: float, seconds: float) -> float:
    return count * 0.5 ** (max(0.0, seconds) / HALF_LIFE)


def _counts(record: Record) -> dict[str, tuple[float, float]]:
    followers = cast("dict[str, list[float]]", record.value["followers"])
    return {one: (float(count), float(at)) for one, (count, at) in followers.items()}


def _used(record: Record) -> list[tuple[str, float]]:
    return [(str(one), float(at)) for one, at in cast("list[tuple[str, float]]", record.value["tools"])]
