"""Edits of TOML: adds, replaces or removes one table, and keeps the rest as it is."""

import json
import re
import tomllib
from itertools import pairwise
from typing import Final, cast

from loci.core.errors import Refused
from loci.core.json import Json, JsonObject

HEADER: Final = re.compile(r"^[ \t]*\[(?P<keys>[^]\n]*)", re.MULTILINE)
BARE: Final = re.compile(r"[A-Za-z0-9_-]+")


def read_toml(text: str) -> JsonObject:
    """Parse the text. `Refused` says where it is wrong."""
    try:
        return cast("JsonObject", tomllib.loads(text))
    except tomllib.TOMLDecodeError as error:
        raise Refused(f"{error}", "Correct the file", code="BAD_CONFIGURATION") from None


def with_entry(text: str, section: str, name: str, entry: JsonObject) -> str:
    """Append the table, and remove the table with the same name."""
    left = without_entry(text, section, name)
    line_end = "\r\n" if "\r\n" in text else "\n"
    lines = [f"[{section}.{name}]", *(f"{_word(key)} = {_value_text(value)}" for key, value in entry.items()), ""]
    above = left if not left or left.endswith("\n") else left + line_end
    added = above + (line_end if above.strip() else "") + line_end.join(lines)
    try:
        tomllib.loads(added)
    except tomllib.TOMLDecodeError:
        raise Refused(
            f"{section} is written as one value, to which no table can be added",
            f"Write each of its servers as a table, [{section}.NAME]",
            code="BAD_CONFIGURATION",
        ) from None
    return added


def without_entry(text: str, section: str, name: str) -> str:
    """Remove the table and the tables below it."""
    read_toml(text)
    for start, end in reversed(_spans(text, section, name)):
        before, behind = text[:start], text[end:]
        if not behind.strip() and before.endswith(("\n\n", "\n\r\n")):
            before = before.removesuffix("\n").removesuffix("\r")
        text = before + behind
    return text


def entry_in(text: str, section: str, name: str) -> Json:
    """The entry with this name in the section, or None."""
    held = read_toml(text).get(section)
    return held.get(name) if isinstance(held, dict) else None


def _spans(text: str, section: str, name: str) -> list[tuple[int, int]]:
    """The spans of the table and the tables below it. Comments before the next table belong to the next table."""
    found = [(one.start(), _keys(one["keys"])) for one in HEADER.finditer(text)]
    spans: list[tuple[int, int]] = []
    for (start, keys), (end, _) in pairwise([*found, (len(text), ())]):
        if keys[:2] == (section, name):
            lines = text[start:end].splitlines(keepends=True)
            while len(lines) > 1 and (not lines[-1].strip() or lines[-1].lstrip().startswith("#")):
                lines.pop()
            spans.append((start, start + len("".join(lines))))
    return spans


def _keys(header: str) -> tuple[str, ...]:
    return tuple(one.strip().strip("\"'") for one in header.split("."))


def _value_text(value: Json) -> str:
    match value:
        case dict():
            return "{ " + ", ".join(f"{_word(key)} = {_value_text(one)}" for key, one in value.items()) + " }"
        case list():
            return "[" + ", ".join(map(_value_text, value)) + "]"
        case _:
            return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def _word(key: str) -> str:
    return key if BARE.fullmatch(key) else json.dumps(key, ensure_ascii=False)
