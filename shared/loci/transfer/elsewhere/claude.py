"""`conversations.json` of a data export of claude.ai: one document for each conversation.

Anthropic does not document the format. This reads what such exports have had since 2024, and refuses anything else.
"""

import json
import re
from collections.abc import Iterator
from datetime import date
from pathlib import Path
from typing import Any, Final, cast

from loci.core.errors import Refused
from loci.transfer.elsewhere.notes import Note, file_name, text_of, told
from loci.transfer.items import Loaded, Unreadable

NAME: Final = "conversations.json"
LARGEST: Final = 512 << 20
ID: Final = re.compile(r"[A-Za-z0-9_-]{1,100}")
SPEAKERS: Final = {"human": "Human", "assistant": "Claude"}


class ClaudeExport:
    """The conversations of a person with Claude."""

    def fits(self, path: Path) -> bool:
        """True for such a file, or the folder that has it."""
        file = path / NAME if path.is_dir() else path
        if file.name != NAME or not file.is_file():
            return False
        with file.open("rb") as opened:
            return b'"chat_messages"' in opened.read(1 << 20)

    def items(self, path: Path, into: str) -> Iterator[Loaded | Unreadable]:
        """The conversations as documents, those without a text left out."""
        text = text_of(path / NAME if path.is_dir() else path, LARGEST)
        try:
            conversations: Any = json.loads(text)
        except (ValueError, RecursionError):
            raise _unknown() from None
        if not isinstance(conversations, list):
            raise _unknown()
        for _ in _notes(cast("list[Any]", conversations)):
            pass  # an odd one anywhere is refused before anything comes in
        yield from told(_notes(cast("list[Any]", conversations)), into)


def _notes(conversations: list[Any]) -> Iterator[Note]:
    taken: set[str] = set()
    for one in conversations:
        facts = _object(one)
        said = [part for message in _list(facts, "chat_messages") for part in _said(_object(message))]
        id = _text(facts, "uuid")
        if not ID.fullmatch(id) or "chat_messages" not in facts:
            raise _unknown()
        if not said:
            continue
        title = _text(facts, "name").strip() or "Conversation"
        began, ended = _day(facts, "created_at"), _day(facts, "updated_at")
        head = ["---", f"title: {json.dumps(title, ensure_ascii=False)}", "tags: [conversation]"]
        head += [f"date: {began}"] if began else []
        head += [f"source: claude.ai/chat/{id}", "---", f"# {' '.join(title.split())}"]
        content = "\n\n".join(["\n".join(head), *said]) + "\n"
        yield Note(file_name(f"{began} {title}", taken), content.encode("utf-8", "replace"), ended or None)


def _said(message: dict[str, Any]) -> Iterator[str]:
    """The texts of a message, and those that were attached to it."""
    parts = [_text(one, "text") for one in map(_object, _list(message, "content")) if one.get("type") == "text"]
    text = "\n\n".join(one for one in parts if one.strip()) or _text(message, "text")
    attached = [
        f"Attached {_text(one, 'file_name') or 'file'}:\n\n{content}"
        for one in map(_object, _list(message, "attachments"))
        if (content := _text(one, "extracted_content"))
    ]
    whole = "\n\n".join(one for one in (text, *attached) if one.strip())
    if whole:
        speaker = SPEAKERS.get(_text(message, "sender"), "Message")
        yield f"## {speaker}\n\n{whole}"


def _object(value: object) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise _unknown()
    return cast("dict[str, Any]", value)


def _list(fields: dict[str, Any], name: str) -> list[Any]:
    """The list of this name; an empty one if it is not there."""
    value = fields.get(name)
    if not isinstance(value, list | None):
        raise _unknown()
    return cast("list[Any]", value or [])


def _text(fields: dict[str, Any], name: str) -> str:
    """The text of this name; an empty one if it is not there."""
    value = fields.get(name)
    if not isinstance(value, str | None):
        raise _unknown()
    return value or ""


def _day(fields: dict[str, Any], name: str) -> str:
    """The day of a time."""
    day = _text(fields, name)[:10]
    try:
        return date.fromisoformat(day).isoformat() if day else ""
    except ValueError:
        raise _unknown() from None


def _unknown() -> Refused:
    what = f"{NAME} is not written as exports of claude.ai are"
    return Refused(what, "Its format may have changed: import the conversations as markdown", code="BAD_FORMAT")
