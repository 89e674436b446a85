"""Runs of code, in this process or in another one.

Runs in this process wait in a queue: everybody shares the processors and the memory. A run is driven by another process
where this one may end with its answer: the two meet in a record.
"""

import json
import threading
from collections import deque
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import cast

from loci.code.ports import Cancelled, Jobs
from loci.core import tracing
from loci.core.errors import Conflict, LociError, Unavailable
from loci.core.identity import Caller, Owner
from loci.core.ids import random_id
from loci.core.json import JsonObject, string
from loci.core.stores import ABSENT, Record, RecordStore, Slots, read_or_none
from loci.sandbox.supervisor.daemon_threads import DAEMON_THREADS
from loci.scratchpad.api import Scratchpad

AT_ONCE = 8
"""Runs of one owner at a time; the others wait."""
MOST = 64
"""Runs of an owner that run or wait, at most."""
KIND = "run"
GRACE = 60.0
"""Seconds beyond a run's own time after which its end is no longer expected."""
KEPT = 3600.0
"""Seconds after which an end that nobody read is removed."""
SHORTEST_PAUSE, LONGEST_PAUSE = 0.02, 0.25
"""Seconds between two looks at the record."""
ASKED, RUNNING, DONE = "asked", "running", "done"

JobHandler = Callable[[Caller, JsonObject], JsonObject]
"""Does the run that was asked for and returns its answer. Raises `LociError` if it fails."""
UnderWay = Callable[[float, str], JsonObject]
"""Makes the answer for a run that goes on, of its milliseconds so far and the scratchpad entry for its end."""


class LocalRun:
    """A run on a thread of this process, as the call that started it sees it."""

    def __init__(self, call_is_over: Cancelled) -> None:
        self.future: Future[JsonObject] = Future()
        self._call_is_over = call_is_over
        self._is_given_up = threading.Event()

    def was_cancelled(self) -> bool:
        """True if nobody waits for the run any more."""
        return self._is_given_up.is_set() or self._call_is_over()

    def cancel(self) -> None:
        """Stop waiting, now and later: the run will be ended."""
        self._is_given_up.set()


@dataclass(slots=True)
class _OwnerQueue:
    running: int = 0
    waiting: deque[Callable[[], None]] = field(default_factory=deque[Callable[[], None]])


@dataclass(frozen=True, slots=True)
class RunQueue:
    """A queue for each owner, so that an owner with many runs keeps nobody else waiting. Waiting takes no thread."""

    at_once: int = AT_ONCE
    most: int = MOST
    _queues: dict[str, _OwnerQueue] = field(default_factory=dict[str, _OwnerQueue])
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def enter(self, owner: str, work: Callable[[], None]) -> None:
        """Do the work on a thread of its own when its turn comes. Raises `Unavailable` if the queue is too long."""
        with self._lock:
            queue, work = self._queues.setdefault(owner, _OwnerQueue()), tracing.bound(work)
            if queue.running + len(queue.waiting) >= self.most:
                what = f"{self.most} runs of yours are under way or wait, which is the most"
                raise Unavailable(what, "Wait for some of them, then call again", code="SANDBOX_BUSY")
            if queue.running >= self.at_once:
                queue.waiting.append(work)
                return
            try:
                DAEMON_THREADS.start(partial(self._do, owner, work))
            except RuntimeError as error:
                raise Unavailable(f"No run can begin now ({error})", "Try again", code="SANDBOX_BUSY") from error
            queue.running += 1  # the thread asks for the next run behind the same lock

    def _do(self, owner: str, work: Callable[[], None]) -> None:
        try:
            work()
        finally:
            if following := self._next(owner):
                DAEMON_THREADS.start(partial(self._do, owner, following))

    def _next(self, owner: str) -> Callable[[], None] | None:
        with self._lock:
            queue = self._queues[owner]
            if queue.waiting:
                return queue.waiting.popleft()
            queue.running -= 1
            if not queue.running:
                del self._queues[owner]
            return None


class DetachedRuns:
    """Starts runs in another process. A run's record says what was asked, whether it is done, and who reads its end."""

    def __init__(
        self, records: RecordStore, scratchpad: Scratchpad, jobs: Jobs, clock: Callable[[], float], slots: Slots
    ) -> None:
        self._records = records
        self._slots = slots
        self._scratchpad = scratchpad
        self._jobs = jobs
        self._clock = clock

    def begin(
        self,
        caller: Caller,
        tool: str,
        request: JsonObject,
        seconds: float,
        under_way: UnderWay,
        cancelled: Cancelled,
    ) -> "PendingRun":
        """Start a run of the tool. Raises `Unavailable` if the owner has too many."""
        id, due = random_id(32), self._clock() + seconds + GRACE
        slot = self._slots.take(caller.owner, due)
        value: JsonObject = {
            "state": ASKED,
            "tool": tool,
            "caller": caller.as_json(),
            "asked": request,
            "due_at": due,
            "slot": [slot.key, slot.version],
        }
        try:
            self._records.put(caller.owner, KIND, id, value, expect_version=ABSENT, expires_at=due + KEPT)
            self._jobs.send({"run": id, "tenant": caller.owner.tenant, "subject": caller.owner.subject})
        except LociError:
            with suppress(LociError):  # it comes free by itself when the run is due
                self._slots.give_back(caller.owner, slot.key, slot.version)
            raise
        return PendingRun(self, caller.owner, id, tool, seconds, under_way, cancelled)

    def drive(self, job: JsonObject, handlers: Mapping[str, JobHandler]) -> None:
        """Do the job's run, by its tool's handler, unless somebody already does: no run begins twice."""
        owner, id = Owner(str(job["tenant"]), str(job["subject"])), str(job["run"])
        asked: list[JsonObject] = []

        def begin(value: JsonObject) -> JsonObject | None:
            asked[:] = [value]
            return {**value, "state": RUNNING, "asked": {}} if value["state"] == ASKED else None

        if self._change(owner, id, begin) is None:
            return
        request, tool = cast("JsonObject", asked[0]["asked"]), str(asked[0]["tool"])
        caller = Caller.from_json(owner, cast("JsonObject", asked[0]["caller"]))
        end: JsonObject = {"error": _error_record(Unavailable("Loci failed on this run", "Read its log", code="BUG"))}
        try:
            end = {"answer": handlers[tool](caller, request)}
        except LociError as error:
            end = {"error": _error_record(error)}
        finally:
            self._ended(owner, id, tool, end)
            with suppress(LociError):  # it comes free by itself when the run is due
                self._slots.give_back(owner, *cast("list[str]", asked[0]["slot"]))

    def read(self, owner: Owner, id: str) -> JsonObject | LociError | None:
        """Take the run's end out of its record: its answer or its error. None if it goes on."""
        found = self._found(owner, id)
        if found is None:
            return _lost()
        if found.value["state"] != DONE:
            return None
        self._records.remove(owner, KIND, id)
        end = cast("JsonObject", found.value["end"])
        return cast("JsonObject", end["answer"]) if "answer" in end else _error(cast("JsonObject", end["error"]))

    def promise(self, owner: Owner, id: str, tool: str, seconds: float) -> str | None:
        """Have the run's end put into the scratchpad and return the entry's id. None if the run is done already."""
        promised = self._scratchpad.promise(owner, tool, seconds + GRACE)
        marked = self._change(
            owner, id, lambda value: None if value["state"] == DONE else {**value, "promised": promised}
        )
        return promised if marked is not None else None

    def _change(self, owner: Owner, id: str, change: Callable[[JsonObject], JsonObject | None]) -> Record | None:
        """Change the run's record and return it; None if there is no record, or if `change` leaves it as it is."""
        while (found := self._found(owner, id)) is not None:
            value = change(found.value)
            if value is None:
                return None
            until = _due(value) + KEPT
            with suppress(Conflict):  # the other side wrote; what it wrote may decide
                return self._records.put(owner, KIND, id, value, expect_version=found.version, expires_at=until)
        return None

    def _found(self, owner: Owner, id: str) -> Record | None:
        """The run's record; None if no record can be read."""
        found = self._records.get(owner, KIND, id)
        return None if read_or_none(found, run_value) is None else found

    def _ended(self, owner: Owner, id: str, tool: str, end: JsonObject) -> None:
        """Leave the end in the record for the call that waits, or in the scratchpad if it was promised there."""
        promised: list[str] = []

        def done(value: JsonObject) -> JsonObject | None:
            promised[:] = [str(value["promised"])] if "promised" in value else []
            return None if promised else {**value, "state": DONE, "end": end}

        self._change(owner, id, done)
        if promised:
            self._scratchpad.keep(owner, tool, _late_text(end), id=promised[0])
            self._records.remove(owner, KIND, id)


class PendingRun:
    """A run in another process, as the call that started it sees it.

    Its answer comes as `future`'s result or as a scratchpad entry, never both.
    """

    def __init__(
        self,
        runs: DetachedRuns,
        owner: Owner,
        id: str,
        tool: str,
        seconds: float,
        under_way: UnderWay,
        cancelled: Cancelled,
    ) -> None:
        self.future: Future[JsonObject] = Future()
        self._runs = runs
        self._owner = owner
        self._id = id
        self._tool = tool
        self._seconds = seconds
        self._under_way = under_way
        self._cancelled = cancelled
        self._left = threading.Event()
        self._watch = threading.Thread(target=self._look, name="pending run", daemon=True)
        self._waited = 0.0
        self._watch.start()

    def later(self) -> JsonObject:
        """Stop waiting, and return the answer that the run goes on, or its own answer if it has just come."""
        self._left.set()
        self._watch.join()
        if not self.future.done():
            promised = self._runs.promise(self._owner, self._id, self._tool, self._seconds)
            if promised is not None:
                return self._under_way(self._waited * 1000, promised)
            self._tell(self._runs.read(self._owner, self._id) or _lost())
        return self.future.result()

    def cancel(self) -> None:
        """Stop waiting, now and later. The run goes on to its end in its own process."""
        self._left.set()

    def _look(self) -> None:
        pause = SHORTEST_PAUSE
        while not self._left.wait(pause) and not self._cancelled():
            self._waited += pause
            pause = min(LONGEST_PAUSE, pause * 1.3)
            try:
                end = self._runs.read(self._owner, self._id)
            except LociError as error:
                end = error
            if end is not None:
                self._tell(end)
                return

    def _tell(self, end: JsonObject | LociError) -> None:
        if isinstance(end, LociError):
            self.future.set_exception(end)
        else:
            self.future.set_result(end)


def run_value(record: Record) -> JsonObject:
    """The value of a run's record, with all that its state needs."""
    value = record.value
    _due(value)
    string(value["tool"])
    needed = {ASKED: ("asked", "caller"), RUNNING: (), DONE: ("end",)}[string(value["state"])]
    for name in needed:
        if not isinstance(value[name], dict):
            raise TypeError(name)
    return value


def _due(value: JsonObject) -> float:
    return float(str(value["due_at"]))


def _error_record(error: LociError) -> JsonObject:
    return {"code": error.code, "what": error.what, "resolution": error.resolution, "details": dict(error.details)}


def _error(value: JsonObject) -> LociError:
    details = cast("JsonObject", value["details"])
    return LociError(str(value["what"]), str(value["resolution"]), code=str(value["code"]), details=details)


def _late_text(end: JsonObject) -> str:
    told = end["answer"] if "answer" in end else late_failure(_error(cast("JsonObject", end["error"])))
    return json.dumps(told, ensure_ascii=False)


def _lost() -> LociError:
    return Unavailable("The end of the run was lost", "Run the code again", code="RUN_LOST")


def late_failure(error: LociError) -> JsonObject:
    """The error of a run, as the scratchpad keeps it."""
    told: JsonObject = {"code": error.code, "message": error.what, "resolution": error.resolution}
    return {"error": told, **error.details}


def read_later(scratchpad_id: str) -> str:
    return f"The code is still running. Read its answer with scratchpad_read('{scratchpad_id}') when it is done"
