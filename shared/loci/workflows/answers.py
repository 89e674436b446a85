"""The answers about runs, with the fields of the reference implementation and additional ones."""

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Final, cast

from loci.core.errors import LociError, NotFound
from loci.core.identity import Caller, Owner
from loci.core.json import Json, JsonObject, iso, without_media
from loci.core.scopes import scope_of
from loci.core.trust import Readings, saw
from loci.gateway.waiting_calls import ApprovalLinks
from loci.scratchpad.api import Scratchpad
from loci.workflows.plan import Task
from loci.workflows.references import TaskResults, WantsText, preview
from loci.workflows.run import ENDED, FINISHED, MOST_NAMED, UNSURE, Decision, Run, TaskState, failed_tasks
from loci.workflows.runs import Runs

ROOM: Final = 15_000
"""The most bytes of an answer, a little less than its budget, so that the budget cuts nothing."""
QUESTION: Final = 6_000
"""The most bytes that a checkpoint takes from the room of the results. It is never cut: a person must see all of it."""
LEAST: Final = 256
"""Bytes of a value that is shortened, however many there are."""
TOOL: Final = "pml_execute_dag"
OWN: Final = ("loci:", "pml:")
"""The ids of Loci's own tools begin so."""


@dataclass(frozen=True, slots=True)
class _LargeField:
    """A field of an answer that may be large."""

    of: JsonObject
    name: str
    about: str
    """The description under which the field is kept if it is too large."""
    is_text: bool = False
    """True: its beginning is a text, too."""


class RunAnswers:
    """Makes the answers."""

    def __init__(
        self,
        runs: Runs,
        scratchpad: Scratchpad,
        clock: Callable[[], float],
        links: ApprovalLinks,
        wants_text: Callable[[Owner, Task], WantsText],
        readings: Readings,
    ) -> None:
        self._readings = readings
        self._links = links
        self._wants_text = wants_text
        self._runs = runs
        self._scratchpad = scratchpad
        self._clock = clock

    def render(self, owner: Owner, id: str, run: Run) -> JsonObject:
        """The state of the run: its results, or the decision that it waits for."""
        saw(self._foreign(owner, run))
        values: JsonObject = {
            one: without_media(value) for one, value in self.results(owner, id, run, run.tasks).items()
        }
        parts = [_LargeField(values, task, f"{task} of {id}") for task in values]
        if run.checkpoint is not None and run.checkpoint.kind == "layer":
            return self._layer(owner, id, run, values)
        status: str = run.status
        # What may be long comes last: an answer that is too long is cut from its end.
        answer: JsonObject = {"status": status, "workflow_id": id}
        question: JsonObject = {}
        if run.checkpoint is not None:
            asked = run.checkpoint
            answer["checkpoint_id"] = asked.id
            if link := self.link(owner, id, run):
                answer["approval_url"] = link
            answer["next_action"] = (
                f"Only a person may approve it. {self.advice(owner, id, run)}"
                if asked.only_human
                else "Use pml:approval_response to approve or reject it"
            )
            told: JsonObject = {
                "task": asked.task,
                "tool": run.plan[asked.task].tool or "code_execution",
                "reason": asked.reason,
                "only_human": asked.only_human,
                "arguments": asked.arguments,
            }
            if code := run.plan[asked.task].code:
                told["code"] = code
            question = {"checkpoint": told}
        else:
            answer |= _following(run)
        answer["metrics"] = {
            "total_time_ms": round(((run.ended if run.status in ENDED else self._clock()) - run.began) * 1000, 1),
            "parallel_branches": max((len(layer) for layer in run.layers()), default=0),
        }
        if run.status != "complete" or any(one.status != "success" for one in run.tasks.values()):
            tasks = [self._task(run, one.id) for one in run.plan.tasks]
            answer["tasks"] = [*tasks]
            parts += self._errors(id, tasks)
        if run.decisions:
            answer["decisions"] = [_decision(one) for one in run.decisions]
        answer["results"] = values
        return self._fitted(owner, answer, parts, ROOM - min(size_of(question), QUESTION)) | question

    def _foreign(self, owner: Owner, run: Run) -> list[str]:
        """The texts of others that may be in the results: those that the session of the run has read."""
        ran = (one for one in run.plan.tasks if one.tool and run.tasks[one.id].status in ("success", "error"))
        servers = (one.tool.partition(":")[0] for one in ran if not one.tool.startswith(OWN))
        read = self._readings.sources(Caller.from_json(owner, run.caller)) if run.caller else ()
        return [*(f"tool server {one}" for one in servers), *read]

    def media(self, owner: Owner, answer: JsonObject) -> list[tuple[str, JsonObject]]:
        """The images, sounds and files, as content blocks, of the tasks in an answer about a run, each with its task.

        An answer about a run that goes on has none: a client that asks for its status often would get them each time.
        """
        if answer.get("status") in ("running", "plan"):
            return []
        layer = cast("list[dict[str, str]]", answer.get("layer_results", []))
        tasks = [*cast("JsonObject", answer.get("results", {})), *(one["taskId"] for one in layer)]
        if not tasks:
            return []
        id = str(answer["workflow_id"])
        run = self._runs.get(owner, id)
        found: list[tuple[str, JsonObject]] = []
        for task in tasks:
            with suppress(NotFound):  # the answer says that it is lost
                state = run.tasks[task]
                media = self._runs.media(owner, id, task, state) if state.status == "success" else []
                found += [(task, one) for one in media]
        return found

    def link(self, owner: Owner, id: str, run: Run) -> str | None:
        """The address at which the person can answer. None for a caller over stdio: there may be no HTTP server."""
        if run.checkpoint is None or run.caller.get("over_http") is False:
            return None
        return self._links.url(owner, id, run.checkpoint.id)

    def advice(self, owner: Owner, id: str, run: Run) -> str:
        """A sentence that says how a person answers."""
        return self._links.advice(owner, id, self.link(owner, id, run))

    def _layer(self, owner: Owner, id: str, run: Run, values: JsonObject) -> JsonObject:
        layers = run.layers()
        at = min(run.released, len(layers))
        ended: list[JsonObject] = []
        for task in layers[at - 1]:
            result: JsonObject = {"result": values[task]} if task in values else {}
            ended.append({**self._task(run, task), **result})
        following: list[JsonObject] = [
            {
                "id": task,
                "tool": run.plan[task].tool or "code_execution",
                "arguments": self.arguments(owner, id, run, run.plan[task]),
                "needs_approval": run.needs_approval(task),
            }
            for task in (layers[at] if at < len(layers) else [])
            if run.tasks[task].status == "waiting"
        ]
        answer: JsonObject = {
            "status": "layer_complete",
            "workflow_id": id,
            "checkpoint_id": run.checkpoint.id if run.checkpoint else "",
            "current_layer": at,
            "total_layers": len(layers),
            "next_action": "Use pml:continue to proceed",
            "layer_results": [*ended],
            "next_layer": [*following],
        }
        if run.checkpoint is not None and run.checkpoint.only_human:
            answer["next_action"] = f"Only a person may let it go on. {self.advice(owner, id, run)}"
            answer |= {"approval_url": link} if (link := self.link(owner, id, run)) else {}
        parts = [_LargeField(one, "result", f"{one['taskId']} of {id}") for one in ended if "result" in one]
        for one in following:
            arguments = cast("JsonObject", one["arguments"])
            parts += [_LargeField(arguments, name, f"{name} for {one['id']} of {id}") for name in arguments]
        return self._fitted(owner, answer, [*parts, *self._errors(id, ended)], ROOM)

    def arguments(self, owner: Owner, id: str, run: Run, task: Task) -> JsonObject:
        """The arguments of the task, as far as the results that they refer to are known."""
        try:
            results = self._runs.results(owner, id, run, task)
        except NotFound:
            return task.arguments
        done = {one: value for one, value in results.values.items() if run.tasks[one].status in FINISHED}
        known = preview(task.arguments, TaskResults(done, results.texts), self._wants_text(owner, task))
        return cast("JsonObject", without_media(known))

    def results(self, owner: Owner, id: str, run: Run, tasks: Iterable[str]) -> JsonObject:
        """The results of the given tasks, as far as they have succeeded."""
        ended = {task: state for task in tasks if (state := run.tasks[task]).status == "success"}
        return {task: self._value(owner, id, task, state) for task, state in ended.items()}

    def _value(self, owner: Owner, id: str, task: str, state: TaskState) -> Json:
        try:
            return self._runs.value(owner, id, task, state)
        except NotFound as error:  # it must not hide the others
            return {error.code: str(error)}

    def _errors(self, id: str, tasks: Iterable[JsonObject]) -> Iterator[_LargeField]:
        for one in tasks:
            if "error" in one:
                yield _LargeField(one, "error", f"the error of {one['taskId']} of {id}", is_text=True)

    def _fitted(self, owner: Owner, answer: JsonObject, parts: Sequence[_LargeField], room: int) -> JsonObject:
        """Shorten the answer to its room. A field that is larger than its share keeps its beginning."""
        sizes = [size_of(one.of[one.name]) for one in parts]
        fixed = size_of(answer) - sum(sizes)
        most = max(share(sizes, room - fixed), LEAST)
        kept: list[str] = []
        for one, size in zip(parts, sizes, strict=True):
            if size > most:
                one.of[one.name] = self._beginning(owner, one, most, kept)
        return answer

    def _beginning(self, owner: Owner, part: _LargeField, room: int, ids: list[str]) -> Json:
        """The beginning of the field, and where all of it is kept. `ids`: the entries kept for the same answer."""
        value = part.of[part.name]
        text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        scopes = [scope_of("workflows", writes=False)]
        where: JsonObject
        try:
            kept = self._scratchpad.keep(owner, TOOL, text, about=part.about, scopes=scopes, beside=ids)
            ids.append(kept.id)
            where = {"scratchpad_id": kept.id}
            said = f"… scratchpad_read('{kept.id}') has all of it"
        except LociError as error:  # the others must not be lost with it
            where = {"not_kept": error.what}
            said = "…"
        if part.is_text:
            return _cut(text, room - len(said.encode())) + said
        shown: JsonObject = {**where, "characters": len(text), "preview": ""}
        return {**shown, "preview": _cut(text, room - size_of(shown))}

    @staticmethod
    def _task(run: Run, id: str) -> JsonObject:
        state = run.tasks[id]
        told: JsonObject = {"taskId": id, "status": state.status, "duration_ms": round(state.ms, 1)}
        if state.error:
            told["error"] = f"{state.code}: {state.error}" if state.code else state.error
        return told


def _following(run: Run) -> JsonObject:
    """The fields that say how a run goes on that waits for nobody, or why it was aborted."""
    if run.status == "running":
        return {"next_action": "It goes on. Use pml:workflow_status to see how far it is"}
    if run.status == "aborted":
        ended = [one.reason for one in run.decisions if one.what.startswith(("abort", "reject"))]
        return {"reason": ended[-1]} if ended else {}
    failed = failed_tasks(run) if run.status == "error" else []
    return {"next_action": _retry(run, failed)} if failed else {}


def _retry(run: Run, failed: Sequence[str]) -> str:
    """A sentence that says how a failed run goes on."""
    names = json.dumps(failed[:MOST_NAMED])
    unsure = [one for one in failed if run.tasks[one].code in UNSURE and one not in run.safe]
    look = f". {', '.join(unsure[:MOST_NAMED])} may have run: look first" if unsure else ""
    return f"pml_continue with retry: {names} runs what failed again, and keeps what is done{look}"


def size_of(value: Json) -> int:
    """The bytes that the value takes in an answer."""
    return len(json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace"))


def share(sizes: Sequence[int], room: int) -> int:
    """The most bytes of one value so that all fit: small values stay whole, large ones get equal shares."""
    for at, size in enumerate(sorted(sizes)):
        part = room // (len(sizes) - at)
        if size > part:
            return part
        room -= size
    return max(sizes, default=0)


def _cut(text: str, room: int) -> str:
    """The beginning of the text that takes at most `room` bytes in JSON."""
    while (size := size_of(text)) > room + len('""') and text:
        text = text[: len(text) * max(room, 0) // size]
    return text


def _decision(decision: Decision) -> JsonObject:
    told: JsonObject = {"what": decision.what, "by": decision.by, "way": decision.way, "at": iso(decision.at)}
    return told | ({"reason": decision.reason} if decision.reason else {})
