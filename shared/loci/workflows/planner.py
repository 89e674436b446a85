"""Makes a plan of an intent, by rules: the same plan for the same tools, every time.

The choice of a tool is certain if it does all that a step says and nothing else, and if no other tool does.
"""

import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from loci.core.errors import LociError, Refused
from loci.core.json import Json, JsonObject
from loci.gateway.tool_search import nothing_fits
from loci.gateway.tool_words import in_words
from loci.search.words import index_words, query_words
from loci.workflows.binding import EARLIER, LONGEST, Bound, Earlier, bind
from loci.workflows.intent import TEXT_SUFFIXES, Step, cut, read_step, value_of
from loci.workflows.toolbox import Toolbox, ToolFacts

if TYPE_CHECKING:
    from loci.gateway.tool_search import FoundTool

MOST_STEPS: Final = 30
LOOKED_AT: Final = 20
MOST_OPEN: Final = 3
"""The tools that are shown where the choice is open."""
MOST_FIELDS: Final = 20
DEPRECATED: Final = re.compile(r"\bdeprecated\b", re.I)
HEDGES: Final = re.compile(
    r"\b(?:not|never|no|don't|without|except|unless|if|until|when|while|only|but|instead|or|either|and|each|every|other"
    r"|which|what|who|how|why|where|whether|should|would|did|does|was|were|before|after|again|more|most|few|same)\b|\?",
    re.I,
)
"""Words of conditions, exceptions and further wishes, which no rule here understands."""
OWN: Final = ("loci:", "pml:")


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


@dataclass(frozen=True, slots=True)
class Choice:
    """A tool for a step, and how far it does what the step asks for."""

    tool: ToolFacts
    bound: Bound
    faults: tuple[str, ...]
    """The reasons why it may be the wrong tool."""
    worth: float
    """The worth for the order in which tools are shown. It decides nothing else."""

    def told(self) -> JsonObject:
        """The tool in a short form, and why it may be the wrong one."""
        described = " ".join(self.tool.description.split())[:LONGEST]
        fields: JsonObject = {one.name: one.told(LONGEST) for one in self.tool.parameters[:MOST_FIELDS]}
        told: JsonObject = {"tool": self.tool.id, "description": described, "arguments": fields}
        return {**told, "but": "; ".join(self.faults)} if self.faults else told


class Planner:
    """Plans one intent."""

    def __init__(self, toolbox: Toolbox, context: JsonObject, taken: Iterable[str], before: Sequence[Earlier]) -> None:
        """`taken`: ids that new tasks must not have. `before`: tasks whose results may be meant."""
        self._toolbox = toolbox
        self._context = context
        self._taken = set(taken)
        self._before = [*before]
        self._last = list[str]()
        """The tasks of the step before."""
        self._made = Draft()

    def plan(self, intent: str) -> Draft:
        """The plan, as far as it could be made."""
        if task := _count_task(intent, self._toolbox):
            self._made.tasks.append({"id": (id := self._id()), **task})
            self._made.why[id] = "it finds the files, reads each, and counts"
            return self._made
        steps = cut(intent)
        if len(steps) > MOST_STEPS:
            raise Refused(
                f"The intent asks for {len(steps)} steps, more than {MOST_STEPS}",
                "Ask for less at once, or give a workflow",
                code="INVALID_PARAMS",
            )
        for text in steps:
            self._add(text)
        return self._made

    def _add(self, text: str) -> None:
        # What a task gave that changed something is not the content of anything.
        told, earlier = text, self._before[0] if len(self._before) == 1 and self._before[0].reads else None
        for one in self._before:
            if one.reads and one.source and (said := f"the content of {one.source}") in text:
                told, earlier = text.replace(said, "its content"), one
        step, made = read_step(told, self._context), self._made
        choices, is_likely = choose(step, earlier, self._toolbox)
        is_certain = len(choices) == 1 and not choices[0].faults
        made.is_certain &= is_certain
        id = None
        if choices and is_likely:
            id = self._add_choice(choices[0])
        else:
            made.unknown.append(text)
        if not is_certain or choices[0].bound.missing:
            tools: list[Json] = [one.told() for one in choices]
            made.candidates.append({"task": id, "step": text, "tools": tools})

    def _add_choice(self, choice: Choice) -> str:
        """Add the tasks of a step; return the id of the first that does what the step says."""
        bound = choice.bound
        for tool, name in bound.before:
            before = self._put(tool, {}, f"{choice.tool.id} needs its {name}")
            bound.arguments[name] = f"${before}.result.{name}"
        why = "; ".join(choice.faults) or "the step means it"
        self._last = [self._put(choice.tool, {**bound.arguments, **more}, why) for more in ({}, *bound.others)]
        id = self._last[0]
        for name, lacks in bound.missing.items():
            self._made.missing.append({"task": id, "argument": name, "why": lacks})
        return id

    def _put(self, tool: ToolFacts, arguments: JsonObject, why: str) -> str:
        """Add a task that waits for the step before; return its id."""
        id, waits = self._id(), self._last
        task: JsonObject = {"id": id, "tool": tool.id, "arguments": arguments}
        self._made.tasks.append({**task, "dependsOn": [*waits]} if waits else task)
        self._made.why[id] = why
        self._before.append(earlier_task(id, tool, arguments))
        if not tool.reads:
            self._made.changing.add(id)
        return id

    def _id(self) -> str:
        id = next(id for number in range(1, 10_000) if (id := f"t{number}") not in self._taken)
        self._taken.add(id)
        return id


def earlier_task(id: str, tool: ToolFacts, arguments: JsonObject) -> Earlier:
    """A task, as later steps may refer to it."""
    found = map(value_of, arguments.values())
    source = next((str(one.value) for one in found if one.kind == "url" or one.words.endswith("file")), "")
    return Earlier(id, tool.id, tool.output_schema, tool.reads, source)


def choose(step: Step, earlier: Earlier | None, toolbox: Toolbox) -> tuple[list[Choice], bool]:
    """The tools that fit a step, the best first, and False if probably none does it.

    The choice is certain if there is only one, without faults.
    """
    found = toolbox.find(f"{step.plain} {step.forms}", (), LOOKED_AT)
    judged = [choice for one in found if (choice := _judged(one, step, earlier, toolbox))]
    right = [one for one in judged if not one.faults]
    right = [one for one in right if not one.tool.id.startswith(OWN)] or right
    if len(right) == 1:
        return right, True
    shown = sorted(right or judged, key=lambda one: one.worth, reverse=True)
    return shown[:MOST_OPEN], not nothing_fits(found)


def _judged(found: "FoundTool", step: Step, earlier: Earlier | None, toolbox: Toolbox) -> Choice | None:
    """How far the tool does what the step asks for; None if the tool is gone, or cannot be read."""
    try:
        tool = toolbox.facts(found.tool.id)
        bound = bind(tool, step, earlier, toolbox)
    except (LociError, RecursionError):  # its schema may be deeper than anybody reads
        return None
    plain = EARLIER.sub(" ", step.plain) if bound.takes_earlier else step.plain
    server, first = {*index_words(tool.server)}, tool.description.lstrip()[:LONGEST].split(". ")[0]
    said = query_words(plain)
    name = [one for one in query_words(in_words(found.tool.name)) if one not in server]
    implied = {*index_words(step.forms)}
    known = {*server, *name, *implied, *bound.words, *index_words(f"{found.tool.title} {first}")}
    known |= {stem for one in tool.parameters if one.required for stem in one.words}
    known |= {stem for other, _ in bound.before for stem in index_words(other.description)}
    verb = next((one for one in said if one not in server), "")
    faults = [f"it has no place, or several, for {str(one.value)[:80]}" for one in bound.left]
    faults += [f"it says nothing of {one}" for one in said if one not in known]
    faults += [f"its name says {one}" for one in name if one not in said and one not in implied]
    faults += [f"the step says {one!r}" for one in HEDGES.findall(plain)]
    if verb not in {*name, *query_words(first)[:1]}:
        faults.append("it may do something else")
    if not bound.takes_earlier and EARLIER.search(plain):
        faults.append("what the step says of an earlier result has no place")
    if DEPRECATED.search(tool.description[:300]):
        faults.append("it is deprecated")
    # A tool that has no place for a value is hardly meant.
    odds = len(faults) + len(bound.missing) + 2 * len(bound.left)
    return Choice(tool, bound, tuple(faults), found.score / (1 + odds))


COUNTED: Final = re.compile(
    r"read all (?:the )?(?P<kind>\w{1,20}) files in (?P<folder>[\w.~@+/-]+) and count (?:the |their )?lines\.?", re.I
)
SUFFIXES: Final = {"typescript": "{ts,tsx}", "javascript": "{js,jsx}", "python": "py", "markdown": "md"}
SEARCHES, READS = ("search_files", {"path", "pattern"}), ("read_text_file", {"path"})
"""The tools of a server of files, and what they need."""
CODE: Final = """\
async function text(tool, given) {
  const value = await loci.call(tool, given);
  const text = typeof value === "string" ? value : value?.content;
  if (typeof text !== "string") throw new Error(`${tool} gave no text`);
  return text;
}
const found = (await text(search, { path, pattern })).split("\\n").map((one) => one.trim());
const paths = found.filter((one) => one && !/^no (matches|files|results)\\b/i.test(one));
if (!paths.length) throw new Error("Nothing was found to go on with");
const files = await Promise.all(paths.map(async (path) => {
  const content = await text(read, { path });
  return { path, lines: content === "" ? 0 : content.replace(/\\n$/, "").split("\\n").length };
}));
return { files, total_files: files.length, total_lines: files.reduce((sum, one) => sum + one.lines, 0) };
"""


def _count_task(intent: str, toolbox: Toolbox) -> JsonObject | None:
    """The task that counts the lines of all files of a kind in a folder, without an id.

    None if the intent asks for something else, or not one server has the tools for it.
    """
    asked = COUNTED.fullmatch(intent.strip())
    kind = asked["kind"].lower() if asked else ""
    suffix = SUFFIXES.get(kind, kind if kind in TEXT_SUFFIXES else "")
    ids = frozenset(toolbox.ids() if suffix else ())
    servers = {one.partition(":")[0] for one in ids}
    able = [one for one in servers if all(_has(toolbox, ids, one, *needed) for needed in (SEARCHES, READS))]
    if asked is None or len(able) != 1:
        return None
    tools: JsonObject = {"search": f"{able[0]}:{SEARCHES[0]}", "read": f"{able[0]}:{READS[0]}"}
    arguments: JsonObject = {**tools, "path": asked["folder"], "pattern": f"**/*.{suffix}"}
    return {"type": "code_execution", "code": CODE, "arguments": arguments, "idempotent": True}


def _has(toolbox: Toolbox, ids: Collection[str], server: str, name: str, needs: set[str]) -> bool:
    """True if the server has such a tool, which only reads and needs just these arguments."""
    if (id := f"{server}:{name}") not in ids:
        return False
    tool = toolbox.facts(id)
    return tool.reads and {one.name for one in tool.parameters if one.required} == needs
