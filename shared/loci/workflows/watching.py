"""Runs, as people watch them: all of them, one with its tasks, and what they wait for."""

from collections.abc import Callable
from contextlib import suppress
from typing import cast

from loci.core.errors import NotFound
from loci.core.identity import Owner
from loci.core.json import JsonObject
from loci.tools.waiting_calls import WaitingCalls
from loci.workflows.active import ActiveRuns
from loci.workflows.answers import Answers
from loci.workflows.run import Run
from loci.workflows.run_facts import question, row, watched, whole_task
from loci.workflows.runs import Runs


class Watching:
    """Reads runs. It changes none, but has one that nothing moves on any more taken up."""

    def __init__(
        self,
        runs: Runs,
        active: ActiveRuns,
        answers: Answers,
        calls: Callable[[], WaitingCalls],
        take_up: Callable[[Owner, str, Run], object],
    ) -> None:
        self._runs = runs
        self._active = active
        self._answers = answers
        self._calls = calls
        self._take_up = take_up

    def all(self, owner: Owner) -> list[JsonObject]:
        """All runs that are kept, the newest first."""
        return sorted(self._runs.rows(owner, row), key=lambda one: -cast("float", one["began"]))

    def run(self, owner: Owner, id: str) -> JsonObject:
        """A run with its tasks, and what was decided. Raises `NotFound`."""
        run = self._runs.get(owner, id)
        self._take_up(owner, id, run)
        return watched(id, run)

    def task(self, owner: Owner, id: str, task: str) -> JsonObject:
        """A task of a run with its arguments and, if it has ended well, its result. Raises `NotFound`."""
        run = self._runs.get(owner, id)
        if task not in run.tasks:
            raise NotFound(f"The workflow has no task {task[:80]!r}", "See its tasks with pml_workflow_status")
        given = self._answers.known(owner, id, run, [task])
        known = self._answers.known(owner, id, run, run.plan[task].after)
        return {**whole_task(run, task, known), **({"result": given[task]} if given else {})}

    def media(self, owner: Owner, answer: JsonObject) -> list[tuple[str, JsonObject]]:
        """The images, sounds and files, as content blocks, of the tasks in an answer about a run, each with its task.

        While the run goes on there are none: whoever asks for it often would get them each time.
        """
        if answer.get("status") in ("running", "plan"):
            return []
        layer = cast("list[dict[str, str]]", answer.get("layer_results", []))
        tasks = [*cast("JsonObject", answer.get("results", {})), *(one["taskId"] for one in layer)]
        if not tasks:
            return []
        id = str(answer["workflow_id"])
        return self._answers.media(owner, id, self._runs.get(owner, id), tasks)

    def questions(self, owner: Owner) -> list[JsonObject]:
        """The questions that active runs and calls wait on, the oldest first. Reads no other runs."""
        states = self._active.states(owner)
        found = self._calls().questions(owner)
        for id in [id for id, (status, _) in states.items() if status == "paused"]:
            with suppress(NotFound):
                run = self._runs.get(owner, id)
                found += [question(id, run, run.checkpoint)] if run.checkpoint else []
        return sorted(found, key=lambda one: cast("float", one["since"]))
