"""`conversations.json` of a data export of claude.ai: one document for each conversation.

Anthropic does not document the format. This reads what such exports have had since 2024, and refuses anything else.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, cast

from loci.core.errors import Refused
from loci.transfer.elsewhere.notes import Note, file_name, text_of, told
from loci.transfer.items import Loaded, Unreadable

NAME: Final = "conversations.json"
LARGEST: Final = 512 << 20
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
        yield from told(_notes(cast("list[Any]", conversations)), into)


def _notes(conversations: list[Any]) -> Iterator[Note]:
    taken: set[str] = set()
    for one in conversations:
        match one:
            case {"uuid": str(id), "chat_messages": list()}:
                facts = cast("dict[str, Any]", one)
            case _:
                raise _unknown()
        said = [part for message in cast("list[Any]", facts["chat_messages"]) for part in _said(message)]
        if not said:
            continue
        title = str(facts.get("name") or "").strip() or "Conversation"
        began, ended = (str(facts.get(name) or "")[:10] for name in ("created_at", "updated_at"))
        head = ["---", f"title: {json.dumps(title, ensure_ascii=False)}", "tags: [conversation]"]
        head += [f"date: {began}"] if began else []
        head += [f"source: claude.ai/chat/{id}", "---", f"# {' '.join(title.split())}"]
        content = "\n\n".join(["\n".join(head), *said]) + "\n"
        yield Note(file_name(f"{began} {title}", taken), content.encode("utf-8", "replace"), ended or None)


def _said(message: Any) -> Iterator[str]:
    """The texts of a message, and those that were attached to it."""
    if not isinstance(message, dict):
        raise _unknown()
    fields = cast("dict[str, Any]", message)
    parts = [
        str(cast("dict[str, Any]", one).get("text") or "")
        for one in cast("list[Any]", fields.get("content") or [])
        if isinstance(one, dict) and cast("dict[str, Any]", one).get("type") == "text"
    ]
    text = "\n\n".join(one for one in parts if one.strip()) or str(fields.get("text") or "")
    attached = [
        f"Attached {one.get('file_name') or 'file'}:\n\n{one['extracted_content']}"
        for one in cast("list[dict[str, Any]]", fields.get("attachments") or [])
        if one.get("extracted_content")
    ]
    whole = "\n\n".join(one for one in (text, *attached) if one.strip())
    if whole:
        speaker = SPEAKERS.get(str(fields.get("sender")), "Message")
        yield f"## {speaker}\n\n{whole}"


def _unknown() -> Refused:
    what = f"{NAME} is not written as exports of claude.ai are"
    return Refused(what, "Its format may have changed: import the conversations as markdown", code="BAD_FORMAT")
