"""The answers about runs, with the reference's fields and beside them ours."""

import json
from collections.abc import Callable, Iterable
from typing import Final

from loci.core.errors import NotFound
from loci.core.identity import Owner
from loci.core.json import Json, JsonObject
from loci.scratchpad.api import Scratchpad
from loci.workflows.approval_links import ApprovalLinks
from loci.workflows.references import previewed
from loci.workflows.run import ENDED, Run, TaskState
from loci.workflows.runs import Runs

LARGE: Final = 4096
"""Characters of a value that an answer about a layer has; of a larger one it has a scratchpad entry."""
PREVIEW: Final = 300
TOOL: Final = "pml_execute_dag"


class Answers:
    """Makes the answers."""

    def __init__(self, runs: Runs, scratchpad: Scratchpad, clock: Callable[[], float], links: ApprovalLinks) -> None:
        self._links = links
        self._runs = runs
        self._scratchpad = scratchpad
        self._clock = clock

    def of(self, owner: Owner, id: str, run: Run) -> JsonObject:
        """How far the run is: what it gave, or what it waits for."""
        values = self.known(owner, id, run, run.tasks)
        if run.checkpoint is not None and run.checkpoint.kind == "layer":
            return self._layer(owner, id, run, values)
        status: str = run.status
        # What may be long comes last: an answer that is too long is cut from its end.
        answer: JsonObject = {"status": status, "workflow_id": id}
        if run.checkpoint is not None:
            asked = run.checkpoint
            answer["checkpoint_id"] = asked.id
            if link := self.link(owner, id, run):
                answer["approval_url"] = link
            shown = "show them approval_url, or " if link else ""
            answer["next_action"] = (
                f"Only a person may answer: {shown}ask them to run: loci approve {id}"
                if asked.only_human
                else "Use pml:approval_response to approve or reject it"
            )
            told: JsonObject = {
                "task": asked.task,
                "tool": run.plan[asked.task].tool or "code_execution",
                "arguments": asked.arguments,
                "reason": asked.reason,
                "only_human": asked.only_human,
            }
            if code := run.plan[asked.task].code:
                told["code"] = code
            answer["checkpoint"] = told
        elif run.status == "running":
            answer["next_action"] = "It goes on. Use pml:workflow_status to see how far it is"
        elif run.status == "aborted":
            ended = [one.reason for one in run.decisions if one.what.startswith(("abort", "reject"))]
            if ended:
                answer["reason"] = ended[-1]
        answer["results"] = values
        answer["metrics"] = {
            "total_time_ms": round(((run.ended if run.status in ENDED else self._clock()) - run.began) * 1000, 1),
            "parallel_branches": max((len(layer) for layer in run.layers()), default=0),
        }
        if run.status != "complete" or any(one.status != "success" for one in run.tasks.values()):
            answer["tasks"] = [self._task(run, one.id) for one in run.plan.tasks]
        return answer

    def link(self, owner: Owner, id: str, run: Run) -> str | None:
        """The address at which the person can answer. None if they came by a pipe: there may be no server."""
        if run.checkpoint is None or run.caller.get("over_http") is False:
            return None
        return self._links.to(owner, id, run.checkpoint.id)

    def _layer(self, owner: Owner, id: str, run: Run, values: JsonObject) -> JsonObject:
        layers = run.layers()
        at = min(run.released, len(layers))
        ended: list[Json] = []
        for task in layers[at - 1]:
            result: JsonObject = {"result": self._shown(owner, values[task])} if task in values else {}
            ended.append({**self._task(run, task), **result})
        following: list[Json] = [
            {
                "id": task,
                "tool": run.plan[task].tool or "code_execution",
                "arguments": self._preview(owner, run.plan[task].arguments, values),
                "needs_approval": run.needs_approval(task),
            }
            for task in (layers[at] if at < len(layers) else [])
            if run.tasks[task].status == "waiting"
        ]
        return {
            "status": "layer_complete",
            "workflow_id": id,
            "checkpoint_id": run.checkpoint.id if run.checkpoint else "",
            "current_layer": at,
            "total_layers": len(layers),
            "next_action": "Use pml:continue to proceed",
            "layer_results": ended,
            "next_layer": following,
        }

    def _preview(self, owner: Owner, arguments: JsonObject, values: JsonObject) -> JsonObject:
        """The arguments, as far as they are known."""
        known = {name: previewed(one, values) for name, one in arguments.items()}
        return {name: self._shown(owner, one) for name, one in known.items()}

    def known(self, owner: Owner, id: str, run: Run, tasks: Iterable[str]) -> JsonObject:
        """The results of those of these tasks that have ended well."""
        ended = {task: state for task in tasks if (state := run.tasks[task]).status == "success"}
        return {task: self._value(owner, id, task, state) for task, state in ended.items()}

    def _value(self, owner: Owner, id: str, task: str, state: TaskState) -> Json:
        try:
            return self._runs.value(owner, id, task, state)
        except NotFound as error:  # it must not hide the others
            return {error.code: str(error)}

    def _shown(self, owner: Owner, value: Json) -> Json:
        text = json.dumps(value, ensure_ascii=False)
        if len(text) <= LARGE:
            return value
        kept = self._scratchpad.keep(owner, TOOL, text)
        return {"scratchpad_id": kept.id, "characters": len(text), "preview": text[:PREVIEW]}

    @staticmethod
    def _task(run: Run, id: str) -> JsonObject:
        state = run.tasks[id]
        told: JsonObject = {"taskId": id, "status": state.status, "duration_ms": round(state.ms, 1)}
        if state.error:
            told["error"] = f"{state.code}: {state.error}" if state.code else state.error
        return told
