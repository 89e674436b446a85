"""Makes a plan of an intent, by rules: the same plan for the same tools, every time."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final

from loci.core.errors import Refused
from loci.core.json import Json, JsonObject
from loci.workflows.binding import Earlier, Step
from loci.workflows.choosing import Choice, begins_tool, choose
from loci.workflows.file_steps import LINES, code_task, counting, file_set, file_tools
from loci.workflows.intent import LONGEST_VALUE, cut, values_in, values_of, without
from loci.workflows.parameters import parameters
from loci.workflows.references import references
from loci.workflows.toolbox import Toolbox, ToolFacts

MOST_STEPS: Final = 30
MOST_FIELDS: Final = 20
LONGEST_TOLD: Final = 100
"""Characters of the descriptions of a tool and of its parameters in a plan."""


@dataclass(slots=True)
class Draft:
    """A plan for an intent, and what is open in it."""

    tasks: list[JsonObject] = field(default_factory=list[JsonObject])
    missing: list[JsonObject] = field(default_factory=list[JsonObject])
    """The required arguments that have no value."""
    why: dict[str, str] = field(default_factory=dict[str, str])
    candidates: list[JsonObject] = field(default_factory=list[JsonObject])
    """The tools for each step whose tool or arguments are open."""
    unknown: list[str] = field(default_factory=list[str])
    """Steps that probably no tool does."""
    changing: set[str] = field(default_factory=set[str])
    """The ids of the tasks whose tools do not say that they change nothing."""
    is_certain: bool = True
    """True if each step means one tool, and each value one argument."""
    reason: str = ""
    """The language model's reason why no tool suffices."""

    @property
    def is_ready(self) -> bool:
        """True if it may start as it is."""
        return bool(self.tasks) and self.is_certain and not (self.missing or self.unknown)

    def gated_tasks(self) -> list[JsonObject]:
        """The tasks. Tasks that may change something wait for an approval, because no person wrote them."""
        return [{**one, "approve": True} if one["id"] in self.changing else one for one in self.tasks]


class Planner:
    """Plans one intent."""

    def __init__(self, toolbox: Toolbox, context: JsonObject, taken: Iterable[str], before: Sequence[Earlier]) -> None:
        """`taken`: ids that new tasks must not have. `before`: tasks whose results may be meant."""
        self._toolbox = toolbox
        self._context = context
        self._taken = set(taken)
        self._earlier = [*before]
        self._made = Draft()

    def plan(self, intent: str) -> Draft:
        """The plan, as far as it could be made."""
        steps = cut(intent, lambda text: begins_tool(text, self._toolbox))
        if len(steps) > MOST_STEPS:
            raise Refused(
                f"The intent asks for {len(steps)} steps, more than {MOST_STEPS}",
                "Ask for less at once, or give a workflow",
                code="INVALID_PARAMS",
            )
        for text, is_after in steps:
            self._add(text, is_after)
        return self._made

    def _add(self, text: str, is_after: bool) -> None:
        values = [*values_in(text), *values_of(self._context, text)]
        plain, worded = without(text, values), without(text, values, worded=True)
        step = Step(text, plain, worded, tuple(values), tuple(self._earlier))
        if self._add_files(step) or self._add_count(text):
            return
        context = [one.tool for one in self._earlier if ":" in one.tool]
        chosen = choose(step, self._toolbox, context)
        best, made = next(iter(chosen.choices), None), self._made
        made.is_certain &= chosen.is_certain
        id = self._add_choice(best, is_after) if best and chosen.is_likely else None
        if id is None:
            made.unknown.append(text)
        if not chosen.is_certain or (best and best.bound.missing):
            tools: list[Json] = [_told(one) for one in chosen.choices]
            made.candidates.append({"task": id, "step": text, "tools": tools})

    def _add_choice(self, choice: Choice, is_after: bool) -> str:
        bound, waits = choice.bound, list[str]()
        if self._earlier and (is_after or not choice.tool.reads):
            waits = [self._earlier[-1].id]
        for one in bound.before:
            before = self._put(one.tool, one.arguments, (), f"{choice.tool.id} needs its {one.field}")
            bound.arguments[one.parameter] = f"${before}.result.{one.field}"
        why = "; ".join([*(choice.faults or ("the step means it",)), *bound.why])
        id = self._put(choice.tool, bound.arguments, waits, why)
        for more in bound.spread:
            self._put(choice.tool, {**bound.arguments, **more}, waits, why)
        for name, why in bound.missing.items():
            self._made.missing.append({"task": id, "argument": name, "why": why})
        return id

    def _add_files(self, step: Step) -> bool:
        files = file_set(step)
        tools = file_tools(self._toolbox) if files else None
        if files is None or tools is None:
            return False
        arguments: JsonObject = {tools.folder: files.folder, tools.pattern: files.pattern}
        found = self._put(tools.finds, arguments, (), f"it finds the files that are meant: {files.pattern}")
        lines = self._code(LINES, [found], "a list of what the search gave")
        self._put(tools.reads, {tools.paths: f"${lines}.result"}, (), "it reads several files")
        return not files.counts or self._add_count(f"count {files.counts}")

    def _add_count(self, text: str) -> bool:
        code = counting(text) if self._earlier else None
        if code is None:
            return False
        last = self._earlier[-1]
        read = {one.task for one in references(last.arguments)}
        lists = [one.id for one in self._earlier if not one.tool and one.id in read]
        self._code(code, [*lists, last.id], "no tool is needed to count")
        return True

    def _code(self, code: str, after: Sequence[str], why: str) -> str:
        id = self._id()
        self._made.tasks.append(code_task(id, code, after))
        self._made.why[id] = why
        self._earlier.append(Earlier(id, "", {}, None))
        return id

    def _put(self, tool: ToolFacts, arguments: JsonObject, waits: Sequence[str], why: str) -> str:
        id = self._id()
        named = {one.task for one in references(arguments)}
        after: list[Json] = [one for one in waits if one not in named]
        task: JsonObject = {"id": id, "tool": tool.id, "arguments": arguments}
        self._made.tasks.append({**task, "dependsOn": after} if after else task)
        self._made.why[id] = why
        self._earlier.append(Earlier(id, tool.id, arguments, tool.output_schema, source_of(arguments)))
        if not tool.reads:
            self._made.changing.add(id)
        return id

    def _id(self) -> str:
        id = next(id for number in range(1, 10_000) if (id := f"t{number}") not in self._taken)
        self._taken.add(id)
        return id


def source_of(arguments: JsonObject) -> str:
    """The file or the page that a task with these arguments reads; empty if there is none."""
    texts = [one for one in arguments.values() if isinstance(one, str)]
    found = (one for text in texts for one in values_in(text[:LONGEST_VALUE]) if one.kind in ("path", "url"))
    return next((str(one.value) for one in found if not one.is_folder), "")


def _told(choice: Choice) -> JsonObject:
    """A tool in a short form, and why it may be the wrong one."""
    tool = choice.tool
    described = " ".join(tool.description.split())[:LONGEST_TOLD]
    fields: JsonObject = {one.name: one.told(LONGEST_TOLD) for one in parameters(tool.input_schema)[:MOST_FIELDS]}
    told: JsonObject = {"tool": tool.id, "description": described, "arguments": fields}
    return {**told, "but": "; ".join(choice.faults)} if choice.faults else told
