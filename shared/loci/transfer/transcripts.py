"""Transcripts: JSON of Claude Code's sessions, of messages with roles, and of Slack's export, as conversations.

They are recognised by their shape. What a model thinks, the results of its tools and side conversations are left out.
"""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import groupby
from typing import Final, cast

from loci.core.json import JsonObject

ROLES: Final = {"user": "Human", "human": "Human", "assistant": "Claude", "model": "Assistant"}
LONGEST_TITLE: Final = 80
NO_SPEECH: Final = ("<command-", "<local-command-", "<system-reminder>", "Caveat: ")
"""Beginnings of what Claude Code writes for the model in the user's name."""


@dataclass(frozen=True, slots=True)
class Transcript:
    """A conversation that a file holds."""

    title: str | None
    day: str | None
    """The day of its first message."""
    last_day: str | None
    messages: tuple[str, ...]
    """Markdown, each with a heading that names who speaks."""


@dataclass(frozen=True, slots=True)
class _Said:
    speaker: str
    text: str
    at: datetime | None = None


def transcript_of(text: str) -> Transcript | None:
    """The conversation in the text of a file. None if it has another shape."""
    rows = _rows(text)
    titles = [row.get("summary") for row in rows if row.get("type") == "summary"]
    title = next((" ".join(one.split()) for one in titles if isinstance(one, str)), None)
    for read in (_of_claude_code, _of_slack, _of_roles):
        said = [one for row in rows if (one := read(row))]
        if said and (read is _of_claude_code or len(said) == len(rows)):
            days = [one.at.date().isoformat() for one in said if one.at]
            spoken = [one for one in said if one.text]
            if title is None and read is not _of_slack:
                title = next((" ".join(one.text.split())[:LONGEST_TITLE] for one in spoken), None)
            first, last = (days[0], days[-1]) if days else (None, None)
            return Transcript(title, first, last, tuple(_messages(spoken, with_times=read is _of_slack)))
    return None


def _rows(text: str) -> list[JsonObject]:
    """The objects of a list, or of the lines; none if anything else is there."""
    try:
        found = json.loads(text) if text.lstrip()[:1] == "[" else [json.loads(one) for one in _lines(text)]
    except (ValueError, RecursionError):
        return []
    rows = cast("list[object]", found)
    return cast("list[JsonObject]", rows) if all(isinstance(row, dict) for row in rows) else []


def _lines(text: str) -> Iterator[str]:
    return (line for line in text.split("\n") if line.strip())


def _of_claude_code(row: JsonObject) -> _Said | None:
    match row:
        case {"type": "user" | "assistant" as role, "message": {"content": content}}:
            is_side = bool(row.get("isSidechain") or row.get("isMeta"))
            text = "" if is_side else _text(content)
            return _Said(ROLES[role], "" if text.startswith(NO_SPEECH) else text, _time(row.get("timestamp")))
        case _:
            return None


def _of_roles(row: JsonObject) -> _Said | None:
    match row:
        case {"role": str(role), "content": str() | list() | None as content}:
            name = "Assistant" if role == "assistant" else ROLES.get(role)
            return _Said(name or role, _text(content) if name else "")
        case _:
            return None


def _of_slack(row: JsonObject) -> _Said | None:
    match row:
        case {"user": str(user), "text": str(text), "ts": str(at)}:
            profile = row.get("user_profile")
            name = profile.get("real_name") if isinstance(profile, dict) else None
            return _Said(one_line(name if isinstance(name, str) else user), text.strip(), _time(at))
        case {"type": "message", "text": str(), "ts": str()}:  # of a program
            return _Said("", "")
        case _:
            return None


def _text(content: object) -> str:
    """The text of a message, without the blocks that are not text."""
    if isinstance(content, str):
        return content.strip()
    blocks = cast("list[object]", content) if isinstance(content, list) else []
    texts: list[str] = []
    for block in blocks:
        match block:
            case {"type": "text", "text": str(text)} if text.strip():
                texts.append(text.strip())
            case _:
                pass
    return "\n\n".join(texts)


def _time(written: object) -> datetime | None:
    """The time, written as ISO 8601 or in seconds."""
    try:
        text = str(written)
        is_iso = "T" in text
        return datetime.fromisoformat(text).astimezone(UTC) if is_iso else datetime.fromtimestamp(float(text), UTC)
    except (ValueError, OverflowError, OSError):
        return None


def _messages(spoken: Sequence[_Said], *, with_times: bool) -> Iterator[str]:
    """The messages. What one side says in several steps is one message."""
    if with_times:
        yield from (f"## {one.speaker} ({one.at:%Y-%m-%d %H:%M})\n\n{one.text}" for one in spoken if one.at)
        return
    for speaker, several in groupby(spoken, key=lambda one: one.speaker):
        yield "\n\n".join([f"## {speaker}", *(one.text for one in several)])


def one_line(text: str) -> str:
    """The text without breaks of lines, each space once."""
    return " ".join(text.split())
