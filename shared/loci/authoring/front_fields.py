"""Writes fields into the front matter of a document, and removes them. All other bytes stay."""

from collections.abc import Mapping

import yaml

from loci.authoring.raw_text import RawText, raw_text
from loci.authoring.tagging import Replacement, added_to_value, as_yaml, placed_fields
from loci.core.errors import Refused
from loci.markdown.front_matter import ABSENT, FENCE, read_front_matter


def with_fields(path: str, content: bytes, fields: Mapping[str, str | None]) -> bytes:
    """The document with these values in its front matter (None: without the field). To do it twice changes no more."""
    document = raw_text(content)
    known = read_front_matter(document.lines).fields
    wanted = {name: value for name, value in fields.items() if known.get(name, ()) != _values(value)}
    if not wanted:
        return content
    inner = _inner(path, document)
    if inner is None:
        return document.replace(0, 0, f"{FENCE}\n{_lines(wanted)}{FENCE}\n\n")
    text, begin, changes, new = inner, len(document.lines[0]) + 1, list[Replacement](), dict(wanted)
    for name, key, value in _pairs(path, text):
        if name in wanted:
            changes.append(_change(text, key, value, new.pop(name)))
    end = len(text) + (1 if text else 0)
    changes += [(end, end, _lines(new))] if any(new.values()) else []
    return _checked(path, document, _changed(document, begin, changes), wanted)


def with_value(path: str, content: bytes, name: str, value: str) -> bytes:
    """The document with the value in a field of its front matter, beside the values that the field has."""
    document = raw_text(content)
    inner = _inner(path, document)
    pair = next((one for one in _pairs(path, inner) if one[0] == name), None) if inner else None
    if pair is None or inner is None:
        return with_fields(path, content, {name: value})
    change = added_to_value(inner, pair[2], [value])
    return _changed(document, len(document.lines[0]) + 1, [change]) if change else content


def _inner(path: str, document: RawText) -> str | None:
    """The front matter between its fences; None if the document has none."""
    matter = read_front_matter(document.lines)
    if not matter.lines and not matter.problem:
        return None
    if matter.problem or document.lines[0].rstrip() != FENCE:
        why = matter.problem.what if matter.problem else "It is no YAML"
        raise _unwritable(path, why)
    return "\n".join(document.lines[1 : matter.lines - 1])


def _pairs(path: str, text: str) -> list[tuple[str, yaml.Node, yaml.Node]]:
    fields = placed_fields(text)
    if fields is None:
        raise _unwritable(path, "It has no fields")
    return fields


def _change(text: str, key: yaml.Node, value: yaml.Node, new: str | None) -> Replacement:
    begin, end = value.start_mark.index, value.end_mark.index
    if new is not None:
        is_empty = isinstance(value, yaml.ScalarNode) and value.style is None and value.value in ABSENT
        return begin, end, f"{' ' if is_empty and text[begin - 1 : begin] == ':' else ''}{as_yaml(new)}"
    end = text.find("\n", max(key.end_mark.index, len(text[:end].rstrip())))
    return key.start_mark.index, (len(text) if end < 0 else end) + 1, ""


def _changed(document: RawText, begin: int, changes: list[Replacement]) -> bytes:
    """The document after these changes to its front matter. One that is empty then is gone, with its fences."""
    text, kept = document.text, list[str]()
    at = 0
    for start, end, new in sorted(changes):
        first = document.position(begin + start)
        kept += (text[at:first], new.replace("\n", document.newline))
        at = document.position(begin + end)
    after = "".join((*kept, text[at:]))
    gone = f"{FENCE}{document.newline}" * 2
    if after.startswith(gone):
        after = after.removeprefix(gone).removeprefix(document.newline)
    return document.encoding.encode(after)


def _checked(path: str, before: RawText, after: bytes, wanted: Mapping[str, str | None]) -> bytes:
    """The new bytes. `Refused` if the fields are not read back as they were meant."""
    old, new = (read_front_matter(lines).fields for lines in (before.lines, raw_text(after).lines))
    meant = {name: value for name, value in old.items() if name not in wanted}
    meant |= {name: _values(value) for name, value in wanted.items() if value is not None}
    if meant != new:
        raise _unwritable(path, "It is written in an unusual way")
    return after


def _values(value: str | None) -> tuple[str, ...]:
    return () if value is None else (value,)


def _lines(fields: Mapping[str, str | None]) -> str:
    return "".join(f"{name}: {as_yaml(value)}\n" for name, value in fields.items() if value is not None)


def _unwritable(path: str, why: str) -> Refused:
    advice = "Write `supersedes: NAME` into the newer document yourself, or correct the front matter"
    return Refused(f"No field can be added to the front matter of {path}: {why}", advice, code="BAD_FRONT_MATTER")
