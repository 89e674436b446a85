"""A plan: tasks, and the order in which they wait for each other."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from graphlib import CycleError, TopologicalSorter
from typing import Annotated, Any, Final, Literal, Self, cast

from pydantic import AliasChoices, BaseModel, BeforeValidator, ConfigDict, Field, StrictBool, ValidationError
from pydantic_core import PydanticCustomError

from loci.core.errors import Refused
from loci.core.json import Json, JsonObject
from loci.workflows.references import ID, broken_references, near_references, references, references_in_names

MOST_TASKS: Final = 200
LONGEST_TASK: Final = 300_000
"""Milliseconds."""
MOST_FAULTS: Final = 5
LONGEST_FAULT: Final = 400
_PLAIN: Final = {
    "tuple_type": "Input should be a list",
    "dict_type": "Input should be an object",
    "model_type": "Input should be an object",
    "bool_type": "Input should be true or false",
    "string_pattern_mismatch": "It may have A-Z, a-z, 0-9, _ and -, and does not begin with -",
}
_IN_CODE: Final = re.compile(rf"\bdeps(?:\??\.|\[[\"'])(?P<read>{ID})|\$(?P<written>{ID})\.result\b")
"""References in code to the results of tasks."""


def _number(value: object) -> object:
    """The value, unless it is true or false, which pydantic would read as 1 and 0."""
    if isinstance(value, bool):
        raise PydanticCustomError("number", "Input should be a number")
    return value


def _approval(value: object) -> object:
    """The value, if it says who approves. Neither "yes" nor 1 counts as true."""
    if not isinstance(value, bool) and value not in ("human", "agent"):
        raise PydanticCustomError("approval", "Input should be true, false, 'agent' or 'human'")
    return value


Number = Annotated[int, BeforeValidator(_number)]
TaskId = Annotated[str, Field(pattern=rf"^{ID}$", max_length=64)]


class CodeLimits(BaseModel):
    """Limits of a task of code, as `pml_execute_code` has them."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    timeout: Number = Field(30_000, ge=1, le=LONGEST_TASK)
    memory_mb: Number = Field(512, ge=64, le=2048, validation_alias=AliasChoices("memoryLimit", "memory_mb"))


class _CachedModel(BaseModel):
    """A model whose changed copies drop its cached properties."""

    model_config = ConfigDict(frozen=True)

    def model_copy(self, *, update: Mapping[str, Any] | None = None, deep: bool = False) -> Self:
        copy = super().model_copy(update=update, deep=deep)
        for name in [name for name in copy.__dict__ if name not in type(self).model_fields]:
            cast("dict[str, Any]", copy.__dict__).pop(name)
        return copy


class Task(_CachedModel):
    """A step of a plan: a call of a tool, or code."""

    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=True)

    id: TaskId
    kind: Literal["mcp_tool", "code_execution"] = Field("mcp_tool", alias="type")
    tool: str = Field("", max_length=200)
    arguments: dict[str, Any] = {}
    depends_on: tuple[str, ...] = Field((), validation_alias=AliasChoices("dependsOn", "depends_on"))
    code: str | None = None
    intent: str | None = Field(None, max_length=2000)
    tools: tuple[str, ...] = Field((), max_length=50)
    limits: CodeLimits = Field(
        CodeLimits.model_validate({}), validation_alias=AliasChoices("sandbox_config", "sandboxConfig", "limits")
    )
    timeout: Number | None = Field(None, ge=1, le=LONGEST_TASK)
    retry: Number = Field(0, ge=0, le=5)
    on_error: Literal["fail", "continue"] = "fail"
    approve: Annotated[bool | Literal["human", "agent"], BeforeValidator(_approval)] = False
    idempotent: StrictBool = False

    @cached_property
    def after(self) -> tuple[str, ...]:
        """The tasks that end before it starts: tasks that it names, and tasks whose results it refers to."""
        return tuple(dict.fromkeys((*self.depends_on, *(found.task for found in references(self.arguments)))))

    @property
    def seconds(self) -> float:
        """Seconds that the task may take."""
        return (self.timeout or self.limits.timeout) / 1000


class Plan(_CachedModel):
    """Tasks that fit together. Each is checked against the others, not yet against its tool."""

    model_config = ConfigDict(frozen=True)

    tasks: tuple[Task, ...]

    @classmethod
    def parse(cls, workflow: JsonObject, before: Sequence[Task] = ()) -> Self:
        """Parse the plan that a caller wrote, after tasks of a run if there are any. Raises `Refused` with all its
        mistakes."""
        unknown = [name for name in workflow if name != "tasks"]
        if unknown:
            raise invalid_plan(f"workflow.{name}: there is no such field" for name in unknown)
        tasks = workflow.get("tasks")
        if not isinstance(tasks, list) or not tasks:
            raise invalid_plan(["workflow.tasks: it must be a list of at least one task"])
        if len(before) + len(tasks) > MOST_TASKS:
            raise invalid_plan([f"workflow.tasks: {len(before) + len(tasks)} tasks; the most is {MOST_TASKS}"])
        return cls.from_tasks([*before, *(_task(one, at) for at, one in enumerate(tasks))])

    @classmethod
    def from_tasks(cls, tasks: Sequence[Task]) -> Self:
        """A plan of these tasks. Raises `Refused` if they do not fit together."""
        faults = [*_faults(tasks)]
        if faults:
            raise invalid_plan(faults)
        return cls(tasks=tuple(tasks))

    def with_tools(self, tools: Mapping[str, str]) -> Self:
        """The plan with the id of the tool of each task. People approve that id: a spelling could say anything."""
        tasks = (
            one if one.tool == tools[one.id] else one.model_copy(update={"tool": tools[one.id]}) for one in self.tasks
        )
        return self.model_copy(update={"tasks": tuple(tasks)})

    def __getitem__(self, id: str) -> Task:
        return self._by_id[id]

    def layers(self) -> list[list[str]]:
        """The ids in layers: a task is in the first layer after all that it waits for."""
        return self._layers

    @cached_property
    def _by_id(self) -> dict[str, Task]:
        return {one.id: one for one in self.tasks}

    @cached_property
    def _layers(self) -> list[list[str]]:
        return _layers({one.id: one.after for one in self.tasks})


def _task(value: Json, at: int) -> Task:
    try:
        task = Task.model_validate(value)
    except ValidationError as error:
        name = value.get("id") if isinstance(value, dict) else None
        where = f"task {name!r}" if isinstance(name, str) else f"workflow.tasks[{at}]"
        raise invalid_plan(f"{where}: {_fault_text(dict(fault))}" for fault in error.errors()[:5]) from None
    if task.kind == "mcp_tool" and not task.tool:
        raise invalid_plan([f"task {task.id!r}: it names no tool, such as filesystem:read_file"])
    if task.kind == "code_execution" and not (task.code or "").strip():
        raise invalid_plan([f"task {task.id!r}: it has no code"])
    if task.kind == "mcp_tool" and task.code is not None:
        raise invalid_plan(
            [f"task {task.id!r}: it has code, but calls a tool: write type code_execution for one that runs it"]
        )
    return task


def _fault_text(fault: Mapping[str, Any]) -> str:
    path = ".".join(str(one) for one in cast("tuple[object, ...]", fault["loc"]))
    told = _PLAIN.get(fault["type"], str(fault["msg"]))
    return f"{path}: {told}" if path else told


def _faults(tasks: Sequence[Task]) -> list[str]:
    ids = [one.id for one in tasks]
    twice = [id for id in dict.fromkeys(ids) if ids.count(id) > 1]
    faults = [f"the id {id!r} is used {ids.count(id)} times" for id in twice]
    for one in tasks:
        named = frozenset(one.depends_on)  # it may name very many
        faults += [
            f"task {one.id!r} waits for {other!r}, which is no task of this workflow"
            + (f" (there are {', '.join(ids[:20])})" if other in named else f": write $${other} for the text")
            for other in one.after
            if other not in ids
        ]
        faults += [
            f'task {one.id!r}: {written!r} is no part of a result: they are named .name, [0] and ["a name"]; write $$'
            " for a dollar, and ${…} around a part before a text that begins with ["
            for written in broken_references(one.arguments)
        ]
        faults += [
            f"task {one.id!r}: {written!r} is not what {other!r} gave: write {_instead(written, other)},"
            f" or $${written[1:]} for the text"
            for written, other in near_references(one.arguments)
            if other in ids
        ]
        faults += [
            f"task {one.id!r}: {found.text!r} is in the name of a field, where it stands for itself: write it in a"
            " value, or rename the task"
            for found in references_in_names(one.arguments)
            if found.task in ids
        ]
        faults += _faults_of_code(one, ids) if one.kind == "code_execution" else []
    if not faults and (cycle := _cycle({one.id: one.after for one in tasks})):
        faults.append(f"these tasks wait for each other: {' -> '.join(cycle)}")
    return faults


def _instead(written: str, task: str) -> str:
    """The references that may be meant, such as $find.result.results for $find.results."""
    part = written.removeprefix(f"${task}")
    return f"${task}.result" + (f" (${task}.result{part} for a part of it)" if part.startswith(".") else "")


def _faults_of_code(task: Task, ids: Sequence[str]) -> Iterator[str]:
    if "deps" in task.arguments:
        yield f"task {task.id!r}: `deps` holds the results of other tasks: name that argument otherwise"
    named = [(one["read"], one["written"]) for one in _IN_CODE.finditer(task.code or "")]
    for read, written in dict.fromkeys(named):
        if written in ids:
            yield f"task {task.id!r}: ${written}.result stands for nothing in code: read deps.{written}, add dependsOn"
        elif read in ids and read not in task.after:
            yield f"task {task.id!r}: its code reads deps.{read}, but does not wait for it: add dependsOn"


def _cycle(after: Mapping[str, Sequence[str]]) -> list[str]:
    """The ids of a cycle, in the order in which they wait for each other; empty if the tasks form no cycle."""
    try:
        TopologicalSorter(after).prepare()
    except CycleError as error:
        return cast("list[str]", error.args[1])[::-1]
    return []


def _layers(after: Mapping[str, Sequence[str]]) -> list[list[str]]:
    """The ids in layers."""
    found: list[list[str]] = []
    done: set[str] = set()
    while layer := [id for id, waits in after.items() if id not in done and done.issuperset(waits)]:
        found.append(layer)
        done.update(layer)
    return found


def invalid_plan(faults: Iterable[str]) -> Refused:
    """The refusal of a plan with these faults."""
    found = [one if len(one) <= LONGEST_FAULT else f"{one[:LONGEST_FAULT]}…" for one in faults]
    more = f"; and {len(found) - MOST_FAULTS} more" if len(found) > MOST_FAULTS else ""
    return Refused(
        f"The workflow is wrong: {'; '.join(found[:MOST_FAULTS])}{more}",
        "Correct it and call again; nothing has run",
        code="INVALID_PARAMS",
    )
