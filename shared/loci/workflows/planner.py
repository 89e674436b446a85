"""Makes a plan of an intent, by rules: the same plan for the same tools, every time."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final

from loci.core.errors import Refused
from loci.core.json import Json, JsonObject
from loci.search.words import index_words
from loci.workflows.choosing import Choice, choose
from loci.workflows.code_steps import LINES, code_task, counting
from loci.workflows.entities import from_context, givens, masked
from loci.workflows.file_sets import FileSet, file_set, file_tools
from loci.workflows.fitting import shaped
from loci.workflows.intent import Clause, clauses
from loci.workflows.prior_steps import Earlier, Step
from loci.workflows.producers import produced
from loci.workflows.references import references
from loci.workflows.toolbox import Toolbox, ToolFacts

ENOUGH: Final = 0.6
"""The least confidence of a plan that starts without a question."""
LEAST: Final = 0.3
"""The least confidence of a tool for a step."""
LEARNED: Final = 0.5
"""The least certainty that a tool is used after another, for its task to wait for the other."""
MOST_STEPS: Final = 30
READING: Final = frozenset(index_words("read get load open show count parse print")) | {""}


@dataclass(slots=True)
class Draft:
    """A plan for an intent, and what is missing in it."""

    tasks: list[JsonObject] = field(default_factory=list[JsonObject])
    missing: list[JsonObject] = field(default_factory=list[JsonObject])
    why: dict[str, str] = field(default_factory=dict[str, str])
    unknown: list[str] = field(default_factory=list[str])
    """Steps for which there is no tool."""
    confidence: float = 0.0
    changing: set[str] = field(default_factory=set[str])
    """The ids of the tasks whose tools do not say that they change nothing."""
    by_model: bool = False
    earlier: list[Earlier] = field(default_factory=list[Earlier])

    @property
    def is_ready(self) -> bool:
        """True if it may start as it is."""
        return bool(self.tasks) and not self.missing and not self.unknown and self.confidence >= ENOUGH

    def gated_tasks(self) -> list[JsonObject]:
        """The tasks. Tasks that may change something wait for an approval, because no person wrote them."""
        return [{**one, "approve": True} if one["id"] in self.changing else one for one in self.tasks]

    def gated(self) -> JsonObject:
        """The plan with these tasks."""
        return {"tasks": [*self.gated_tasks()]}


class Planner:
    """Plans one intent."""

    def __init__(self, toolbox: Toolbox, context: JsonObject, taken: Iterable[str], before: Sequence[Earlier]) -> None:
        """`taken`: ids that new tasks must not have. `before`: tasks whose results may be meant."""
        self._toolbox = toolbox
        self._context = context
        self._taken = set(taken)
        self._made = Draft(earlier=[*before])
        self._sure: list[float] = []
        self._waiting: list[tuple[str, ...]] = []

    def plan(self, intent: str) -> Draft:
        """The plan, as far as it could be made."""
        asked = clauses(intent)
        if len(asked) > MOST_STEPS:
            raise Refused(
                f"The intent asks for {len(asked)} steps, more than {MOST_STEPS}",
                "Ask for less at once, or give a workflow",
                code="INVALID_PARAMS",
            )
        for clause in asked:
            self._add(clause)
        made = self._made
        made.confidence = round(min(self._sure, default=0.0), 2)
        if made.unknown:
            made.confidence = min(made.confidence, LEAST)
        return made

    def _add(self, clause: Clause) -> None:
        made = self._made
        found = givens(clause.text)
        stems = set(index_words(clause.text))
        found += from_context(self._context, stems, len(clause.text))
        step = Step(
            clause.text, masked(clause.text, found), clause.verb, tuple(found), tuple(made.earlier), self._context
        )
        files = file_set(clause.text, step.givens) if clause.verb in READING else None
        if files is not None and self._add_files(files):
            if clause.verb == "count":
                self._add_count(f"count lines {clause.text}" if "line" in stems else clause.text)
            return
        if made.earlier and self._add_count(clause.text):
            return
        choice = choose(step, self._toolbox, [one.tool for one in made.earlier if ":" in one.tool])
        if choice is None or choice.confidence < LEAST:
            made.unknown.append(clause.text)
            return
        choice = self._completed(step, choice)
        self._add_choice(clause, step, choice)

    def _completed(self, step: Step, choice: Choice) -> Choice:
        """The choice, with tasks before it that produce what it needs and the intent does not say."""
        for name, _ in [*choice.bound.missing]:
            found = produced(name, choice.tool, step, self._toolbox)
            if found is None:
                continue
            id = self._id()
            self._put(id, found.tool, found.bound.arguments, (), f"{choice.tool.id} needs its {name}")
            choice.bound.arguments[name] = f"${id}.result.{found.field}"
            choice.bound.after.add(id)
            choice.bound.missing = [one for one in choice.bound.missing if one[0] != name]
            choice.bound.sure = min(choice.bound.sure, 0.9)
        return choice

    def _add_choice(self, clause: Clause, step: Step, choice: Choice) -> None:
        bound = choice.bound
        spread = [None, *(one for one in step.givens if one not in bound.used)] if bound.spread else [None]
        waits = _waits_for(clause, choice, self._made.earlier, self._toolbox, bound.after)
        source = next((str(one.value) for one in bound.used if one.kind in ("path", "url") and not one.is_folder), "")
        self._sure.append(choice.confidence)
        for one in spread:
            id = self._id()
            arguments = bound.arguments if one is None else {**bound.arguments, bound.spread: shaped(one, {})}
            why = "; ".join([choice.why, *bound.why])
            self._put(id, choice.tool, arguments, waits, why, source if one is None else str(one.value))
            for name, told in bound.missing:
                if not name.endswith("["):
                    self._made.missing.append({"task": id, "argument": name, "why": told})

    def _add_files(self, files: FileSet) -> bool:
        tools = file_tools(self._toolbox)
        if tools is None:
            return False
        found, lines, read = self._id(), self._id(), self._id()
        arguments: JsonObject = {tools.folder: files.folder, tools.pattern: files.pattern}
        self._put(found, tools.finds, arguments, (), f"it finds the files that are meant: {files.pattern}")
        self._code(lines, LINES, [found], "the paths that were found", "a list of what the search gave")
        paths: JsonObject = {tools.paths: f"${lines}.result"}
        self._put(read, tools.reads, paths, (), "it reads several files", files.folder)
        self._sure.append(0.85)
        return True

    def _add_count(self, text: str) -> bool:
        code = counting(text)
        if code is None:
            return False
        last = self._made.earlier[-1]
        read = {one.task for one in references(last.arguments)}
        lists = [one.id for one in self._made.earlier if not one.tool and one.id in read]
        self._code(self._id(), code, [*lists, last.id], text, "no tool is needed to count")
        self._sure.append(0.9)
        return True

    def _code(self, id: str, code: str, after: Sequence[str], intent: str, why: str) -> None:
        self._made.tasks.append(code_task(id, code, after, intent))
        self._made.why[id] = why
        self._made.earlier.append(Earlier(id, "", {}, None))

    def _put(
        self,
        id: str,
        tool: ToolFacts,
        arguments: JsonObject,
        waits: Sequence[str],
        why: str,
        source: str = "",
    ) -> None:
        task: JsonObject = {"id": id, "tool": tool.id, "arguments": arguments}
        after: list[Json] = [*waits]
        if after:
            task["dependsOn"] = after
        self._made.tasks.append(task)
        self._made.why[id] = why
        self._made.earlier.append(Earlier(id, tool.id, arguments, tool.output_schema, source))
        if not tool.reads:
            self._made.changing.add(id)

    def _id(self) -> str:
        id = next(id for number in range(1, 10_000) if (id := f"t{number}") not in self._taken)
        self._taken.add(id)
        return id


def _waits_for(
    clause: Clause, choice: Choice, earlier: Sequence[Earlier], toolbox: Toolbox, taken: Collection[str]
) -> list[str]:
    """The ids of earlier tasks that the new one waits for, and that its arguments do not name.

    What only reads runs beside the others, unless the intent says `then` or such calls were made in this order before.
    What may change something waits for the step before it.
    """
    if not earlier:
        return []
    last = earlier[-1]
    waits = [last.id] if clause.is_after or not choice.tool.reads else []
    tools = [one.tool for one in earlier if ":" in one.tool]
    if not waits and toolbox.followers(tools).get(choice.tool.id, 0.0) >= LEARNED:
        waits = [last.id]
    return [one for one in waits if one not in taken]
