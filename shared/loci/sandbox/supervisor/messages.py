"""What a process behind the wall says, a line at a time. It may say anything: each line is judged as hostile."""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import cast

Json = None | bool | int | float | str | list["Json"] | dict[str, "Json"]
DEEPEST = 120
LONGEST = 10_000
LEVELS = frozenset({"debug", "log", "info", "warn", "error"})


@dataclass(frozen=True, slots=True)
class Ready:
    pass


@dataclass(frozen=True, slots=True)
class Logged:
    level: str
    text: str


@dataclass(frozen=True, slots=True)
class ToolRequest:
    """A tool is to be called."""

    number: int
    tool: str
    arguments: Json
    size: int


@dataclass(frozen=True, slots=True)
class Returned:
    value: Json
    kind: str | None
    seen: bool
    """Whether clock, randomness, files or modules were used."""
    dropped: int


@dataclass(frozen=True, slots=True)
class Thrown:
    name: str
    message: str
    line: int | None
    column: int | None
    advice: str | None
    stack: Sequence[tuple[str, int, int]]
    dropped: int


Said = Ready | Logged | ToolRequest | Returned | Thrown


class SenselessError(ValueError):
    """A result that is none."""


def said(line: bytes) -> Said:
    """The message. What is none was printed by the code itself, past its console."""
    try:
        told = json.loads(line, parse_constant=_none)
        if not isinstance(told, dict):
            return _printed(line)
        fields = cast("Mapping[str, Json]", told)
        match fields.get("t"):
            case "ready":
                return Ready()
            case "log":
                level, text = _text(fields.get("level"), 10), _text(fields.get("text"), None)
                return Logged(level if level in LEVELS else "log", text)
            case "call":
                number, tool = fields.get("n"), fields.get("tool")
                if type(number) is not int or not isinstance(tool, str):
                    return _printed(line)
                return ToolRequest(number, _text(tool, 300), checked(fields.get("args")), len(line))
            case "result":
                return _returned(fields)
            case "error":
                return _thrown(fields)
            case _:
                return _printed(line)
    except SenselessError:
        raise
    except (ValueError, RecursionError):
        return _printed(line)


def checked(value: Json, depth: int = 0) -> Json:
    """The value, with nothing in it that could not be sent on: half a character, infinity, depth without end."""
    match value:
        case str():
            return value if value.isascii() else value.encode("utf-8", "replace").decode()
        case float():
            if not math.isfinite(value):
                raise SenselessError("a number that JSON has no form for")
            return value
        case list() | dict() if depth > DEEPEST:
            raise SenselessError("too deep")
        case list():
            return [checked(one, depth + 1) for one in value]
        case dict():
            return {cast("str", checked(name)): checked(one, depth + 1) for name, one in value.items()}
        case _:
            return value


def _returned(fields: Mapping[str, Json]) -> Returned:
    kind = fields.get("kind")
    return Returned(
        checked(fields.get("value")),
        None if kind is None else _text(kind, 50),
        seen=fields.get("seen") != [],
        dropped=_count(fields.get("dropped")),
    )


def _thrown(fields: Mapping[str, Json]) -> Thrown:
    stack = fields.get("stack")
    frames = [_frame(one) for one in stack[:10]] if isinstance(stack, list) else []
    place = _frame(dict(fields))
    advice = fields.get("advice")
    return Thrown(
        _text(fields.get("name"), 100) or "Error",
        _text(fields.get("message"), 4000),
        line=place[1] or None,
        column=place[2] or None,
        advice=None if advice is None else _text(advice, 300),
        stack=[one for one in frames if one[1]],
        dropped=_count(fields.get("dropped")),
    )


def _frame(told: Json) -> tuple[str, int, int]:
    if not isinstance(told, dict):
        return "", 0, 0
    return _text(told.get("name"), 100), _count(told.get("line")), _count(told.get("column"))


def _printed(line: bytes) -> Logged:
    return Logged("log", line[:LONGEST].decode("utf-8", "replace"))


def _text(told: Json, most: int | None) -> str:
    return told.encode("utf-8", "replace").decode()[:most] if isinstance(told, str) else ""


def _count(told: Json) -> int:
    return told if type(told) is int and 0 <= told < 1 << 31 else 0


def _none(name: str) -> None:
    raise ValueError(name)
