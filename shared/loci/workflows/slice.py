"""A slice of a run: moves it on from its record until it ends, waits for a decision, or the time is over."""

import threading
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from queue import Empty, SimpleQueue
from typing import Final, Literal

from loci.core.errors import LociError, Misconfigured, NotFound, Unavailable
from loci.core.giving_up import GivingUp
from loci.core.identity import Caller, Owner
from loci.core.ids import random_id
from loci.core.json import Json
from loci.sandbox.supervisor.daemon_threads import DAEMON_THREADS
from loci.workflows.plan import Task
from loci.workflows.ports import Steps
from loci.workflows.references import previewed, resolved
from loci.workflows.run import Checkpoint, Ended, Lease, Run, TaskState
from loci.workflows.runs import Runs

AT_ONCE: Final = 32
"""Tasks of a run that run at the same time."""
LEASE_SECONDS: Final = 20.0
BEAT_SECONDS: Final = 5.0
"""Seconds between two signs of life."""
LOOK_SECONDS: Final = 0.1
"""Seconds between two looks if this process aborted the run, or stops."""
NEWS_SECONDS: Final = 1.0
"""Seconds between two looks if another process aborted the run."""
LAST_SECONDS: Final = 1.0
"""Seconds in which tasks may end that run when the process stops."""
TOGETHER_SECONDS: Final = 0.004
"""Ends that come so soon after each other are written together, unless a task waits for one of them."""
MARGIN_SECONDS: Final = 1.0
"""A tool watches the time of its call itself. So much later nobody waits for it any more."""
PAUSES: Final = (0.2, 0.5, 1.0, 2.0, 4.0)
"""Seconds before a task, or a write, is tried again."""

SliceEnd = Literal["ended", "paused", "more", "held"]
"""held: somebody else moves the run on."""


@dataclass(slots=True)
class _Try:
    """One try of a task that runs here."""

    number: int
    until: float
    """When it is given up."""
    given_up: GivingUp = field(default_factory=GivingUp)


@dataclass(frozen=True, slots=True)
class _Given:
    """What a try of a task gave: its end, or why it failed."""

    id: str
    number: int
    ms: float
    end: TaskState | None
    failure: LociError


class Slices:
    """Moves runs on."""

    def __init__(self, runs: Runs, steps: Steps, clock: Callable[[], float], is_gone: Callable[[str], bool]) -> None:
        """`is_gone`: true for a holder of a lease that certainly moves nothing on any more."""
        self._runs = runs
        self._steps = steps
        self._clock = clock
        self._is_gone = is_gone

    def advance(
        self, owner: Owner, id: str, holder: str, *, seconds: float | None = None, stop: threading.Event | None = None
    ) -> SliceEnd:
        """Move the run on. `seconds`: no task starts later; `stop`: it was aborted, or this process stops."""
        until = None if seconds is None else time.monotonic() + seconds
        try:
            known = self._runs.versioned(owner, id)
            if self.is_free(known[0]):
                slice = _Slice(self._runs, self._steps, self._clock, self.is_free, owner, id, holder, known)
                return slice.go_on(until, stop or threading.Event())
            return _end(known[0])
        except NotFound:
            return "ended"

    def is_free(self, run: Run) -> bool:
        """True if the run should go on, and nobody moves it on."""
        return self.is_left(run.status, run.lease)

    def is_left(self, status: str, lease: Lease | None) -> bool:
        """The same, of a run with this status and this lease."""
        if status != "running":
            return False
        return lease is None or lease.until <= self._clock() or self._is_gone(lease.holder)


def _end(run: Run) -> SliceEnd:
    return "held" if run.status == "running" else "paused" if run.status == "paused" else "ended"


class _Slice:
    """One slice of one run."""

    def __init__(
        self,
        runs: Runs,
        steps: Steps,
        clock: Callable[[], float],
        is_free: Callable[[Run], bool],
        owner: Owner,
        id: str,
        holder: str,
        known: tuple[Run, str],
    ) -> None:
        self._runs = runs
        self._steps = steps
        self._clock = clock
        self._is_free = is_free
        self._owner = owner
        self._id = id
        self._holder = holder
        self._known = known
        self._news_at = time.monotonic() + NEWS_SECONDS
        self._holds = False
        """True: the run was this slice's to move on when it was written last."""
        self._given = SimpleQueue[_Given]()
        self._tries = dict[str, _Try]()
        self._again = dict[str, float]()
        """When tasks are tried again."""

    def go_on(self, until: float | None, stop: threading.Event) -> SliceEnd:
        try:
            return self._go_on(until, stop)
        except (NotFound, Unavailable, Misconfigured):
            raise
        except Exception:
            with suppress(LociError):
                self._change(self._failed_run)
            raise
        finally:
            for one in self._tries.values():
                one.given_up.give_up()

    def _go_on(self, until: float | None, stop: threading.Event) -> SliceEnd:
        ends: list[Ended] = []
        last: float | None = None
        while True:
            now = time.monotonic()
            is_late = until is not None and now > until
            if stop.is_set() and last is None:
                self._known = self._runs.renewed(self._owner, self._id, self._known)
                last = now + LAST_SECONDS
            if not (started := self._stepped(ends, may_start=not is_late and last is None, until=until, stop=stop)):
                return _end(self._known[0])
            run, tasks = started
            for task in tasks:
                self._start(run, task)
            if last is not None and (now >= last or not run.running()):
                self._change(self._released)
                return _end(self._known[0])
            if is_late and not run.running():
                self._change(self._released)
                return "more"
            ends = self._wait(stop if last is None else None)

    def _stepped(
        self, ends: list[Ended], *, may_start: bool, until: float | None, stop: threading.Event
    ) -> tuple[Run, list[Task]] | None:
        """Write down what ended, and what starts now. None: the run is not this slice's any more.

        While the store fails it is tried again: what has ended must not be lost.
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

    def _step(self, ends: list[Ended], *, may_start: bool) -> tuple[Run, list[Task]]:
        """Write down what ended, and what starts now, in one go."""
        started: list[Task] = []

        def next_state(run: Run) -> Run:
            started.clear()
            now = self._clock()
            before = run
            if self._is_mine(run):
                run = run.with_ends(ends).without_stranded()
                # A write that seemed to fail may have been done: what it wanted to start never did.
                unbegun = [id for id in run.running() if id not in self._tries]
            elif not self._holds and self._is_free(run):
                run, unbegun = run.interrupted(now).without_stranded(), []
            else:
                return run
            running = run.running()
            started.extend(run.plan[id] for id in unbegun)
            for task in run.ready() if may_start else []:
                if len(running) + len(started) - len(unbegun) >= AT_ONCE:
                    break
                if not run.needs_approval(task.id) and self._again.get(task.id, 0) <= time.monotonic():
                    started.append(task)
            run = run.started([one.id for one in started[len(unbegun) :]], now)
            if run.running() or (may_start and self._waits_to_try_again(run)) or (not may_start and run.unsettled()):
                if run is before and before.lease and before.lease.until - now > LEASE_SECONDS - BEAT_SECONDS:
                    return run
                return run.model_copy(update={"lease": Lease(holder=self._holder, until=now + LEASE_SECONDS)})
            return self._ended_or_paused(run, now)

        self._change(next_state)
        self._holds = self._is_mine(self._known[0])
        return self._known[0], started

    def _change(self, changed: Callable[[Run], Run]) -> None:
        self._known = self._runs.change(self._owner, self._id, changed, self._known)

    def _waits_to_try_again(self, run: Run) -> bool:
        return any(one.id in self._again and not run.needs_approval(one.id) for one in run.ready())

    def _ended_or_paused(self, run: Run, now: float) -> Run:
        """The run with nothing left that could start by itself."""
        if run.is_settled():
            return run.model_copy(update={"status": run.end_status(), "ended": now, "lease": None, "checkpoint": None})
        gated = next((one for one in run.ready() if run.needs_approval(one.id)), None)
        if gated is None:
            checkpoint = Checkpoint(id=f"cp_{random_id(12)}", kind="layer")
        else:
            arguments = self._preview(run, gated)
            checkpoint = Checkpoint(
                id=f"cp_{random_id(12)}",
                kind="approval",
                task=gated.id,
                arguments=arguments if isinstance(arguments, dict) else {},
                reason=run.gated[gated.id],
                only_human=gated.id in run.by_person,
            )
        return run.model_copy(update={"status": "paused", "checkpoint": checkpoint, "lease": None})

    def _released(self, run: Run) -> Run:
        return run.model_copy(update={"lease": None}) if self._is_mine(run) else run

    def _failed_run(self, run: Run) -> Run:
        return run.failed(self._clock()) if self._is_mine(run) else run

    def _start(self, run: Run, task: Task) -> None:
        self._again.pop(task.id, None)
        one = _Try(run.tasks[task.id].tries, time.monotonic() + task.seconds + MARGIN_SECONDS)
        self._tries[task.id] = one
        DAEMON_THREADS.start(partial(self._do, run, task, one))

    def _do(self, run: Run, task: Task, one: _Try) -> None:
        """One try of a task, on a thread of its own."""
        began = time.perf_counter()
        end: TaskState | None = None
        failure = LociError("Loci failed on this task", "Read its log", code="INTERNAL_ERROR")
        ms = 0.0
        try:
            results = self._results(run, task)
            arguments = resolved(task.arguments, results)
            caller = Caller.from_json(self._owner, run.caller)
            value = self._steps.run(
                caller, task, arguments if isinstance(arguments, dict) else {}, results, one.given_up
            )
            ms = (time.perf_counter() - began) * 1000
            done = run.tasks[task.id].model_copy(update={"status": "success", "ms": ms})
            end = self._kept(task, done, value, one.given_up)
        except LociError as error:
            failure = error
        finally:
            self._given.put(_Given(task.id, one.number, ms or (time.perf_counter() - began) * 1000, end, failure))

    def _kept(self, task: Task, done: TaskState, value: Json, given_up: GivingUp) -> TaskState:
        """Keep what the task gave. While the store fails it is tried again, as long as the task has time."""
        failures = 0
        while True:
            try:
                return self._runs.keep(self._owner, self._id, task.id, done, value)
            except (Unavailable, Misconfigured) as error:
                pause = PAUSES[min(failures, len(PAUSES) - 1)]
                failures += 1
                if given_up.wait(pause):
                    raise LociError(
                        f"It has run, but what it gave could not be kept ({error.what})",
                        error.resolution,
                        code=error.code,
                    ) from None

    def _results(self, run: Run, task: Task) -> dict[str, Json]:
        """What the tasks gave that this one waits for. One that failed and may fail gave null."""
        return {one: self._runs.value(self._owner, self._id, one, run.tasks[one]) for one in task.after}

    def _preview(self, run: Run, task: Task) -> Json:
        """The task's arguments, as far as what they stand for is known."""
        try:
            return previewed(task.arguments, self._results(run, task))
        except NotFound:  # what another task gave is lost: this one will fail, and say so
            return task.arguments

    def _wait(self, stop: threading.Event | None) -> list[Ended]:
        """Wait until there is something to do, and return the ends of tasks that came."""
        given: list[_Given] = []
        while True:
            now = time.monotonic()
            soonest = min([*(one.until for one in self._tries.values()), *self._again.values(), self._news_at])
            try:
                given.append(self._given.get(timeout=max(0.0, min(LOOK_SECONDS, soonest - now))))
                together = time.monotonic() + TOGETHER_SECONDS
                while True:
                    left = together - time.monotonic() if self._is_last(given) else 0.0
                    given.append(self._given.get(timeout=left) if left > 0 else self._given.get_nowait())
            except Empty:
                pass
            now = time.monotonic()
            if now >= self._news_at:
                self._news_at = now + NEWS_SECONDS
                with suppress(Unavailable, Misconfigured):
                    self._known = self._runs.renewed(self._owner, self._id, self._known)
            if given or now >= soonest or stop is None or stop.is_set():
                return [*self._ends(given), *self._overdue(now)]

    def _is_last(self, given: Sequence[_Given]) -> bool:
        """True if no task waits for what these gave, while others still run."""
        tasks = self._known[0].plan.tasks
        return len(self._tries) > len(given) and not any(one.id in task.after for one in given for task in tasks)

    def _ends(self, given: Iterable[_Given]) -> Iterable[Ended]:
        for one in given:
            running = self._tries.get(one.id)
            if running is None or running.number != one.number:
                continue  # it was given up before
            del self._tries[one.id]
            yield self._failed(one) if one.end is None else Ended(id=one.id, state=one.end)

    def _overdue(self, now: float) -> Iterable[Ended]:
        for id, one in [*self._tries.items()]:
            if one.until <= now:
                del self._tries[id]
                one.given_up.give_up()
                seconds = self._known[0].plan[id].seconds
                what = f"It took more than {seconds:g} s, and may still have done something"
                late = LociError(what, "Raise its timeout, or ask for less", code="TASK_TIMEOUT")
                yield self._failed(_Given(id, one.number, seconds * 1000, None, late))

    def _failed(self, given: _Given) -> Ended:
        """The end of a try that failed. It is tried again if the plan wants that and it is safe."""
        run = self._known[0]
        state, task = run.tasks[given.id], run.plan[given.id]
        if given.id in run.safe and given.number <= task.retry:
            self._again[given.id] = time.monotonic() + PAUSES[min(given.number, len(PAUSES)) - 1]
            return Ended(id=given.id, state=state.model_copy(update={"status": "waiting"}))
        failure = given.failure
        update = {"status": "error", "code": failure.code, "error": str(failure)[:4000], "ms": given.ms}
        return Ended(id=given.id, state=state.model_copy(update=update))
