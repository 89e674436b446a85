"""Chooses the tool for a step: by what it does, and by how well the step's values fit it."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING, Final

from loci.core.errors import LociError
from loci.gateway.tool_words import fields_of, query_terms
from loci.search.words import SEAM, index_words, query_words
from loci.workflows.binding import Bound, bind
from loci.workflows.intent import VERB_STEMS
from loci.workflows.parameters import parameters, types_of
from loci.workflows.prior_steps import Step, speaks_of_earlier
from loci.workflows.toolbox import Toolbox, ToolFacts

if TYPE_CHECKING:
    from loci.gateway.tool_search import FoundTool

LOOKED_AT: Final = 12
CLOSE: Final = 0.12
"""Two tools that are nearer to each other than this are both likely."""
COVERED: Final = 0.5
"""The share of a step's words that a tool which surely fits has."""
DESTROYING: Final = frozenset(
    index_words(
        "delete remove drop erase discard wipe purge truncate archive destroy cancel uninstall"
        " undo revert reset restore rollback"
    )
)
_SAME: Final = """
    save write
    store write
    dump write
    put write
    show read
    print read
    parse read
    load read
    display read
    look read
    deploy release
    email send
    mail send
    tell send
    notify send
"""
SAME: Final = {
    index_words(verb)[0]: tuple(other for _, other in pairs)
    for verb, pairs in groupby(sorted(line.split() for line in _SAME.strip().splitlines()), key=lambda one: one[0])
}
"""Verbs that may mean another verb in an intent, beside the synonyms in the names of tools."""
UNSAID: Final = frozenset(
    index_words(
        "file files directory folder url email number all every content result please new it path called named titled"
    )
)
"""Words of a step that no tool need have."""
MEDIA: Final = (".png", ".jpg", ".jpeg", ".gif", ".webp", ".bmp", ".mp3", ".wav", ".ogg", ".flac", ".mp4")
PROPER: Final = re.compile(r"(?<=[a-z,] )[A-Z]\w+")
DEPRECATED: Final = re.compile(r"\bdeprecated\b", re.I)


@dataclass(frozen=True, slots=True)
class Choice:
    """The tool for a step."""

    tool: ToolFacts
    bound: Bound
    confidence: float
    why: str


def choose(step: Step, toolbox: Toolbox, context: Sequence[str]) -> Choice | None:
    """The tool that fits best; None if none does."""
    found = _found(step, toolbox, context)
    judged = sorted(
        (judged for one in found if (judged := _judged(one, found[0].score, step, toolbox))),
        key=lambda one: (-one.worth, one.tool.id),
    )
    if not judged:
        return None
    best = next((one for one in judged if not _is_outdated(one, judged)), judged[0])
    judged = [best, *(one for one in judged if one is not best and not _is_outdated(one, judged))]
    close = (one for one in judged[1:] if not one.bound.missing and best.worth - one.worth < CLOSE)
    rivals = [one for one in close if one.unasked <= best.unasked]
    reasons = [best.why]
    sure = best.sure
    if rivals and best.bound.missing == []:
        sure *= 0.5
        reasons.append(f"{rivals[0].tool.id} fits about as well")
    unused = [one for one in step.givens if one not in best.bound.used and not _is_used(one.value, best.bound)]
    if unused and not best.bound.spread:
        sure *= 0.5
        reasons.append(f"it has no use for {', '.join(str(one.value) for one in unused[:3])}")
    if best.tool.id.startswith(("loci:", "pml:")) and not best.named:
        sure *= 0.8
    if speaks_of_earlier(step.plain) and step.earlier and not best.bound.after and _needs_content(best):
        sure *= 0.7
        reasons.append("what it says of an earlier result has no place")
    return Choice(best.tool, best.bound, round(min(1.0, sure * best.bound.sure), 2), "; ".join(reasons))


def _found(step: Step, toolbox: Toolbox, context: Sequence[str]) -> "list[FoundTool]":
    """The tools that fit the step's words, or these with another verb that means the same here."""
    found = {one.tool.id: one for one in toolbox.find(step.plain, context, LOOKED_AT)}
    for other in SAME.get(step.verb, ()):
        for one in toolbox.find(re.sub(r"^\w+", other, step.plain), context, LOOKED_AT):
            if one.tool.id not in found or one.score > found[one.tool.id].score:
                found[one.tool.id] = one
    return sorted(found.values(), key=lambda one: (-one.score, one.tool.id))


def _is_outdated(one: "_Judged", others: "Sequence[_Judged]") -> bool:
    """True if the tool says that it is deprecated, and another one of the server takes the same."""
    server = one.tool.id.partition(":")[0]
    return one.deprecated and any(
        other.bound.arguments == one.bound.arguments
        and other.tool.id.partition(":")[0] == server
        and not other.deprecated
        for other in others
    )


def _unheard(step: Step, found: "FoundTool", bound: Bound) -> list[str]:
    """The words of the step that the tool has nothing to do with."""
    fields = fields_of(found.tool)
    known = {word for words in fields.values() for word in words} | set(index_words(str(bound.arguments)))
    known |= {word for one in step.givens if one.name for word in index_words(one.name.replace("_", " "))}
    known |= {step.verb, *UNSAID, *SAME.get(step.verb, ())}
    asked = query_terms(step.plain)

    def is_heard(word: str) -> bool:
        """True if the step names the server, in whole or in part, or with a synonym: few know that GitHub is a hub."""
        stems = [stem for stem in index_words(word) if stem in asked]
        return not stems or any(stem in known or known.intersection(asked[stem]) for stem in stems)

    return [word for word in dict.fromkeys(re.findall(r"[\w'-]+", step.plain)) if not is_heard(word)]


@dataclass(frozen=True, slots=True)
class _Judged:
    tool: ToolFacts
    bound: Bound
    worth: float
    sure: float
    why: str
    named: bool
    deprecated: bool
    unasked: int
    """The number of words in the name of the tool that the step does not say."""


def _judged(found: "FoundTool", best: float, step: Step, toolbox: Toolbox) -> _Judged | None:
    try:
        tool = toolbox.facts(found.tool.id)
        bound = bind(tool, step)
    except (LociError, RecursionError):  # its schema may be deeper than anybody reads
        return None
    verb = _verb(step, tool)
    words = set(index_words(step.plain))
    if verb < 0 or (DESTROYING & set(index_words(found.tool.name)) and verb <= 0.4):
        return None
    needed = bound.required or 1
    filled = 1.0 - min(1.0, len(bound.missing) / needed) if bound.required else 1.0
    used = [one for one in step.givens if one in bound.used or _is_used(one.value, bound)]
    share = len(used) / len(step.givens) if step.givens else 1.0
    named = bool(set(index_words(found.tool.server)) & words)
    deprecated = bool(DEPRECATED.search(tool.description[:300]))
    extra = len(_unasked(found, step))
    worth = (
        1.5 * found.score / (best or 1.0)
        + 0.5 * verb
        + 0.4 * named
        + 0.6 * filled
        + 0.6 * share
        - min(0.75, 0.25 * extra)
        - 0.3 * deprecated
        - 0.2 * _is_wrapped(tool, bound)
    )
    proper = PROPER.findall(step.plain)
    unheard = _unheard(step, found, bound)
    covered = max(found.words, found.meaning, found.name)
    sure = 0.3 + 0.4 * min(1.0, covered / COVERED) + 0.3 * (verb if step.verb else 0.7)
    for word in unheard:
        sure *= 0.4 if word in proper else 0.55
    why = f"{found.why}; it says nothing of {', '.join(unheard)}" if unheard else found.why
    return _Judged(tool, bound, worth, sure, why, named, deprecated, extra)


def _unasked(found: "FoundTool", step: Step) -> set[str]:
    """The words in the tool's name that the step does not say: `watchers`, where only the issue is asked for."""
    asked = query_terms(step.plain)
    heard = {*asked, *(one for same in asked.values() for one in same), *index_words(found.tool.server), *UNSAID}
    heard |= {stem for one in SAME.get(step.verb, ()) for stem in index_words(one)}
    paths = [str(one.value) for one in step.givens if one.kind == "path" and not one.is_folder]
    heard |= {"media" if one.lower().endswith(MEDIA) else "text" for one in paths}
    return set(index_words(SEAM.sub(" ", found.tool.name))) - heard - ({"multipl"} if len(paths) > 1 else set())


def _verb(step: Step, tool: ToolFacts) -> float:
    """The fit of the tool to the verb: from 1 to -1, which means that it does something else."""
    if not step.verb:
        return 0.0
    name = index_words(tool.id.partition(":")[2])
    same = {*query_terms(step.verb).get(step.verb, ()), *(index_words(one)[0] for one in SAME.get(step.verb, ()))}
    if step.verb in name:
        return 1.0
    if same & set(name):
        return 0.9
    about = set(index_words(tool.description[:400]))
    if name and name[0] in VERB_STEMS and name[0] not in query_words(step.plain):
        return 0.4 if step.verb in about and step.verb not in DESTROYING else -1.0
    return 0.7 if step.verb in about or same & about else 0.2


def _is_used(value: object, bound: Bound) -> bool:
    """True if the value is in the arguments in another shape: `owner/repo`, say."""
    told = str(value).replace("/", " ").split()
    text = str(bound.arguments)
    return bool(told) and all(one in text for one in told)


def _is_wrapped(tool: ToolFacts, bound: Bound) -> bool:
    """True if it takes a list where the step names one."""
    lists = [one.name for one in parameters(tool.input_schema) if one.is_list and "string" in types_of(one.items)]
    return any(len(value) == 1 for name in lists if isinstance(value := bound.arguments.get(name), list))


def _needs_content(one: _Judged) -> bool:
    return not one.tool.reads and not one.bound.arguments
