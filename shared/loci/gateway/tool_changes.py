"""Changes that a server makes to its tools after they were first seen, and tools with confusingly similar names."""

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from difflib import unified_diff
from typing import Final, cast

from loci.core.ids import content_id
from loci.core.json import Json, JsonObject, string
from loci.core.seen import skeleton, visible
from loci.gateway.tool_server import SAFE, SeenTool, UpstreamTool

LONGEST_PART: Final = 4000
"""Characters of a description or a schema that are shown. A mark stands for the rest."""
MOST_LINES: Final = 150
"""Lines of such a part. Two longer texts of a hostile server could take very long to compare."""
LONGEST_LINE: Final = 240
MOST_SHOWN: Final = 120
MOST_GONE: Final = 2000
"""Tools that are remembered after their server stopped listing them. Others are new if they come back."""
MOST_TEXT: Final = 2_000_000
LINE: Final = re.compile(r"\n")
SENTENCE: Final = re.compile(r"\n+|(?<=[.!?:;]) ")
UNORDERED: Final = frozenset({"required", "enum", "type"})
"""The keywords of a schema whose lists have no order."""


@dataclass(frozen=True, slots=True)
class ToolChange:
    """A change that nobody has accepted."""

    name: str
    version: str
    """The version of the tool as it is now, which a person accepts."""
    difference: str
    """The change in lines that begin with `-` and `+`, with invisible characters shown."""


def seen_of(tool: UpstreamTool) -> SeenTool:
    """The tool as it is now, to compare with later."""
    return SeenTool(version_of(tool), tool.safe, "\n".join(_lines(tool)))


def version_of(tool: UpstreamTool) -> str:
    """The same for two tools that say the same: neither the order of fields nor white space counts."""
    words = [" ".join(one.split()) for one in (tool.title or "", str(tool.annotations.get("title")), tool.description)]
    return content_id(*words, tool.safe, _plain(tool.input_schema), _plain(tool.output_schema), length=32)


def remembered(
    tools: Iterable[UpstreamTool], listed: Iterable[UpstreamTool], kept: Mapping[str, SeenTool]
) -> dict[str, SeenTool]:
    """The tools to remember: tools that the server has changed, lists no longer, or has added since.

    `listed`: its list before. `kept`: what was remembered of that in the same way.
    """
    now, before = {one.name: one for one in tools}, {one.name: one for one in listed if one.name not in kept}
    found, gone = dict[str, SeenTool](), dict[str, SeenTool]()
    for name in {**kept, **before, **(now if kept or before else {})}:
        if name in before and name in now and _is_same(before[name], now[name]):
            continue
        one = kept[name] if name in kept else seen_of(before[name]) if name in before else SeenTool("")
        if name in now and one.version != version_of(now[name]):
            found[name] = one
        elif name not in now and one.version:
            gone[name] = one
    return _within_room({**found, **dict([*gone.items()][:MOST_GONE])})


def _is_same(one: UpstreamTool, other: UpstreamTool) -> bool:
    return one == other or version_of(one) == version_of(other)


def change_of(tool: UpstreamTool) -> ToolChange:
    """The change of a tool that was seen otherwise."""
    before = tool.seen.text.split("\n") if tool.seen and tool.seen.text else []
    lines = [*unified_diff(before, _lines(tool), lineterm="", n=1)][2:]
    shown = [f"{one[:1]} {one[1:]}" for one in lines if not one.startswith("@@")]
    if tool.seen and tool.seen.version and not before:
        shown = ["Its earlier text was not kept. It is now:", *shown]
    more = [f"… and {len(shown) - MOST_SHOWN} lines more"] if len(shown) > MOST_SHOWN else []
    return ToolChange(tool.name, version_of(tool), "\n".join(map(visible, [*shown[:MOST_SHOWN], *more])))


def warnings(tools: Iterable[UpstreamTool], own: Iterable[str]) -> dict[str, str]:
    """The words of caution about the tools that need them, by their ids. `own`: the ids of Loci's own tools.

    Many servers have the same plain names. Only one that takes such a name later, or a name of Loci's, is remarkable.
    """
    all_tools, own_ids = [*tools], {*own}
    alike: dict[str, list[str]] = {}
    for id in (*own_ids, *(one.id for one in all_tools)):
        alike.setdefault(skeleton(id.partition(":")[2]), []).append(id)
    found: dict[str, str] = {}
    for one in all_tools:
        others = (id for id in alike[skeleton(one.name)] if id != one.id)
        other = next((id for id in others if one.seen or id in own_ids or not id.endswith(f":{one.name}")), None)
        change = one.seen and ("changed since it was first seen" if one.seen.version else "new: it came later")
        if parts := [*([change] if change else []), *([f"its name looks like {visible(other)}"] if other else [])]:
            found[one.id] = "; ".join(parts)
    return found


def stored(kept: Mapping[str, SeenTool]) -> JsonObject:
    return {name: [one.version, one.safe, *([one.text] if one.text else [])] for name, one in kept.items()}


def restored(value: Json) -> dict[str, SeenTool]:
    """Read what `stored` made. Raises `TypeError` if the value is something else."""
    some = cast("dict[str, list[Json]]", value or {})
    if not isinstance(value, dict | None):
        raise TypeError("this is no object")
    return {name: SeenTool(*map(string, one)) for name, one in some.items()}


def _within_room(some: dict[str, SeenTool]) -> dict[str, SeenTool]:
    room, kept = MOST_TEXT, dict[str, SeenTool]()
    for name, one in some.items():
        room -= len(one.text)
        kept[name] = one if room >= 0 else SeenTool(one.version, one.safe)
    return kept


def _lines(tool: UpstreamTool) -> list[str]:
    """The words of its server about the tool, in lines that people can compare."""
    titles = (" ".join(str(one or "").split()) for one in (tool.title, tool.annotations.get("title")))
    return [
        *(f"title: {one}" for one in titles if one),
        *(f"{name}: {str(value).lower()}" for letter, (name, value) in SAFE.items() if letter in tool.safe),
        *_part("description", SENTENCE, tool.description),
        *_part("input", LINE, _plain(tool.input_schema, 1)),
        *(_part("output", LINE, _plain(tool.output_schema, 1)) if tool.output_schema is not None else []),
    ]


def _part(name: str, seam: re.Pattern[str], text: str) -> list[str]:
    """The first lines, and a mark that changes with what is left of the text."""
    lines = [one for one in seam.split(text[:LONGEST_PART]) if one.strip()]
    pieces = [one[at : at + LONGEST_LINE] for one in lines for at in range(0, len(one), LONGEST_LINE)]
    rest = "\n".join(pieces[MOST_LINES:]) + text[LONGEST_PART:]
    more = [f"{name}: … and {len(rest)} characters more, {content_id(rest)}"] if rest else []
    return [*(f"{name}: {one}" for one in pieces[:MOST_LINES]), *more]


def _plain(schema: Json, indent: int | None = None) -> str:
    return json.dumps(_ordered(schema), sort_keys=True, indent=indent, ensure_ascii=indent is None)


def _ordered(value: Json) -> Json:
    """The schema with its unordered lists sorted."""
    match value:
        case dict():
            return {name: _ordered_list(one) if name in UNORDERED else _ordered(one) for name, one in value.items()}
        case list():
            return [_ordered(one) for one in value]
        case _:
            return value


def _ordered_list(value: Json) -> Json:
    return sorted(value, key=json.dumps) if isinstance(value, list) else _ordered(value)
