"""The work of tasks: calls of tools, and code in the sandbox. Each attempt has a thread of its own in this process."""

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache, partial
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Final

from loci.core import tracing
from loci.core.cancellation import Cancellation
from loci.core.errors import LociError, Misconfigured, Refused, Unavailable
from loci.core.identity import Caller, Owner
from loci.core.json import Json, JsonObject
from loci.core.scopes import check_scopes, scope_of
from loci.gateway.gateway import CheckedCall
from loci.gateway.policy import ApprovalNeeded
from loci.gateway.shapes import Shape, type_of
from loci.sandbox.supervisor.daemon_threads import DAEMON_THREADS
from loci.workflows.plan import Plan, Task
from loci.workflows.references import WantsText, as_it_is, has_reference, references, resolve
from loci.workflows.run import Run, TaskState
from loci.workflows.runs import Runs, TaskResult

if TYPE_CHECKING:
    from loci.code.api import Code
    from loci.code.typescript import TypeScriptRequest
    from loci.gateway.api import Tools


class Steps:
    """Checks and runs tasks, through the same gateway and sandbox as every other caller."""

    def __init__(self, tools: "Callable[[], Tools]", code: "Callable[[], Code]") -> None:
        self._tools = tools
        self._code = code

    def checker(self, owner: Owner) -> Callable[[Task], CheckedCall]:
        """Checks the tasks of a plan. Raises `LociError` if one cannot run: no such tool, a denied one, or arguments
        that do not fit."""
        checked_call = cache(lambda: self._tools().gateway.checker(owner, has_reference))

        def checked(task: Task) -> CheckedCall:
            if task.kind == "code_execution":
                self._code().check_typescript(_request(task, {}, {}))
                return CheckedCall("", task.idempotent and not task.approve, None)
            tool = checked_call()(task.tool, task.arguments)
            # What is approved is done once: that a repetition changes nothing more is the plan's own word.
            may_repeat = task.idempotent and not (task.approve or tool.approval)
            return CheckedCall(tool.id, may_repeat or tool.is_safe, tool.approval)

        return checked

    def missing_parts(self, owner: Owner, tasks: Iterable[Task], plan: Plan) -> tuple[list[str], list[str]]:
        """The references of these tasks to parts that no result has: those that a schema excludes, then those that
        have not been seen so far."""
        excluded, unseen = list[str](), list[str]()
        asked = [(task.id, one) for task in tasks for one in dict.fromkeys(references(task.arguments)) if one.path]
        gateway, names = self._tools().gateway, {plan[one.task].tool for _, one in asked}
        tools = {name: tool for name in names if name and (tool := gateway.known_tool(owner, name))}
        shapes = gateway.result_shapes(owner, tools.values()) if tools else {}
        for task, one in asked:
            tool = tools.get(plan[one.task].tool)
            shape = shapes.get(tool.id) if tool else None
            if tool and shape and (missing := shape.missing(one.path)):
                meant = f", did you mean {missing.nearest!r}?" if missing.nearest else "."
                if shape.is_seen:
                    told = f"may stand for nothing: {tool.id} has given no {missing.step!r} yet{meant} It gave"
                else:
                    told = f"stands for nothing: {tool.id} gives no {missing.step!r}{meant} There is"
                faults = unseen if shape.is_seen else excluded
                faults.append(f"task {task!r}: {one.text} {told} {missing.kind}")
        return excluded, unseen

    def run(
        self,
        caller: Caller,
        task: Task,
        arguments: JsonObject,
        results: JsonObject,
        cancelled: Cancellation,
        *,
        approved: bool,
    ) -> TaskResult:
        """Run the task, and return its result. Raises `LociError` if it fails or is cancelled.

        `approved`: a person has approved it at its checkpoint. Else a call that needs an approval by now is refused.
        """
        if task.kind == "code_execution":
            check_scopes(caller, [scope_of("tools", writes=True)], "Code")
            answer = self._code().run_typescript(caller, _request(task, arguments, results), cancelled)
            return TaskResult(answer["result"])
        try:
            given = self._tools().result(
                caller,
                "workflow",
                task.tool,
                arguments,
                approved=approved,
                asking="here",
                seconds=task.seconds,
                cancelled=cancelled,
            )
        except ApprovalNeeded as needed:
            what = f"Since the workflow began, a person must approve this call of {task.tool}: {needed.reason}"
            raise Refused(what, "Run it in another workflow, which asks them", code="APPROVAL_NEEDED") from None
        return TaskResult(given.value, given.text, given.media)

    def wants_text(self, owner: Owner, task: Task) -> WantsText:
        """A function that says which of the task's arguments are texts, by the schema of its tool."""
        if task.kind == "code_execution":
            return as_it_is
        tool = cache(lambda: self._tools().gateway.known_tool(owner, task.tool))

        def wants_text(path: tuple[str, ...], value: Json) -> bool:
            schema = known.input_schema if (known := tool()) else {}
            types = Shape(schema, schema).types(path) or frozenset()
            fits = type_of(value) in types or (type_of(value) == "integer" and "number" in types)
            return "string" in types and not fits

        return wants_text


def _request(task: Task, arguments: JsonObject, results: JsonObject) -> "TypeScriptRequest":
    from loci.code.typescript import TypeScriptRequest

    return TypeScriptRequest(
        task.code or "",
        task.intent,
        {**arguments, "deps": results},
        task.timeout or task.limits.timeout,
        task.limits.memory_mb,
        tools=task.tools,
    )


LOOK_SECONDS: Final = 0.1
"""Seconds between two checks whether this process has aborted the run, or stops."""
TOGETHER_SECONDS: Final = 0.004
"""Seconds in which ends of tasks are written together, unless another task waits for one of them."""
MARGIN_SECONDS: Final = 1.0
"""Seconds beyond the time of a call after which an attempt is cancelled: a tool watches its own time."""
PAUSES: Final = (0.2, 0.5, 1.0, 2.0, 4.0)
"""Seconds before a task, or a write, is tried again."""


@dataclass(slots=True)
class _Attempt:
    """An attempt of a task that runs in this process."""

    number: int
    until: float
    """The time at which the attempt is cancelled."""
    cancelled: Cancellation = field(default_factory=Cancellation)


@dataclass(frozen=True, slots=True)
class _Outcome:
    """The outcome of an attempt: the end of its task, or the reason why it failed."""

    id: str
    number: int
    ms: float
    end: TaskState | None
    failure: LociError | None


class Attempts:
    """Starts attempts of tasks, and returns how they end."""

    def __init__(self, runs: Runs, steps: Steps, owner: Owner, id: str) -> None:
        self._runs = runs
        self._steps = steps
        self._owner = owner
        self._id = id
        self._given = SimpleQueue[_Outcome]()
        self._running = dict[str, _Attempt]()
        self._again = dict[str, float]()
        """The times at which failed tasks are tried again, by task."""

    def __contains__(self, task: str) -> bool:
        """True if a try of the task runs."""
        return task in self._running

    def is_due(self, task: str) -> bool:
        """True unless the task has failed and must wait before it is tried again."""
        return self._again.get(task, 0.0) <= time.monotonic()

    def will_retry(self, task: str) -> bool:
        """True if the task has failed and is tried again."""
        return task in self._again

    def cancel(self) -> None:
        """Cancel all running attempts."""
        for one in self._running.values():
            one.cancelled.cancel()

    def start(self, run: Run, task: Task) -> None:
        """Start the task."""
        self._again.pop(task.id, None)
        attempt = _Attempt(run.tasks[task.id].tries, time.monotonic() + task.seconds + MARGIN_SECONDS)
        self._running[task.id] = attempt
        DAEMON_THREADS.start(partial(self._traced, run, task, attempt))

    def wait(self, run: Run, until: float, is_over: Callable[[], bool]) -> list[tuple[str, TaskState]]:
        """Wait until there is something to do, at most until then, and return the ends of tasks that came."""
        given: list[_Outcome] = []
        awaited = {id for task in run.plan.tasks for id in task.after}
        while True:
            soonest = min([*(one.until for one in self._running.values()), *self._again.values(), until])
            try:
                given.append(self._given.get(timeout=max(0.0, min(LOOK_SECONDS, soonest - time.monotonic()))))
                together = time.monotonic() + TOGETHER_SECONDS
                while True:
                    left = together - time.monotonic() if self._is_last(awaited, given) else 0.0
                    given.append(self._given.get(timeout=left) if left > 0 else self._given.get_nowait())
            except Empty:
                pass
            now = time.monotonic()
            if given or now >= soonest or is_over():
                return [*self._ends(run, given), *self._overdue(run, now)]

    def _traced(self, run: Run, task: Task, attempt: _Attempt) -> None:
        told = {"loci.workflow": self._id, "loci.task": task.id, "loci.try": attempt.number}
        with tracing.continuing(run.trace), tracing.span(f"task {task.tool or task.kind}", told):
            self._run(run, task, attempt)

    def _run(self, run: Run, task: Task, attempt: _Attempt) -> None:
        """Run an attempt of a task, on a thread of its own."""
        began = time.perf_counter()
        end: TaskState | None = None
        failure: LociError | None = None
        ms = 0.0
        try:
            results = self._runs.results(self._owner, self._id, run, task)
            arguments = resolve(task.arguments, results, self._steps.wants_text(self._owner, task))
            caller = Caller.from_json(self._owner, run.caller)
            given = self._steps.run(
                caller,
                task,
                arguments if isinstance(arguments, dict) else {},
                dict(results.values),
                attempt.cancelled,
                approved=run.tasks[task.id].is_approved,
            )
            ms = (time.perf_counter() - began) * 1000
            done = run.tasks[task.id].model_copy(update={"status": "success", "ms": ms})
            end = self._store_result(task, done, given, attempt.cancelled)
        except LociError as error:
            failure = error
        finally:
            self._given.put(_Outcome(task.id, attempt.number, ms or (time.perf_counter() - began) * 1000, end, failure))

    def _store_result(self, task: Task, done: TaskState, given: TaskResult, cancelled: Cancellation) -> TaskState:
        """Store the result of the task. While the store fails this is tried again, as long as the task has time."""
        failures = 0
        while True:
            try:
                return self._runs.keep(self._owner, self._id, task.id, done, given)
            except (Unavailable, Misconfigured) as error:
                pause = PAUSES[min(failures, len(PAUSES) - 1)]
                failures += 1
                if cancelled.wait(pause):
                    raise LociError(
                        f"It has run, but what it gave could not be kept ({error.what})",
                        error.resolution,
                        code=error.code,
                    ) from None

    def _is_last(self, awaited: set[str], given: Sequence[_Outcome]) -> bool:
        """True if no task waits for these results, while other tasks still run."""
        return len(self._running) > len(given) and awaited.isdisjoint(one.id for one in given)

    def _ends(self, run: Run, given: Iterable[_Outcome]) -> Iterator[tuple[str, TaskState]]:
        for one in given:
            running = self._running.get(one.id)
            if running is None or running.number != one.number:
                continue  # it was given up before
            del self._running[one.id]
            yield self._failed(run, one) if one.end is None else (one.id, one.end)

    def _overdue(self, run: Run, now: float) -> Iterator[tuple[str, TaskState]]:
        for id, one in [*self._running.items()]:
            if one.until <= now:
                del self._running[id]
                one.cancelled.cancel()
                seconds = run.plan[id].seconds
                what = f"It took more than {seconds:g} s, and may still have done something"
                late = LociError(what, "Raise its timeout, or ask for less", code="TASK_TIMEOUT")
                yield self._failed(run, _Outcome(id, one.number, seconds * 1000, None, late))

    def _failed(self, run: Run, given: _Outcome) -> tuple[str, TaskState]:
        """The end of a failed attempt. The task is tried again if the plan says so and it is safe."""
        state, task = run.tasks[given.id], run.plan[given.id]
        failure = given.failure or LociError("Loci failed on this task", "Read its log", code="INTERNAL_ERROR")
        if given.id in run.safe and given.number <= task.retry:
            self._again[given.id] = time.monotonic() + PAUSES[min(given.number, len(PAUSES)) - 1]
            return given.id, state.again(f"{failure.code}: {failure}")
        told = str(failure)[:4000]
        if task.retry and given.id not in run.safe:
            told += " It was not tried again, as it may change something"
            told += "." if given.id in run.gated else "; idempotent: true says that it may be repeated."
        update = {"status": "error", "code": failure.code, "error": told, "ms": given.ms}
        return given.id, state.model_copy(update=update)
