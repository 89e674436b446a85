"""Chooses the tool for a step. It is certain if the tool does all that the step asks for, and nothing else."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from loci.core.errors import LociError
from loci.core.json import JsonObject
from loci.gateway.tool_search import nothing_fits
from loci.gateway.tool_words import KnownTool, fields_of, plain_name, query_terms
from loci.search.words import SEAM, index_words, is_common, query_words
from loci.workflows.binding import EARLIER, Bound, Step, bind
from loci.workflows.intent import SAYS
from loci.workflows.parameters import parameters
from loci.workflows.toolbox import Toolbox, ToolFacts

if TYPE_CHECKING:
    from loci.gateway.tool_search import FoundTool

LOOKED_AT: Final = 20
MOST_OPEN: Final = 3
"""The tools that are shown where the choice is open."""
MEDIA: Final = (".png", ".jpg", ".jpeg", ".gif", ".webp", ".bmp", ".mp3", ".wav", ".ogg", ".flac", ".mp4")
TEXTS: Final = frozenset(index_words("text message content"))
"""Words in the names of tools that a text, given to the tool, says already."""
DEPRECATED: Final = re.compile(r"\bdeprecated\b", re.I)
HEDGES: Final = re.compile(
    r"\b(?:not|never|no|don't|without|except|unless|if|until|when|while|only|but|instead|or|either)\b", re.I
)
"""Words of conditions and exceptions, which no rule here understands."""
OWN: Final = ("loci:", "pml:")


@dataclass(frozen=True, slots=True)
class Choice:
    """A tool for a step, and how far it does what the step asks for."""

    tool: ToolFacts
    bound: Bound
    faults: tuple[str, ...]
    """The reasons why it may be the wrong tool."""
    distance: int
    """The words of its name that the step says otherwise, the words of the step that its name does not have, and more
    tasks than one."""
    worth: float
    """The worth for an order of the tools; it decides nothing else."""
    deprecated: bool

    @property
    def is_right(self) -> bool:
        return not self.faults


@dataclass(frozen=True, slots=True)
class Chosen:
    """The tools that fit a step, the best first."""

    choices: tuple[Choice, ...]
    is_certain: bool
    """True if the first one is the right tool, and no other is."""
    is_likely: bool
    """False if probably no tool fits."""


def choose(step: Step, toolbox: Toolbox, context: Sequence[str]) -> Chosen:
    """The tools that fit a step. An outdated tool gives way to one that takes the same."""
    found = [*toolbox.find(step.worded, context, LOOKED_AT)]
    if step.speaks_of_earlier and context:  # it may mean the server of the step before
        again = toolbox.find(f"{context[-1].partition(':')[0]} {step.worded}", context, LOOKED_AT)
        found += [one for one in again if one.tool.id not in {other.tool.id for other in found}]
    judged = [choice for one in found if (choice := _judged(one, step, toolbox, _prefix(one.tool, found)))]
    judged = [one for one in judged if not (one.deprecated and any(_stands_in(other, one) for other in judged))]
    right = [one for one in judged if one.is_right]
    right = [one for one in right if not one.tool.id.startswith(OWN)] or right
    right = [one for one in right if not one.bound.missing] or right
    nearest = [one for one in right if one.distance == min(other.distance for other in right)]
    if len(nearest) == 1:
        return Chosen((nearest[0],), is_certain=True, is_likely=True)
    shown = sorted(nearest or judged, key=lambda one: (-one.worth, one.tool.id))
    return Chosen(tuple(shown[:MOST_OPEN]), is_certain=False, is_likely=not nothing_fits(found))


def _prefix(tool: KnownTool, found: "Sequence[FoundTool]") -> str:
    """The word with which the names of all found tools of this tool's server begin, if there are several."""
    names = [index_words(SEAM.sub(" ", one.tool.name))[:1] for one in found if one.tool.server == tool.server]
    return names[0][0] if len(names) > MOST_OPEN and names[0] and all(one == names[0] for one in names) else ""


def begins_tool(text: str, toolbox: Toolbox) -> bool:
    """True if the text begins with a word with which the name or the description of a fitting tool begins."""
    word = (index_words(text[:60]) or [""])[0]
    if not word or not text[:1].isalpha() or is_common(text.split(maxsplit=1)[0]):
        return False
    same = {word, *query_terms(word).get(word, ())}
    return any(same & _beginnings(one.tool) for one in toolbox.find(text[:200], (), LOOKED_AT))


def _beginnings(tool: KnownTool) -> set[str]:
    """The first word of the tool's name that is not its server, and the first word of its description."""
    fields = fields_of(tool)
    name = [one for one in _name_words(tool.name) if one not in fields["server"]]
    return {*name[:1], *fields["description"][:1]}


def _name_words(name: str) -> list[str]:
    return [one for one in index_words(SEAM.sub(" ", name)) if not is_common(one)]


def _judged(found: "FoundTool", step: Step, toolbox: Toolbox, prefix: str) -> Choice | None:
    """How far the tool does what the step asks for; None if the tool is gone, or cannot be read."""
    try:
        tool = toolbox.facts(found.tool.id)
        bound = bind(tool, step, toolbox)
    except (LociError, RecursionError):  # its schema may be deeper than anybody reads
        return None
    fields, faults = fields_of(found.tool), list[str]()
    plain = EARLIER.sub(" ", step.plain) if bound.takes_earlier else step.plain
    asked, server = query_terms(plain), {*fields["server"]}
    same = {other for others in asked.values() for other in others}
    heads = {*_name_words(found.tool.name), *_beginnings(found.tool)}
    verb = next((one for one in index_words(plain) if one in heads or one not in server), "")
    does = verb in asked and bool({verb, *asked[verb]} & heads)
    if not does:
        faults.append("it may do something else")
    if hedge := HEDGES.search(plain):
        faults.append(f"the step says {hedge[0]!r}")
    known = _known(found.tool, bound, tool.input_schema)
    unheard = [one for one in _spelled(plain) if not _is_heard(one, asked, known | (set[str]() if does else {verb}))]
    if unheard:
        faults.append(f"it says nothing of {', '.join(unheard)}")
    name = [one for one in _name_words(found.tool.name) if one not in server]
    implied = {*_implied(step), prefix}
    if any(one.takes_content and one.name in bound.arguments for one in parameters(tool.input_schema)):
        implied |= TEXTS
    if bound.takes_earlier:  # what "it" is
        implied |= {*index_words(SEAM.sub(" ", step.earlier[-1].tool))}
    unsaid = [one for one in name if one not in asked and one not in same and one not in implied]
    unsaid = unsaid[1:] if not does and unsaid[:1] == name[:1] else unsaid
    if unsaid:
        faults.append(f"its name says {', '.join(unsaid)}")
    unused = [one for one in step.values if not bound.uses(one)]
    if unused:
        faults.append(f"it has no place, or several, for {', '.join(str(one.value)[:80] for one in unused[:3])}")
    is_lost = step.speaks_of_earlier and not bound.takes_earlier and bool(step.earlier)
    if is_lost:
        faults.append("what the step says of an earlier result has no place")
    far = sum(one not in asked for one in name) + sum(one not in {*name, *server, *bound.words} for one in asked)
    # A tool that cannot take a value is hardly meant, and one that changes something had better do what is said.
    odds = len(unheard) + len(unsaid) + (not does) * (2 - tool.reads) + is_lost + 3 * len(unused) + len(bound.missing)
    deprecated = bool(DEPRECATED.search(tool.description[:300]))
    return Choice(tool, bound, tuple(faults), far + len(bound.spread), found.score / (1 + odds), deprecated)


def _stands_in(other: Choice, one: Choice) -> bool:
    """True if the other tool is of the same server and takes the same, and is not outdated."""
    same = other.bound.arguments == one.bound.arguments
    return same and not other.deprecated and other.tool.id.partition(":")[0] == one.tool.id.partition(":")[0]


def _known(tool: KnownTool, bound: Bound, schema: JsonObject) -> set[str]:
    """The words that the tool explains: of what it does, of what it needs, and of what is bound."""
    fields, words = fields_of(tool), set(bound.words)
    for name in ("server", "name", "title", "description"):
        words |= {*fields[name]}
    for one in parameters(schema):
        if one.required or one.name in bound.arguments:
            words |= {*one.words, *index_words(str(one.schema.get("description") or "")[:300])}
    for one in bound.before:
        words |= {*index_words(one.tool.description), *index_words(one.tool.id)}
    return words


def _spelled(text: str) -> list[str]:
    words = [one for one in dict.fromkeys(re.findall(r"[\w'-]+", text)) if not is_common(one)]
    return [one for one in words if not SAYS.keys() & {*index_words(one)}]  # they say what a value is


def _is_heard(word: str, asked: dict[str, Sequence[str]], known: set[str]) -> bool:
    stems = [stem for stem in index_words(word) if stem in asked]
    return plain_name(word) in known or all(stem in known or known.intersection(asked[stem]) for stem in stems)


def _implied(step: Step) -> set[str]:
    """The words that the forms of the values say: a path says file, or directory."""
    words = {*query_words(step.worded)}
    paths = [str(one.value) for one in step.values if one.is_file]
    words |= {"media" if one.lower().endswith(MEDIA) else "text" for one in paths}
    words |= {stem for one in step.values for stem in index_words(one.suffix)}
    return words | ({"multipl"} if len(paths) > 1 else set())
