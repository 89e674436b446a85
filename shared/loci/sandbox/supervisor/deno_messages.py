"""A run of TypeScript: its job, the lines that its process says, and how it ended. Each line is taken for hostile."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, cast

from loci.sandbox.supervisor.bounded_json import TooManyPartsError, parsed_json

Json = None | bool | int | float | str | list["Json"] | dict[str, "Json"]
DEEPEST = 120
LONGEST = 10_000
LONGEST_REASON = 200
MOST_PARTS = 600_000
"""Parts of a line: the runner counts at most 250,000 values in a result, each with a name and a separator."""
LEVELS = frozenset({"debug", "log", "info", "warn", "error"})
DID_NOT_START = "The sandbox did not start"

WhyBroken = Literal[
    "timeout", "memory", "stuck", "too deep", "no workers", "exited", "output", "protocol", "start", "given up"
]


@dataclass(frozen=True, slots=True)
class RunLimits:
    timeout_ms: int = 30_000
    memory_mb: int = 512
    read_paths: tuple[str, ...] = ()
    """Paths that the code may read, with links resolved."""


@dataclass(frozen=True, slots=True)
class ToolClient:
    """A tool server as code sees it: its object's names, and each tool's id with its method's names."""

    names: tuple[str, ...]
    tools: tuple[tuple[str, tuple[str, ...]], ...]
    failure: str = ""
    """Why it has no tools."""


@dataclass(frozen=True, slots=True)
class TypeScriptJob:
    """The TypeScript to run, its data, its limits, and the tools that it may call."""

    code: str
    context: Mapping[str, Json] = field(default_factory=dict[str, Json])
    limits: RunLimits = RunLimits()
    clients: tuple[ToolClient, ...] = ()
    listing: tuple[Mapping[str, Json], ...] = ()
    """The value of `loci.tools`."""

    @property
    def tools(self) -> frozenset[str]:
        """Ids that may be called, whatever the code says it was shown."""
        return frozenset(id for client in self.clients for id, _ in client.tools)

    def message(self) -> dict[str, object]:
        """The job as the runner reads it."""
        servers = [
            {
                "names": client.names,
                "tools": [{"id": id, "spellings": names} for id, names in client.tools],
                "failure": client.failure,
            }
            for client in self.clients
        ]
        return {"code": self.code, "context": self.context, "servers": servers, "listing": self.listing}


@dataclass(frozen=True, slots=True)
class Ready:
    """The process waits for its job."""


@dataclass(frozen=True, slots=True)
class Logged:
    """The code printed something."""

    level: str
    text: str


@dataclass(frozen=True, slots=True)
class ToolRequest:
    """The code calls a tool."""

    number: int
    tool: str
    arguments: Json
    size: int


@dataclass(frozen=True, slots=True)
class Returned:
    """The code ended with a value."""

    value: Json
    kind: str | None
    seen: bool
    """True if the code used the clock, randomness, files or modules."""
    dropped: int


@dataclass(frozen=True, slots=True)
class Thrown:
    """The code threw an error."""

    name: str
    message: str
    line: int | None
    column: int | None
    advice: str | None
    stack: Sequence[tuple[str, int, int]]
    dropped: int
    parts: Sequence[str] = ()
    """The errors that it is made of, or that caused it, each in a line."""


@dataclass(frozen=True, slots=True)
class OverLimit:
    """The code, or its result, is more than the runner takes."""

    what: Literal["depth", "values"]
    message: str
    dropped: int


Message = Ready | Logged | ToolRequest | Returned | Thrown | OverLimit


@dataclass(frozen=True, slots=True)
class Broken:
    """The run gave nothing."""

    why: WhyBroken
    message: str


@dataclass(slots=True)
class RunLog:
    """Lines that the code printed, and the number of tools that it called."""

    lines: list[Logged] = field(default_factory=list[Logged])
    room: int = 256 * 1024
    """Characters that may still be kept."""
    dropped: int = 0
    """Lines that were not kept."""
    asked: int = 0
    denied: int = 0

    def add(self, line: Logged) -> None:
        if len(self.lines) >= 1000 or self.room <= 0:
            self.dropped += 1
            return
        kept = line if len(line.text) <= self.room else Logged(line.level, line.text[: self.room] + "…")
        self.room -= len(kept.text)
        self.lines.append(kept)


@dataclass(frozen=True, slots=True)
class FinishedRun:
    """A run that has ended, and what it used."""

    outcome: Returned | Thrown | Broken
    log: RunLog
    ms: float
    peak_bytes: int


class BadResultError(ValueError):
    """A result that makes no sense."""


def parsed(line: bytes) -> Message:
    """The message in a line. Any other text was printed by the code itself, past its console."""
    try:
        content = parsed_json(line, MOST_PARTS)
        if not isinstance(content, dict):
            return _printed(line)
        fields = cast("Mapping[str, Json]", content)
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
            case "error" | "limit" as kind:
                return _thrown(fields) if kind == "error" else _over(fields)
            case _:
                return _printed(line)
    except (BadResultError, TooManyPartsError):
        raise
    except ValueError:
        return _printed(line)


def checked(value: Json, depth: int = 0) -> Json:
    """The value, if it can be sent on: no half characters, no infinity, not too deep."""
    match value:
        case str():
            return value if value.isascii() else value.encode("utf-8", "replace").decode()
        case float():
            if not math.isfinite(value):
                raise BadResultError("a number that JSON cannot hold")
            return value
        case list() | dict() if depth > DEEPEST:
            raise BadResultError("too deep")
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
    stack, parts = fields.get("stack"), fields.get("parts")
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
        parts=tuple(_text(one, 600) for one in parts[:20]) if isinstance(parts, list) else (),
    )


def _over(fields: Mapping[str, Json]) -> OverLimit:
    what = "depth" if fields.get("what") == "depth" else "values"
    return OverLimit(what, _text(fields.get("message"), LONGEST_REASON), _count(fields.get("dropped")))


def _frame(value: Json) -> tuple[str, int, int]:
    if not isinstance(value, dict):
        return "", 0, 0
    return _text(value.get("name"), 100), _count(value.get("line")), _count(value.get("column"))


def _printed(line: bytes) -> Logged:
    return Logged("log", line[:LONGEST].decode("utf-8", "replace"))


def _text(value: Json, most: int | None) -> str:
    return value.encode("utf-8", "replace").decode()[:most] if isinstance(value, str) else ""


def _count(value: Json) -> int:
    return value if type(value) is int and 0 <= value < 1 << 31 else 0
