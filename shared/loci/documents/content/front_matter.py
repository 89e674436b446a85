"""The YAML block at the top of a document, read so that no YAML can do harm."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import cast

import yaml

try:  # ten times as fast, where PyYAML was built with it
    from yaml import CBaseLoader as Loader
except ImportError:
    from yaml import BaseLoader as Loader

from loci.documents.document import Problem

FENCE = "---"
ENDS = ("---", "...")
MOST_CHARACTERS = 65_536
# libyaml overflows the stack at about 30,000 brackets.
DEEPEST = 32
MOST_VALUES = 100
ABSENT = frozenset(("", "~", "null"))


@dataclass(frozen=True, slots=True)
class FrontMatter:
    """What a document says of itself."""

    fields: Mapping[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])
    """Each field's value, or values, as they are written; the names in lower case."""
    lines: int = 0
    """How many lines it takes, its fences included: the text begins behind them."""
    problem: Problem | None = None

    def first(self, *names: str) -> str | None:
        """The value of the first of these fields that has one."""
        return next((value for name in names for value in self.fields.get(name, ())), None)


NONE = FrontMatter()


def read_front_matter(lines: Sequence[str]) -> FrontMatter:
    """The front matter at the top of these lines. A broken one says what is wrong with it, and has no fields."""
    if not lines or lines[0].rstrip() != FENCE:
        return NONE
    end = next((at for at, line in enumerate(lines[1:], 1) if line.rstrip() in ENDS), None)
    if end is None:
        # A rule at the top of a text is no front matter, unless a field follows it.
        begun = len(lines) > 1 and ":" in lines[1].partition(" ")[0]
        return FrontMatter(problem=Problem("The front matter has no end", 1)) if begun else NONE
    text = "\n".join(lines[1:end])
    if len(text) > MOST_CHARACTERS:
        return FrontMatter(lines=end + 1, problem=Problem("The front matter is too long to be read", 1))
    try:
        if _depth(text) > DEEPEST:
            return FrontMatter(lines=end + 1, problem=Problem("The front matter is nested too deeply", 1))
        # The base loader makes strings, lists and mappings, and nothing else; it merges nothing.
        loaded: object = yaml.load(text, Loader)  # noqa: S506
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 2 if error.problem_mark else 1
        return FrontMatter(lines=end + 1, problem=Problem(f"The front matter is broken: {error.problem}", line))
    except yaml.YAMLError:
        return FrontMatter(lines=end + 1, problem=Problem("The front matter holds characters that YAML forbids", 1))
    if not isinstance(loaded, dict):
        # Text between two rules is text.
        return FrontMatter(lines=end + 1) if not loaded else NONE
    mapping = cast("dict[object, object]", loaded)
    return FrontMatter({str(name).strip().lower(): _values(value) for name, value in mapping.items()}, end + 1)


def _depth(text: str) -> int:
    depth = deepest = 0
    for event in yaml.parse(text, Loader):
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
            deepest = max(deepest, depth)
            if deepest > DEEPEST:
                break
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1
    return deepest


def _values(value: object) -> tuple[str, ...]:
    """The value, or those of a list. What is nested deeper is left out: an alias may repeat it without end."""
    several = cast("list[object]", value)[:MOST_VALUES] if isinstance(value, list) else [value]
    texts = [one.strip() for one in several if isinstance(one, str)]
    return tuple(one for one in texts if one.lower() not in ABSENT)
