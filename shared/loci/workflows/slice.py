"""A slice of a run: advances it from its record until it ends, waits for a decision, or the time is over."""

import threading
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Final, Literal, Protocol

from loci.core.errors import LociError, Misconfigured, NotFound, Refused, Unavailable
from loci.core.identity import Owner
from loci.core.ids import random_id
from loci.core.json import Json
from loci.workflows.attempts import PAUSES, Attempts, Steps
from loci.workflows.plan import Task
from loci.workflows.references import preview, resolve
from loci.workflows.run import Checkpoint, Lease, Run, TaskState
from loci.workflows.runs import Runs

LONGEST_ERROR: Final = 4000
AT_ONCE: Final = 32
"""Tasks of a run that run at the same time."""
LEASE_SECONDS: Final = 20.0
BEAT_SECONDS: Final = 5.0
"""Seconds between two signs of life."""
NEWS_SECONDS: Final = 1.0
"""Seconds between two checks whether another process has changed the run."""
LAST_SECONDS: Final = 1.0
"""Seconds in which tasks may end that run when the process stops."""

SliceEnd = Literal["ended", "paused", "more", "held"]
"""The result of a slice. `held`: another process advances the run."""


class WorkflowEngine(Protocol):
    """Advances runs, on threads or in functions, until they end or wait for a decision."""

    def start(self, owner: Owner, id: str) -> None:
        """Begin to advance the run, unless it advances already."""
        ...

    def cancel(self, owner: Owner, id: str) -> None:
        """Stop the running tasks of an aborted run soon."""
        ...

    def wait(self, owner: Owner, id: str, seconds: float) -> None:
        """Wait until the run may have changed, at most `seconds`."""
        ...

    def close(self) -> None:
        """Advance no run any more: the server stops."""
        ...


class Slices:
    """Advances runs."""

    def __init__(self, runs: Runs, steps: Steps, clock: Callable[[], float], is_gone: Callable[[str], bool]) -> None:
        """`is_gone`: true for the holder of a lease whose process has certainly ended."""
        self.runs = runs
        self.steps = steps
        self.clock = clock
        self._is_gone = is_gone

    def advance(
        self, owner: Owner, id: str, holder: str, *, seconds: float | None = None, stop: threading.Event | None = None
    ) -> SliceEnd:
        """Advance the run. `seconds`: no task starts later; `stop`: it was aborted, or this process stops."""
        until = None if seconds is None else time.monotonic() + seconds
        try:
            known = self.runs.versioned(owner, id)
            if self.is_free(known[0]):
                return _Slice(self, owner, id, holder, known).advance(until, stop or threading.Event())
            return _end(known[0])
        except NotFound:
            return "ended"

    def is_free(self, run: Run) -> bool:
        """True if the run should go on, and nothing advances it."""
        return self.is_left(run.status, run.lease)

    def is_left(self, status: str, lease: Lease | None) -> bool:
        """True if a run with this status and lease should go on, and nothing advances it."""
        if status != "running":
            return False
        return lease is None or lease.until <= self.clock() or self._is_gone(lease.holder)


def _end(run: Run) -> SliceEnd:
    return "held" if run.status == "running" else "paused" if run.status == "paused" else "ended"


class _Slice:
    """A slice of a run."""

    def __init__(self, slices: Slices, owner: Owner, id: str, holder: str, known: tuple[Run, str]) -> None:
        self._runs = slices.runs
        self._steps = slices.steps
        self._clock = slices.clock
        self._is_free = slices.is_free
        self._owner = owner
        self._id = id
        self._holder = holder
        self._known = known
        self._news_at = time.monotonic() + NEWS_SECONDS
        self._holds = False
        """True if this slice held the lease when the run was written last."""
        self._attempts = Attempts(self._runs, self._steps, owner, id)

    def advance(self, until: float | None, stop: threading.Event) -> SliceEnd:
        try:
            return self._advance(until, stop)
        except (NotFound, Unavailable, Misconfigured):
            raise
        except Exception:
            with suppress(LociError):
                self._change(self._failed_run)
            raise
        finally:
            self._attempts.cancel()

    def _advance(self, until: float | None, stop: threading.Event) -> SliceEnd:
        ends: list[tuple[str, TaskState]] = []
        last: float | None = None
        while True:
            now = time.monotonic()
            is_late = until is not None and now > until
            if stop.is_set() and last is None:
                self._known = self._runs.renewed(self._owner, self._id, self._known)
                last = now + LAST_SECONDS
            if not (
                started := self._step_with_retries(ends, may_start=not is_late and last is None, until=until, stop=stop)
            ):
                return _end(self._known[0])
            run, tasks = started
            for task in tasks:
                self._attempts.start(run, task)
            if last is not None and (now >= last or not run.running()):
                self._change(self._released)
                return _end(self._known[0])
            if is_late and not run.running():
                self._change(self._released)
                return "more"
            ends = self._attempts.wait(run, self._news_at, stop.is_set if last is None else lambda: True)
            self._check_for_changes()

    def _check_for_changes(self) -> None:
        """Check now and then whether another process has changed the run."""
        if (now := time.monotonic()) >= self._news_at:
            self._news_at = now + NEWS_SECONDS
            with suppress(Unavailable, Misconfigured):
                self._known = self._runs.renewed(self._owner, self._id, self._known)

    def _step_with_retries(
        self, ends: list[tuple[str, TaskState]], *, may_start: bool, until: float | None, stop: threading.Event
    ) -> tuple[Run, list[Task]] | None:
        """Write which tasks ended, and which start now. None: another process has the lease by now.

        While the store fails this is tried again: ends of tasks must not be lost.
        """
        failures = 0
        while True:
            try:
                run, started = self._step(ends, may_start=may_start)
            except (Unavailable, Misconfigured):
                pause = PAUSES[min(failures, len(PAUSES) - 1)]
                failures += 1
                if stop.is_set() or (until is not None and time.monotonic() + pause > until + LEASE_SECONDS):
                    raise
                stop.wait(pause)
            else:
                return (run, started) if self._is_mine(run) else None

    def _is_mine(self, run: Run) -> bool:
        return run.status == "running" and run.lease is not None and run.lease.holder == self._holder

    def _step(self, ends: list[tuple[str, TaskState]], *, may_start: bool) -> tuple[Run, list[Task]]:
        """Write in one go which tasks ended, and which start now."""
        started: list[Task] = []

        def next_state(run: Run) -> Run:
            started.clear()
            now = self._clock()
            before = run
            if self._is_mine(run):
                run = run.with_ends(ends).with_skipped()
                # A write that seemed to fail may have been done: what it wanted to start never did.
                unbegun = [id for id in run.running() if id not in self._attempts]
            elif not self._holds and self._is_free(run):
                run, unbegun = run.interrupted(now).with_skipped(), []
            else:
                return run
            if not (running := run.running()) and run.gated:
                run = self._without_impossible(run)
            started.extend(run.plan[id] for id in unbegun)
            ready = run.ready()
            for task in ready if may_start else []:
                if len(running) + len(started) - len(unbegun) >= AT_ONCE:
                    break
                if not run.needs_approval(task.id) and self._attempts.is_due(task.id):
                    started.append(task)
            run = run.started([one.id for one in started[len(unbegun) :]], now)
            waits = self._waits_to_try_again(run, ready) if may_start else bool(run.unfinished())
            if run.running() or waits:
                if run is before and before.lease and before.lease.until - now > LEASE_SECONDS - BEAT_SECONDS:
                    return run
                return run.model_copy(update={"lease": Lease(holder=self._holder, until=now + LEASE_SECONDS)})
            return self._ended_or_paused(run, ready, now)

        self._change(next_state)
        self._holds = self._is_mine(self._known[0])
        return self._known[0], started

    def _change(self, changed: Callable[[Run], Run]) -> None:
        self._known = self._runs.change(self._owner, self._id, changed, self._known)

    def _waits_to_try_again(self, run: Run, ready: Iterable[Task]) -> bool:
        return any(self._attempts.will_retry(one.id) and not run.needs_approval(one.id) for one in ready)

    def _ended_or_paused(self, run: Run, ready: Iterable[Task], now: float) -> Run:
        """The run with nothing left that could start by itself."""
        if run.is_finished():
            return run.model_copy(update={"status": run.end_status(), "ended": now, "lease": None, "checkpoint": None})
        gated = next((one for one in ready if run.needs_approval(one.id)), None)
        if gated is None:
            checkpoint = Checkpoint(id=f"cp_{random_id(12)}", kind="layer", only_human=run.only_people, since=now)
        else:
            arguments = self._preview(run, gated)
            checkpoint = Checkpoint(
                id=f"cp_{random_id(12)}",
                kind="approval",
                task=gated.id,
                arguments=arguments if isinstance(arguments, dict) else {},
                reason=run.gated[gated.id],
                only_human=gated.id in run.by_person,
                since=now,
            )
        return run.model_copy(update={"status": "paused", "checkpoint": checkpoint, "lease": None})

    def _released(self, run: Run) -> Run:
        return run.model_copy(update={"lease": None}) if self._is_mine(run) else run

    def _failed_run(self, run: Run) -> Run:
        return run.failed(self._clock()) if self._is_mine(run) else run

    def _without_impossible(self, run: Run) -> Run:
        """The run in which tasks fail that cannot work, before a person is asked about them."""
        asked = [one for one in run.ready() if run.needs_approval(one.id)]
        faults = {one.id: fault for one in asked if (fault := self._fault(run, one)) is not None}
        states = {
            id: run.tasks[id].model_copy(
                update={"status": "error", "code": fault.code, "error": str(fault)[:LONGEST_ERROR]}
            )
            for id, fault in faults.items()
        }
        return run.with_tasks(states).with_skipped()

    def _fault(self, run: Run, task: Task) -> LociError | None:
        """The reason why the task cannot run, now that its references are known; None if it can."""
        try:
            results = self._runs.results(self._owner, self._id, run, task)
            arguments = resolve(task.arguments, results, self._steps.wants_text(self._owner, task))
            self._steps.checker(self._owner)(task.model_copy(update={"arguments": arguments}))
        except (Refused, NotFound) as fault:
            return fault
        except LociError:  # its server cannot be asked now
            return None
        return None

    def _preview(self, run: Run, task: Task) -> Json:
        """The task's arguments, as far as what they stand for is known."""
        try:
            results = self._runs.results(self._owner, self._id, run, task)
            return preview(task.arguments, results, self._steps.wants_text(self._owner, task))
        except NotFound:  # what another task gave is lost: this one will fail, and say so
            return task.arguments
