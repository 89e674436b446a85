"""New tasks in a run that is under way."""

import re
from collections.abc import Mapping, Sequence
from typing import Final

from loci.core.errors import Refused
from loci.core.json import Json, JsonObject
from loci.gateway.gateway import CheckedCall
from loci.workflows.decisions import BY_LOCI, WhoApproves, gates
from loci.workflows.plan import MOST_TASKS, Plan, Task
from loci.workflows.run import ENDED, SETTLED, Run, TaskState, status_said

MOST_REPLANS: Final = 10
_REFERENCE: Final = re.compile(r"(?<!\$)\$(\{?)([A-Za-z0-9_][A-Za-z0-9_-]*)(?=\.result)")


def check_replan(run: Run) -> None:
    """Raise `Refused` if the run takes no more tasks."""
    if run.status in ENDED:
        raise Refused(
            f"The workflow has ended already: it {status_said(run.status)}",
            "Start another one with pml_execute_dag",
            code="WORKFLOW_ENDED",
        )
    if run.replans >= MOST_REPLANS:
        raise Refused(
            f"The workflow was replanned {run.replans} times, which is the most",
            "Let it end, or abort it and start another one with pml_execute_dag",
            code="TOO_MANY_REPLANS",
        )


def merged(
    run: Run, tasks: Sequence[Task], checked: Mapping[str, CheckedCall], who: WhoApproves
) -> tuple[Run, list[Task]]:
    """The run with these tasks, and these as they are in it. What it has done stays done."""
    check_replan(run)
    if len(run.plan.tasks) + len(tasks) > MOST_TASKS:
        raise Refused(
            f"The workflow would have more than {MOST_TASKS} tasks", "Start another one", code="INVALID_PARAMS"
        )
    gated, by_person = gates(tasks, checked, who, BY_LOCI)
    names = _names(run, tasks)
    added = [_placed(run, _renamed(one, names), set(names.values())) for one in tasks]
    plan = Plan.joined([*run.plan.tasks, *added])
    safe = [names[one.id] for one in tasks if checked[one.id].is_safe]
    return (
        run.model_copy(
            update={
                "plan": plan,
                "tasks": {**run.tasks, **{one.id: TaskState() for one in added}},
                "safe": (*run.safe, *safe),
                "gated": {**run.gated, **{names[id]: why for id, why in gated.items()}},
                "by_person": (*run.by_person, *(names[id] for id in by_person)),
                "replans": run.replans + 1,
            }
        ),
        added,
    )


def _names(run: Run, tasks: Sequence[Task]) -> dict[str, str]:
    """The ids of the new tasks in the run: their own, unless another task has them."""
    taken = {one.id for one in run.plan.tasks}
    names = dict[str, str]()
    for one in tasks:
        free = (f"{one.id}_{number}" for number in range(2, MOST_TASKS * 2))
        names[one.id] = one.id if one.id not in taken else next(id for id in free if id not in taken)
        taken.add(names[one.id])
    return names


def _renamed(task: Task, names: Mapping[str, str]) -> Task:
    changed = {old: new for old, new in names.items() if old != new}
    if not changed:
        return task

    def told(value: Json) -> Json:
        match value:
            case str():
                return _REFERENCE.sub(lambda found: f"${found[1]}{changed.get(found[2], found[2])}", value)
            case list():
                return [told(one) for one in value]
            case dict():
                return {name: told(one) for name, one in value.items()}
            case _:
                return value

    arguments: JsonObject = {name: told(one) for name, one in task.arguments.items()}
    after = tuple(names.get(one, one) for one in task.depends_on)
    return task.model_copy(update={"id": names[task.id], "arguments": arguments, "depends_on": after})


def _placed(run: Run, task: Task, new: set[str]) -> Task:
    """The task in the layer after those that were released, if the run pauses after each."""
    if not run.by_layer:
        return task
    layers = run.layers()
    released = {id for layer in layers[: run.released] for id in layer}
    if any(one in new or one not in released for one in task.after):
        return task
    last = layers[min(run.released, len(layers)) - 1]
    if any(one in last for one in task.after):
        return task
    good = [one for one in last if run.tasks[one].status == "success"]
    good += [one for one in last if run.tasks[one].status not in SETTLED]
    good += [one for one in last if run.tasks[one].status == "error" and run.plan[one].on_error == "continue"]
    return task.model_copy(update={"depends_on": (*task.depends_on, good[0])}) if good else task
