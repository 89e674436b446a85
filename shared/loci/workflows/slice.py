"""A slice of a run: moves it on from its record until it ends, waits for a decision, or the time is over."""

import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from queue import Empty, SimpleQueue
from typing import Final, Literal

from loci.core.errors import LociError, NotFound
from loci.core.identity import Caller, Owner
from loci.core.ids import random_id
from loci.core.json import Json
from loci.sandbox.supervisor.daemon_threads import DAEMON_THREADS
from loci.workflows.plan import Task
from loci.workflows.ports import Steps
from loci.workflows.references import previewed, resolved
from loci.workflows.run import Checkpoint, Ended, Lease, Run
from loci.workflows.runs import Runs

AT_ONCE: Final = 32
"""Tasks of a run that run at the same time."""
LEASE_SECONDS: Final = 20.0
BEAT_SECONDS: Final = 5.0
"""Seconds between two signs of life. By them it also learns that another process aborted the run."""
LOOK_SECONDS: Final = 0.1
"""Seconds between two looks if this process aborted the run."""
PAUSES: Final = (0.2, 0.5, 1.0, 2.0, 4.0)
"""Seconds before a task is tried again."""

SliceEnd = Literal["ended", "paused", "more", "held"]
"""held: somebody else moves the run on."""


@dataclass(frozen=True, slots=True)
class _Given:
    """What a try of a task gave."""

    id: str
    tries: int
    ms: float
    value: Json = None
    failure: LociError | None = None


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
        """Move the run on. `seconds`: no task starts later; `stop`: it was aborted."""
        until = None if seconds is None else time.monotonic() + seconds
        try:
            run, version = self._runs.change(owner, id, lambda run: self._taken(run, holder))
        except NotFound:
            return "ended"
        if run.status != "running":
            return "paused" if run.status == "paused" else "ended"
        if run.lease is None or run.lease.holder != holder:
            return "held"
        slice = _Slice(self._runs, self._steps, self._clock, owner, id, holder, run, version)
        try:
            return slice.go_on(until, stop or threading.Event())
        except NotFound:
            return "ended"

    def _taken(self, run: Run, holder: str) -> Run:
        """The run with this holder, unless another one still moves it on."""
        now = self._clock()
        if run.status != "running":
            return run
        if run.lease is not None and run.lease.until > now and not self._is_gone(run.lease.holder):
            return run
        return run.interrupted(now).model_copy(update={"lease": Lease(holder=holder, until=now + LEASE_SECONDS)})


class _Slice:
    """One slice of one run."""

    def __init__(
        self,
        runs: Runs,
        steps: Steps,
        clock: Callable[[], float],
        owner: Owner,
        id: str,
        holder: str,
        run: Run,
        version: str,
    ) -> None:
        self._runs = runs
        self._steps = steps
        self._clock = clock
        self._owner = owner
        self._id = id
        self._holder = holder
        self._known = run, version
        self._values = dict[str, Json]()
        self._given = SimpleQueue[_Given | None]()
        self._late = dict[str, float]()
        """When the tasks that run here are given up."""
        self._again = dict[str, float]()
        """When tasks are tried again."""
        self._stopped = threading.Event()

    def go_on(self, until: float | None, stop: threading.Event) -> SliceEnd:
        ends: list[Ended] = []
        try:
            while True:
                is_late = until is not None and time.monotonic() > until
                run, started = self._step(ends, may_start=not is_late)
                if run.status != "running" or run.lease is None or run.lease.holder != self._holder:
                    return "paused" if run.status == "paused" else "held" if run.status == "running" else "ended"
                for task in started:
                    self._start(run, task)
                if is_late and not run.running():
                    self._known = self._runs.change(self._owner, self._id, self._released, self._known)
                    return "more"
                ends = self._wait(run, stop)
                if stop.is_set() and self._known[0].status == "running":  # it was not aborted: the server stops
                    self._known = self._runs.change(self._owner, self._id, self._released, self._known)
                    return "held"
        finally:
            self._stopped.set()

    def _step(self, ends: list[Ended], *, may_start: bool) -> tuple[Run, list[Task]]:
        """Write down what ended, and what starts now, in one go."""
        started: list[Task] = []

        def next_state(run: Run) -> Run:
            started.clear()
            if run.status != "running" or run.lease is None or run.lease.holder != self._holder:
                return run
            before, run = run, run.with_ends(ends).without_stranded()
            now = self._clock()
            running = run.running()
            for task in run.ready() if may_start else []:
                if len(running) + len(started) >= AT_ONCE:
                    break
                if not run.needs_approval(task.id) and self._again.get(task.id, 0) <= time.monotonic():
                    started.append(task)
            states = {
                one.id: run.tasks[one.id].model_copy(
                    update={"status": "running", "began": now, "tries": run.tasks[one.id].tries + 1}
                )
                for one in started
            }
            run = run.with_tasks(states)
            if run.running() or (may_start and self._waits_to_try_again(run)) or (not may_start and run.ready()):
                if run is before and before.lease and before.lease.until - now > LEASE_SECONDS - BEAT_SECONDS:
                    return run
                return run.model_copy(update={"lease": Lease(holder=self._holder, until=now + LEASE_SECONDS)})
            return self._ended_or_paused(run, now)

        self._known = self._runs.change(self._owner, self._id, next_state, self._known)
        return self._known[0], started

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
            arguments = previewed(gated.arguments, self._results(gated))
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
        mine = run.lease is not None and run.lease.holder == self._holder
        return run.model_copy(update={"lease": None}) if mine else run

    def _start(self, run: Run, task: Task) -> None:
        tries = run.tasks[task.id].tries
        self._again.pop(task.id, None)
        self._late[task.id] = time.monotonic() + task.seconds + 1.0
        DAEMON_THREADS.start(partial(self._do, run, task, tries))

    def _do(self, run: Run, task: Task, tries: int) -> None:
        """One try of a task, on a thread of its own."""
        began = time.perf_counter()
        value: Json = None
        failure: LociError | None = LociError("Loci failed on this task", "Read its log", code="INTERNAL_ERROR")
        try:
            results = self._results(task)
            arguments = resolved(task.arguments, results)
            caller = Caller.from_json(self._owner, run.caller)
            value = self._steps.run(
                caller, task, arguments if isinstance(arguments, dict) else {}, results, self._stopped.is_set
            )
            failure = None
        except LociError as error:
            failure = error
        finally:
            ms = (time.perf_counter() - began) * 1000
            self._given.put(_Given(task.id, tries, ms, value, failure))

    def _results(self, task: Task) -> dict[str, Json]:
        """What the tasks gave that this one waits for. One that failed and may fail gave null."""
        run = self._known[0]
        for one in task.after:
            if one not in self._values:
                self._values[one] = self._runs.value(self._owner, self._id, one, run.tasks[one])
        return {one: self._values[one] for one in task.after}

    def _wait(self, run: Run, stop: threading.Event) -> list[Ended]:
        """Wait until a task ends, or something else is to be done. The ends that came, written down already."""
        now = time.monotonic()
        soonest = min([now + LOOK_SECONDS, *self._late.values(), *self._again.values()])
        given: list[_Given] = []
        try:
            found = self._given.get(timeout=max(0.0, soonest - now))
            while True:
                given += [found] if found else []
                found = self._given.get_nowait()
        except Empty:
            pass
        if stop.is_set():
            self._known = self._runs.versioned(self._owner, self._id)
        return [*self._ends(run, given), *self._overdue(run)]

    def _ends(self, run: Run, given: Iterable[_Given]) -> Iterable[Ended]:
        for one in given:
            state = run.tasks[one.id]
            if self._late.pop(one.id, None) is None or state.status != "running" or state.tries != one.tries:
                continue  # it was given up before
            if one.failure is None:
                self._values[one.id] = one.value
                done = state.model_copy(update={"status": "success", "ms": one.ms})
                yield Ended(id=one.id, state=self._runs.keep(self._owner, self._id, one.id, done, one.value))
            else:
                yield self._failed(run, one.id, one.ms, one.failure)

    def _overdue(self, run: Run) -> Iterable[Ended]:
        now = time.monotonic()
        for id in [id for id, at in self._late.items() if at <= now]:
            del self._late[id]
            seconds = run.plan[id].seconds
            what = f"It took more than {seconds:g} s, and may still have done something"
            late = LociError(what, "Raise its timeout, or ask for less", code="TASK_TIMEOUT")
            yield self._failed(run, id, seconds * 1000, late)

    def _failed(self, run: Run, id: str, ms: float, failure: LociError) -> Ended:
        """The end of a try that failed. It is tried again if the plan wants that and it is safe."""
        state, task = run.tasks[id], run.plan[id]
        if id in run.safe and state.tries <= task.retry:
            self._again[id] = time.monotonic() + PAUSES[min(state.tries, len(PAUSES)) - 1]
            return Ended(id=id, state=state.model_copy(update={"status": "waiting"}))
        self._values[id] = None
        update = {"status": "error", "code": failure.code, "error": str(failure)[:4000], "ms": ms}
        return Ended(id=id, state=state.model_copy(update=update))
