"""Workflows: the one door. MCP tools, commands and pages call these methods and nothing behind them."""

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Final

from loci.core import tracing
from loci.core.deadline import time_left
from loci.core.errors import LociError, NotFound, Refused
from loci.core.identity import LOCAL_CALLER, Caller, Owner, asked_by
from loci.core.ids import random_id
from loci.core.json import Json, JsonObject
from loci.core.scopes import INSUFFICIENT
from loci.gateway.gateway import CheckedCall
from loci.gateway.waiting_calls import MARK, LinkedCheckpoint
from loci.workflows.parts import WorkflowParts
from loci.workflows.plan import Plan, Task, invalid_plan
from loci.workflows.planning import check_replan
from loci.workflows.run import (
    BY_LOCI,
    BY_PLAN,
    ENDED,
    Answerer,
    Checkpoint,
    Run,
    TaskState,
    aborted,
    answered,
    can_start_again,
    continued,
    gates,
    only_a_person,
    open_checkpoint,
    retried,
    stopped,
)
from loci.workflows.run_views import RunViews
from loci.workflows.runs import ALIVE

ANSWERING: Final = 2.0
"""Seconds that remain of a request when its call stops waiting."""
LOOK_SECONDS: Final = 0.5
"""Seconds between two reports of progress."""
LONGEST: Final = ALIVE
BEGINNING_SECONDS: Final = 30.0
"""Seconds after which a process should have begun to advance a run."""
MOST_FAULTS: Final = 5
MOST_WARNINGS, LONGEST_WARNING = 3, 400
LONGEST_TITLE: Final = 200

OnProgress = Callable[[int, int, str], None]
"""Called with the progress of a run: tasks that have ended, tasks in all, and a text."""


def no_progress(done: int, of: int, text: str) -> None:
    """Ignore the progress of a run."""


class Workflows:
    """Runs plans of tasks. A run survives the call that started it, and the process."""

    def __init__(self, parts: WorkflowParts) -> None:
        self.parts = parts
        self.views = RunViews(parts, self._resume_if_left)

    def wait_for_ends(self) -> None:
        """Have calls wait for the ends of their runs, however long: this process ends with the call."""
        self.parts.patience, self.parts.ends_with_call = LONGEST, True

    def start(
        self,
        caller: Caller,
        workflow: JsonObject,
        *,
        by_layer: bool = False,
        title: str = "",
        on_progress: OnProgress = no_progress,
        why: str = BY_PLAN,
    ) -> JsonObject:
        """Run a plan. No task runs unless all can. `why`: the reason for approvals that the plan itself asks for."""
        plan, owner = Plan.parse(workflow), caller.owner
        warnings, (id, run) = self._begin(caller, plan, by_layer=by_layer, title=title, why=why)
        return {**warnings, **self._wait_for_end(owner, id, run, on_progress)}

    def start_again(self, caller: Caller, id: str) -> str:
        """Start another run of the plan of a run that has ended, and return its id. It needs its approvals anew.

        It may do no more than the run before. Raises `Refused` if that came from another Loci: nobody here began it.
        """
        before = self.parts.runs.get(caller.owner, id)
        if not can_start_again(before):
            what = f"The workflow {id} came from another Loci" if before.status in ENDED else "It has not ended"
            raise Refused(what, "Begin another workflow, with pml_execute_dag", code="NOT_AGAIN")
        self._check_covers(caller, id, before)
        began = Caller.from_json(caller.owner, before.caller)
        why = BY_LOCI if BY_LOCI in before.gated.values() else BY_PLAN
        by = began if began.proof == "grant" else caller
        _, (new, _) = self._begin(by, before.plan, by_layer=before.by_layer, title=before.title, why=why, repeats=id)
        return new

    def run_intent(
        self,
        caller: Caller,
        intent: str,
        context: JsonObject,
        *,
        by_layer: bool = False,
        title: str = "",
        on_progress: OnProgress = no_progress,
    ) -> JsonObject:
        """Run a plan that Loci makes for the intent; only return the plan if it is incomplete or unsure."""
        start = partial(self.start, caller, by_layer=by_layer, title=title, on_progress=on_progress, why=BY_LOCI)
        return self.parts.intents.run(caller, intent, context, start)

    def replan(
        self, caller: Caller, id: str, requirement: str, context: JsonObject, tasks: list[Json] | None = None
    ) -> JsonObject:
        """Add tasks to a run that has not ended: these, or else those that Loci plans for the requirement.

        They may refer to the tasks that the run has. Tasks that have ended stay as they are.
        """
        owner, run = caller.owner, self.parts.runs.get(caller.owner, id)
        self._check_covers(caller, id, run)
        if tasks is None:
            return self.parts.intents.replan(owner, id, requirement, context)
        check_replan(run)
        if context:
            resolution = "Give its values in the arguments of the tasks"
            raise Refused("available_context is for a requirement in words", resolution, code="INVALID_PARAMS")
        plan = Plan.parse({"tasks": tasks}, run.plan.tasks)
        new = plan.tasks[len(run.plan.tasks) :]
        checked = self._checked(owner, new)
        new = Plan(tasks=new).with_tools({id: one.id for id, one in checked.items()}).tasks
        warnings = self._warnings(owner, new, plan)
        return {**warnings, **self.parts.intents.add(owner, id, new, checked, requirement)}

    def proceed(
        self,
        caller: Caller,
        id: str,
        reason: str | None = None,
        on_progress: OnProgress = no_progress,
        retry: Sequence[str] | None = None,
    ) -> JsonObject:
        """Continue a run that waits after a layer. If the run does not wait, wait for its end.

        `retry`: tasks of a run that has ended, which failed and run again.
        """
        if retry is not None:
            return self._retry(caller, id, retry, reason, on_progress)
        owner, by = caller.owner, Answerer(asked_by(caller.as_json()), "agent", is_person=False)
        seen: list[Checkpoint | None] = []

        def continue_run(run: Run) -> Run:
            seen.append(run.checkpoint)
            if run.checkpoint != seen[0]:  # another answer was faster: this one was not meant for what came after it
                return run
            if run.checkpoint is not None and run.checkpoint.only_human:
                raise self._only_a_person(owner, id, run)
            return continued(run, self.parts.clock(), reason, by)

        run, _ = self.parts.runs.change(owner, id, continue_run)
        self.parts.engine.start(owner, id)
        return self._wait_for_end(owner, id, run, on_progress)

    def decide(
        self,
        owner: Owner,
        id: str,
        checkpoint_id: str,
        *,
        approved: bool,
        by: Answerer,
        feedback: str | None = None,
        wait: bool = True,
        on_progress: OnProgress = no_progress,
        given: Mapping[str, Sequence[str]] | None = None,
    ) -> JsonObject:
        """Answer the question of a run, or of a call that waits. The second answer is refused. `wait`: until
        the run ends or waits again. `given`: what the person wrote into the form of a server's question.

        Anybody may reject; what only a person may approve needs a person's proof.
        """
        if id.startswith(MARK):
            return self._decide_call(owner, id, checkpoint_id, approved=approved, by=by, feedback=feedback, given=given)

        def decided(run: Run) -> Run:
            checkpoint = open_checkpoint(run, checkpoint_id)
            if checkpoint.only_human and approved and not by.is_person:
                raise self._only_a_person(owner, id, run)
            now = self.parts.clock()
            if approved and now - checkpoint.since > self.parts.runs.seconds_kept(run):  # a store may keep it longer
                raise Refused("This question has expired", "Run the workflow again", code="CHECKPOINT_CLOSED")
            return answered(run, checkpoint, now, approved=approved, feedback=feedback, by=by)

        run, _ = self.parts.runs.change(owner, id, decided)
        if run.status in ENDED:
            self.parts.active.end(owner, run)
        else:
            self.parts.engine.start(owner, id)
        return self._wait_for_end(owner, id, run, on_progress) if wait else self.parts.answers.render(owner, id, run)

    def abort(self, owner: Owner, id: str, reason: str) -> JsonObject:
        """Stop a run: no task starts any more, and running tasks are cancelled."""
        run, _ = self.parts.runs.change(owner, id, lambda run: stopped(run, self.parts.clock(), reason))
        self.parts.engine.cancel(owner, id)
        self.parts.active.end(owner, run)
        return self.parts.answers.render(owner, id, run)

    def abort_all(self, owner: Owner, reason: str) -> int:
        """Stop all runs that have not ended, and return their number."""
        left = [id for id, run in self.parts.runs.all(owner).items() if run.status not in ENDED]
        for id in left:
            with suppress(NotFound, Refused):  # it has ended meanwhile
                self.abort(owner, id, reason)
        return len(left)

    def status(self, owner: Owner, id: str) -> JsonObject:
        """The state of a run. An interrupted run is resumed, if this process goes on after the call."""
        run = self.parts.runs.get(owner, id)
        answer = self.parts.answers.render(owner, id, run)
        if not self._resume_if_left(owner, id, run):
            answer["next_action"] = "Its server has ended. It goes on when one runs (loci serve), or with pml_continue"
        return answer

    def linked_checkpoint(self, owner: Owner, token: str) -> tuple[LinkedCheckpoint, JsonObject]:
        """The checkpoint behind a link, and the view of its run or call. Raises `NotFound`."""
        linked = self.parts.links.checkpoint(owner, token)
        if linked.workflow_id.startswith(MARK):
            question = self.parts.calls().question(owner, linked.workflow_id)
            return linked, {"checkpoint": question, "status": "answered"}
        return linked, self.views.run(owner, linked.workflow_id)

    def ended(self, owner: Owner) -> dict[str, Run]:
        """The kept runs that have ended, by their ids, without the fields that only a running run needs."""
        return {id: _archived(run) for id, run in self.parts.runs.all(owner).items() if run.status in ENDED}

    def ended_run(self, owner: Owner, id: str) -> Run:
        """A run that has ended. Raises `NotFound` if it has not."""
        run = self.parts.runs.get(owner, id)
        if run.status not in ENDED:
            raise NotFound(f"The workflow {id[:80]!r} has not ended", "Export again", code="WORKFLOW_NOT_FOUND")
        return _archived(run)

    def exists(self, owner: Owner, id: str) -> bool:
        """True if a run has this id."""
        return bool(self.parts.runs.states(owner, [id]))

    def values(self, owner: Owner, id: str, run: Run) -> JsonObject:
        """The results of a run's tasks, by their ids. Raises `NotFound` if one of them is lost."""
        done = ((task, state) for task, state in run.tasks.items() if state.status == "success")
        return {task: self.parts.runs.value(owner, id, task, state) for task, state in done}

    def restore(self, owner: Owner, id: str, run: Run, values: JsonObject) -> None:
        """Store a run that ended on another Loci. It is kept as long as a run that has just ended."""
        self.parts.runs.restore(owner, id, run, values)

    def resume(self, owner: Owner) -> int:
        """Resume runs whose process died. Returns the number of runs that are started again.

        Only the slots of active runs are read, and the slots of runs that have ended are given back.
        """
        states = self.parts.active.states(owner)
        left = [id for id, (status, lease) in states.items() if self.parts.slices.is_left(status, lease)]
        for id in left:
            self.parts.engine.start(owner, id)
        return len(left)

    def close(self) -> None:
        """Stop all runs here: the server stops. Another process may resume them."""
        self.parts.engine.close()

    def _begin(
        self, caller: Caller, plan: Plan, *, by_layer: bool, title: str, why: str, repeats: str = ""
    ) -> tuple[JsonObject, tuple[str, Run]]:
        """Begin a run of the plan. Returns the warnings about it, and the run with its id."""
        owner, now = caller.owner, self.parts.clock()
        checked = self._checked(owner, plan.tasks)
        warnings = self._warnings(owner, plan.tasks, plan)
        plan = plan.with_tools({id: one.id for id, one in checked.items()})
        id = f"wf_{random_id(20)}"
        gated, by_person = gates(plan.tasks, checked, self.parts.who_approves, why)
        slot = self.parts.active.begin(owner, id)
        run = Run(
            plan=plan,
            tasks={one.id: TaskState() for one in plan.tasks},
            safe=tuple(one for one, tool in checked.items() if tool.is_safe),
            gated=gated,
            only_people=self.parts.who_approves == "person",
            by_person=by_person,
            by_layer=by_layer,
            caller=caller.as_json(),
            repeats=repeats,
            title=title.strip()[:LONGEST_TITLE],
            trace=tracing.carried(),
            slot=slot,
            began=now,
        )
        self.parts.runs.add(owner, id, run)
        try:
            self.parts.engine.start(owner, id)
        except LociError:
            self.parts.runs.change(owner, id, lambda run: aborted(run, now))
            self.parts.active.end(owner, run)
            raise
        return warnings, (id, run)

    def _retry(
        self, caller: Caller, id: str, tasks: Sequence[str], reason: str | None, on_progress: OnProgress
    ) -> JsonObject:
        """Run tasks of an ended run again that failed, and what was skipped because of them. What is done is kept.

        They need their approvals again. Raises `Refused` if one of them may not run, or if somebody was faster.
        """
        owner, run = caller.owner, self.parts.runs.get(caller.owner, id)
        self._check_covers(caller, id, run)
        waiting = retried(run, tasks).unfinished()
        again = [one for one in run.plan.tasks if one.id in waiting]
        checked = self._checked(owner, again)
        gated, by_person = gates(again, checked, self.parts.who_approves)
        by = Answerer(asked_by(caller.as_json()), "agent", is_person=False)
        slot = self.parts.active.begin(owner, id, is_retry=True)

        def again_running(run: Run) -> Run:
            update = {
                "safe": tuple(dict.fromkeys((*(one for one, tool in checked.items() if tool.is_safe), *run.safe))),
                "gated": {**gated, **run.gated},
                "by_person": tuple(dict.fromkeys((*by_person, *run.by_person))),
                "caller": run.caller or caller.as_json(),
                "slot": slot,
            }
            decided = run.decided(self.parts.clock(), f"retry: {', '.join(tasks)}", reason, by, answers=False)
            return retried(decided, tasks).model_copy(update=update)

        try:
            run, _ = self.parts.runs.change(owner, id, again_running)
        except LociError:
            self.parts.active.end(owner, run.model_copy(update={"slot": slot}))
            raise
        self.parts.engine.start(owner, id)
        return self._wait_for_end(owner, id, run, on_progress)

    @staticmethod
    def _check_covers(caller: Caller, id: str, run: Run) -> None:
        """Raise `Refused` if the run may do more than the caller: its tasks run in the name of who began it."""
        if not caller.covers(Caller.from_json(caller.owner, run.caller) if run.caller else LOCAL_CALLER):
            what = f"The workflow {id} may do more than this connection, so it cannot add to it"
            raise Refused(what, "Begin another workflow, with pml_execute_dag", code=INSUFFICIENT)

    def _checked(self, owner: Owner, tasks: Sequence[Task]) -> dict[str, CheckedCall]:
        """Check these tasks. Raises `LociError` if one of them cannot run."""
        checked, faults = dict[str, CheckedCall](), list[tuple[Task, LociError]]()
        check = self.parts.steps.checker(owner)
        for one in tasks:
            try:
                checked[one.id] = check(one)
            except LociError as error:
                faults.append((one, error))
        if faults:
            told = "; ".join(f"task {task.id!r}: {error.what}" for task, error in faults[:MOST_FAULTS])
            first = faults[0][1]
            raise Refused(f"Nothing has run. {told}", first.resolution, code=first.code)
        return checked

    def _warnings(self, owner: Owner, tasks: Sequence[Task], plan: Plan) -> JsonObject:
        """The field with the references of these tasks that may stand for nothing.

        Raises `Refused` if one of them stands for a part that its tool's output schema excludes.
        """
        excluded, unseen = self.parts.steps.missing_parts(owner, tasks, plan)
        if excluded:
            raise invalid_plan(excluded)
        return {"warnings": [one[:LONGEST_WARNING] for one in unseen[:MOST_WARNINGS]]} if unseen else {}

    def _decide_call(
        self,
        owner: Owner,
        id: str,
        question: str,
        *,
        approved: bool,
        by: Answerer,
        feedback: str | None,
        given: Mapping[str, Sequence[str]] | None,
    ) -> JsonObject:
        """Answer the question of a call that waits."""
        calls = self.parts.calls()
        asked = calls.question(owner, id)
        if approved and asked and not by.is_person:
            link = self.parts.links.url(owner, id, question)
            raise Refused(
                f"Only a person may approve this call of {asked['tool']}",
                self.parts.links.advice(owner, id, link),
                code="APPROVAL_NEEDED",
                details={"approval_url": link},
            )
        note = feedback or ""
        calls.decide(owner, id, question, approved=approved, who=by.who, way=by.way, note=note, given=given)
        return {"status": "approved" if approved else "rejected", "workflow_id": id}

    def _only_a_person(self, owner: Owner, id: str, run: Run) -> LociError:
        answers = self.parts.answers
        return only_a_person(run, answers.link(owner, id, run), answers.advice(owner, id, run))

    def _resume_if_left(self, owner: Owner, id: str, run: Run) -> bool:
        """Resume a run if nothing advances it any more. False if this process ends with the call."""
        if not self._is_left(run):
            return True
        if not self.parts.ends_with_call:
            self.parts.engine.start(owner, id)
        return not self.parts.ends_with_call

    def _is_left(self, run: Run) -> bool:
        """True if nothing advances the run, or nothing has begun to for a while."""
        quiet_since = max([run.began, *(one.at for one in run.decisions)])
        has_begun = run.lease is not None or self.parts.clock() - quiet_since > BEGINNING_SECONDS
        return has_begun and self.parts.slices.is_left(run.status, run.lease)

    def _wait_for_end(self, owner: Owner, id: str, run: Run, on_progress: OnProgress) -> JsonObject:
        """The answer of a run once it ends or waits for a decision; after a while, the answer that it goes on."""
        left = time_left()
        patience = self.parts.patience if left is None else max(0.0, min(self.parts.patience, left - ANSWERING))
        until = time.monotonic() + patience
        while True:
            left = until - time.monotonic()
            if run.status != "running" or left <= 0:
                if run.status in ENDED:
                    self.parts.active.end(owner, run)
                return self.parts.answers.render(owner, id, run)
            on_progress(
                len(run.tasks) - len(run.unfinished()), len(run.tasks), f"{id} runs {', '.join(run.running()[:5])}"
            )
            self.parts.engine.wait(owner, id, min(LOOK_SECONDS, left))
            run = self.parts.runs.get(owner, id)


def _archived(run: Run) -> Run:
    """The run without the fields that only a running run needs."""
    return run.model_copy(update={"caller": {}, "slot": None, "lease": None, "token": "", "checkpoint": None})
