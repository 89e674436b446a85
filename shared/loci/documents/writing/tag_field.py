"""The tags of a front matter, edited as the text that it is: nothing else of it changes."""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

import yaml

FIELDS = ("tags", "tag")
SAFE = re.compile(r"[^\W\d_][\w/.-]*")
# YAML readers other than ours take these for something else than words.
NO_WORDS = frozenset(("y", "n", "yes", "no", "on", "off", "true", "false", "null"))
NOTHING = frozenset(("", "~", "null"))


@dataclass(frozen=True, slots=True)
class Edit:
    """From one place of a text to another something else is to stand."""

    start: int
    behind: int
    new: str


def with_tags(text: str, tags: Sequence[str]) -> Edit | None:
    """What adds the tags to this YAML; None where it has no field for them, or one that is written unusually."""
    try:
        # Pure Python: libyaml's marks count bytes where a text is not ASCII in some of its versions.
        root = yaml.compose(text, yaml.BaseLoader)
    except yaml.YAMLError:
        return None
    if not isinstance(root, yaml.MappingNode):
        return None
    pairs = cast("list[tuple[yaml.Node, yaml.Node]]", root.value)
    for name in FIELDS:
        for key, value in pairs:
            if isinstance(key, yaml.ScalarNode) and str(key.value).strip().lower() == name:
                is_alias = value.start_mark.index < key.end_mark.index
                return None if is_alias else _added(text, value, tags)
    return None


def _added(text: str, value: yaml.Node, tags: Sequence[str]) -> Edit | None:
    written = [_written(tag) for tag in tags]
    begin, end = value.start_mark.index, value.end_mark.index
    if isinstance(value, yaml.SequenceNode):
        items = cast("list[yaml.Node]", value.value)
        if value.flow_style:
            at = items[-1].end_mark.index if items else begin + 1
            return Edit(at, at, (", " if items else "") + ", ".join(written))
        last = items[-1]
        if not isinstance(last, yaml.ScalarNode) or last.style in ("|", ">"):
            return None
        at = text.find("\n", last.end_mark.index)
        at = len(text) if at < 0 else at
        return Edit(at, at, "".join(f"\n{' ' * value.start_mark.column}- {one}" for one in written))
    if not isinstance(value, yaml.ScalarNode) or value.style in ("|", ">"):
        return None
    if value.style is None and value.value in NOTHING:
        space = " " if text[begin - 1 : begin] == ":" else ""
        return Edit(begin, end, f"{space}[{', '.join(written)}]")
    at = end - 1 if value.style else end
    return Edit(at, at, "".join(f", {tag}" for tag in tags))


def _written(tag: str) -> str:
    return tag if SAFE.fullmatch(tag) and tag not in NO_WORDS else json.dumps(tag, ensure_ascii=False)
