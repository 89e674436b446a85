"""The YAML or TOML block at the top of a document. A hostile one is rejected or read as plain text."""

import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, time
from typing import cast

import yaml

try:  # ten times as fast, if PyYAML was built with libyaml
    from yaml import CBaseLoader as Loader
except ImportError:
    from yaml import BaseLoader as Loader

from loci.markdown.nouns import Problem

FENCE = "---"
TOML_FENCE = "+++"
ENDS = ("---", "...")
MOST_CHARACTERS = 65_536
# libyaml overflows the stack at about 30,000 brackets.
DEEPEST = 32
TOML_KEY = r"""(?:"(?:[^"\\\n]|\\.)*+"|'[^'\n]*+'|[\w-]++)[ \t]*+"""
DEEP_TOML_KEY = re.compile(rf"(?<![\w\\-])(?:{TOML_KEY}\.[ \t]*+){{{DEEPEST}}}")
"""A key of too many parts. `tomllib` takes time in proportion to the square of their number."""
MOST_VALUES = 100
ABSENT = frozenset(("", "~", "null"))


@dataclass(frozen=True, slots=True)
class FrontMatter:
    """The fields of a front matter, or its problem."""

    fields: Mapping[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])
    """The values of each field, as they are written. Field names are in lower case."""
    lines: int = 0
    """The number of lines, with both fences. The text begins on the next line."""
    problem: Problem | None = None

    def first(self, *names: str) -> str | None:
        """The first value of these fields, in this order. None if all are empty."""
        return next((value for name in names for value in self.fields.get(name, ())), None)


NO_FRONT_MATTER = FrontMatter()
TOO_LONG = Problem(f"The front matter has more than {MOST_CHARACTERS:,} characters: it was not read", 1)
TOO_DEEP = Problem("The front matter is nested too deeply", 1)


def read_front_matter(lines: Sequence[str]) -> FrontMatter:
    """The front matter at the top of these lines. A broken one has a `problem` and no fields."""
    if lines and lines[0].rstrip() == TOML_FENCE:
        return _toml(lines)
    if not lines or lines[0].rstrip() != FENCE:
        return NO_FRONT_MATTER
    end = next((at for at, line in enumerate(lines[1:], 1) if line.rstrip() in ENDS), None)
    if end is None:
        # A horizontal rule at the top of a text is not front matter, unless a field follows it.
        has_field = len(lines) > 1 and ":" in lines[1].partition(" ")[0]
        return FrontMatter(problem=Problem("The front matter has no closing ---", 1)) if has_field else NO_FRONT_MATTER
    text = "\n".join(lines[1:end])
    if len(text) > MOST_CHARACTERS:
        return FrontMatter(lines=end + 1, problem=TOO_LONG)
    try:
        if _depth(text) > DEEPEST:
            return FrontMatter(lines=end + 1, problem=TOO_DEEP)
        # The base loader makes only strings, lists and mappings, and it does not merge mappings.
        loaded: object = yaml.load(text, Loader)  # noqa: S506
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 2 if error.problem_mark else 1
        return FrontMatter(lines=end + 1, problem=Problem(f"The front matter is broken: {error.problem}", line))
    except yaml.YAMLError:
        return FrontMatter(lines=end + 1, problem=Problem("The front matter contains characters that YAML forbids", 1))
    if not isinstance(loaded, dict):
        # Text between two horizontal rules is not front matter.
        return FrontMatter(lines=end + 1) if not loaded else NO_FRONT_MATTER
    mapping = cast("dict[object, object]", loaded)
    return FrontMatter({str(name).strip().lower(): _values(value) for name, value in mapping.items()}, end + 1)


def nested_fields(lines: Sequence[str]) -> Mapping[object, object]:
    """All that the YAML front matter says, with its texts as they are written. Empty if it is broken, or no YAML."""
    matter = read_front_matter(lines)
    if matter.problem or not matter.fields or lines[0].rstrip() != FENCE:
        return {}
    return cast("dict[object, object]", yaml.load("\n".join(lines[1 : matter.lines - 1]), Loader))  # noqa: S506


def mapping(value: object) -> Mapping[object, object]:
    """The value if it is a mapping, else an empty one."""
    return cast("dict[object, object]", value) if isinstance(value, dict) else {}


def _toml(lines: Sequence[str]) -> FrontMatter:
    """Hugo's and Zola's block between two lines of `+++`. Tags may be in the table `taxonomies`."""
    end = next((at for at, line in enumerate(lines[1:], 1) if line.rstrip() == TOML_FENCE), None)
    if end is None:
        return NO_FRONT_MATTER
    text = "\n".join(lines[1:end])
    if len(text) > MOST_CHARACTERS:
        return FrontMatter(lines=end + 1, problem=TOO_LONG)
    if DEEP_TOML_KEY.search(text):
        return FrontMatter(lines=end + 1, problem=TOO_DEEP)
    try:
        loaded = tomllib.loads(text)
        tables: list[object] = [loaded.pop("taxonomies", None), loaded]
        fields = {
            name.strip().lower(): _values(value)
            for table in tables
            if isinstance(table, dict)
            for name, value in cast("dict[str, object]", table).items()
        }
    except (ValueError, RecursionError) as error:  # a number with thousands of digits is no error of TOML
        return FrontMatter(lines=end + 1, problem=Problem(f"The front matter is broken: {str(error)[:100]}", 1))
    return FrontMatter(fields, end + 1)


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
    """The value, or the values of a list. Deeper values are left out: aliases could repeat them without end.

    Of an event of the Open Knowledge Format, `{by: human:ann, at: 2026-06-25T09:00:00Z}`, the time stands first.
    """
    several = cast("list[object]", value)[:MOST_VALUES] if isinstance(value, list) else [value]
    return tuple(text for one in several if (text := _text(one)).lower() not in ABSENT)


def _text(value: object) -> str:
    """The value as YAML would write it. Empty if it is no single value."""
    match value:
        case str():
            return value.strip()
        case date() | time():
            return value.isoformat()
        case int() | float():
            return str(value)
        case {"by": str() as by, "at": str() | date() as at}:
            return f"{_text(at)} {by.strip()}"
        case {"by": str() as by}:
            return by.strip()
        case _:
            return ""
