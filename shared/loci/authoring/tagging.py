"""Adds tags to a document: where it has tags already, else in a comment at its end. All other bytes stay."""

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import cast

import yaml

from loci.authoring.raw_text import RawText, raw_text
from loci.core.errors import Refused
from loci.markdown.front_matter import ABSENT, read_front_matter
from loci.markdown.markdown import ParsedDocument, outline_of, parse
from loci.markdown.scanners import comments
from loci.markdown.tags import MOST_TAGS, TAGS_COMMENT, tags_of, without_inline_code

MOST_PLACES = 5
"""Comments with tags that are tried as the place of a new tag, the last ones of the document."""
TAG_FIELDS = ("tags", "tag")
UNQUOTED = re.compile(r"[^\W\d_][\w/.-]*")
# Some YAML readers take these words for other values than strings.
YAML_KEYWORDS = frozenset(("y", "n", "yes", "no", "on", "off", "true", "false", "null"))

Replacement = tuple[int, int, str]
"""The first position of a part of a text, its end, and the new text for it."""


@dataclass(frozen=True, slots=True)
class TaggedText:
    """The document with its new tags."""

    content: bytes
    added: tuple[str, ...]
    """Tags that it did not have."""
    is_merged: bool
    """True if they joined tags that were there."""


def tagged(path: str, content: bytes, tags: Sequence[str]) -> TaggedText:
    """The document at that path with these tags. To do it twice changes nothing more."""
    wanted = checked_tags(tags)
    before = parse(path, content)
    added = tuple(tag for tag in wanted if tag not in before.tags)
    if not added:
        return TaggedText(content, (), is_merged=True)
    if len(before.tags) + len(added) > MOST_TAGS:
        raise Refused(f"A document can have {MOST_TAGS} tags at most", "Give it fewer", code="TOO_MANY_TAGS")
    for candidate, is_merged in _candidates(path, raw_text(content), added):
        after = parse(path, candidate)
        if set(after.tags) == {*before.tags, *added} and _is_same_otherwise(before, after):
            return TaggedText(candidate, added, is_merged)
    raise Refused(
        f"{path} has no place where tags would be read", "Close its code blocks and comments", code="NO_PLACE"
    )


def checked_tags(tags: Sequence[str]) -> tuple[str, ...]:
    """The tags as they are stored, each once. `Refused` if a tag would not be read back as it is written."""
    found = tuple(tag for given in tags for tag in tags_of([given], ""))
    if not found:
        raise Refused("None of these is a tag", "Give tags of letters, such as security", code="BAD_TAG")
    for tag in found:
        if not tag.isprintable() or set(tag) & set("`<>") or tags_of((), _comment([tag])) != (tag,):
            raise Refused(f"{tag[:80]!r} cannot be written as a tag", "Use letters, digits, - and /", code="BAD_TAG")
    return tuple(dict.fromkeys(found))


def _candidates(path: str, content: RawText, tags: Sequence[str]) -> Iterator[tuple[bytes, bool]]:
    """The bytes with the tags in each possible place, best first, and True if that place has tags already."""
    matter = read_front_matter(content.lines)
    if matter.lines and not matter.problem:
        begin = len(content.lines[0]) + 1
        if field := _in_front_matter("\n".join(content.lines[1 : matter.lines - 1]), tags):
            start, end, new = field
            yield content.replace(content.position(begin + start), content.position(begin + end), new), True
    text = _blanked(path, content, matter.lines)
    of_tags = [one for one in comments(text) if TAGS_COMMENT.fullmatch(one[1])]
    for comment in reversed(of_tags[-MOST_PLACES:]):
        written = comment[1].rstrip()
        at = content.position(comment.start(1) + len(written))
        yield content.replace(at, at, (" " if written[-1] in ":," else ", ") + ", ".join(tags)), True
    line = _comment(tags)
    end = len(content.text)
    if not content.text:
        yield content.replace(0, 0, f"{line}\n"), False
    elif content.lines[-1]:
        yield content.replace(end, end, f"\n\n{line}"), False
    else:
        is_blank = len(content.lines) > 1 and not content.lines[-2].strip()
        yield content.replace(end, end, f"{line}\n" if is_blank else f"\n{line}\n"), False
    if matter.lines < len(content.lines):
        top = content.starts[matter.lines]
        yield content.replace(top, top, f"{line}\n\n"), False


def _blanked(path: str, content: RawText, skip: int) -> str:
    """All lines, with spaces in place of front matter and code, so that positions stay the same."""
    lines = list(content.lines)
    code = outline_of(path, lines, skip).code
    for first, end in ((0, skip), *code):
        lines[first:end] = [" " * len(line) for line in lines[first:end]]
    return without_inline_code("\n".join(lines))


def _comment(tags: Sequence[str]) -> str:
    return f"<!-- tags: {', '.join(tags)} -->"


def _is_same_otherwise(before: ParsedDocument, after: ParsedDocument) -> bool:
    """True if the headings and all fields of the front matter but the tags are the same."""

    def others(one: ParsedDocument) -> dict[str, tuple[str, ...]]:
        return {name: values for name, values in one.front_matter.fields.items() if name not in TAG_FIELDS}

    titles = [[heading.title for heading in one.headings] for one in (before, after)]
    return others(before) == others(after) and titles[0] == titles[1]


def _in_front_matter(text: str, tags: Sequence[str]) -> Replacement | None:
    """The change to this YAML that adds the tags. None if it has no field for tags, or writes it in an unusual way."""
    fields = placed_fields(text) or []
    for name in TAG_FIELDS:
        for field, key, value in fields:
            if field == name:
                is_alias = value.start_mark.index < key.end_mark.index
                return None if is_alias else added_to_value(text, value, tags)
    return None


def placed_fields(text: str) -> list[tuple[str, yaml.Node, yaml.Node]] | None:
    """The fields of this YAML, with the places of their names and values. None if it has none, and other text."""
    try:
        # Pure Python: in some versions of libyaml the marks count bytes if the text is not ASCII.
        root = yaml.compose(text, yaml.BaseLoader)
    except yaml.YAMLError:
        return None
    if root is None:
        return []
    if not isinstance(root, yaml.MappingNode):
        return None
    pairs = cast("list[tuple[yaml.Node, yaml.Node]]", root.value)
    return [(str(key.value).strip().lower(), key, value) for key, value in pairs]


def added_to_value(text: str, value: yaml.Node, tags: Sequence[str]) -> Replacement | None:
    """The change to this YAML that adds the words to a value. None if it is written in an unusual way."""
    written = [as_yaml(tag) for tag in tags]
    begin, end = value.start_mark.index, value.end_mark.index
    if isinstance(value, yaml.SequenceNode):
        items = cast("list[yaml.Node]", value.value)
        if value.flow_style:
            at = items[-1].end_mark.index if items else begin + 1
            return (at, at, (", " if items else "") + ", ".join(written))
        last = items[-1]
        if not isinstance(last, yaml.ScalarNode) or last.style in ("|", ">"):
            return None
        at = text.find("\n", last.end_mark.index)
        at = len(text) if at < 0 else at
        return (at, at, "".join(f"\n{' ' * value.start_mark.column}- {one}" for one in written))
    if not isinstance(value, yaml.ScalarNode) or value.style in ("|", ">"):
        return None
    if value.style is None and value.value in ABSENT:
        space = " " if text[begin - 1 : begin] == ":" else ""
        return (begin, end, f"{space}[{', '.join(written)}]")
    at = end - 1 if value.style else end
    return (at, at, "".join(f", {tag}" for tag in tags))


def as_yaml(tag: str) -> str:
    """The word as YAML writes it."""
    return tag if UNQUOTED.fullmatch(tag) and tag not in YAML_KEYWORDS else json.dumps(tag, ensure_ascii=False)
