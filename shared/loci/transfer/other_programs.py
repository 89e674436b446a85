"""Exports of other programs as documents: conversations, and the memory of the reference memory server.

Anthropic does not document the format of its export. This reads what such exports have had since 2024, and refuses
another shape.
"""

import json
import re
import stat
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from typing import Annotated, Any, Final, cast

from pydantic import AfterValidator, BaseModel, Field, TypeAdapter, ValidationError

from loci.core.errors import Refused
from loci.core.json import JsonObject
from loci.documents.document import ids_for
from loci.documents.ingest.local_files import blob_key, checked_path
from loci.transfer.documents import bare_document
from loci.transfer.items import Item, Loaded, UnreadableItem
from loci.transfer.transcripts import one_line, transcript_of

KNOWN: Final = ("claude", "chats", "memory-server")
CONVERSATIONS: Final = "conversations.json"
TRANSCRIPTS: Final = (".jsonl", ".json")
LARGEST: Final = 512 << 20
NOT_IN_A_NAME: Final = re.compile(r'[\s/\\:*?"<>|#^\[\]]+')
LONGEST_NAME: Final = 100
SPEAKERS: Final = {"human": "Human", "assistant": "Claude"}


@dataclass(frozen=True, slots=True)
class Note:
    """A text that becomes a document."""

    path: str
    """The path below the folder of all notes."""
    text: str
    day: str | None = None
    """The day of its last change."""


def notes_at(path: Path, kind: str | None, into: str | None) -> Iterator[Loaded | UnreadableItem]:
    """Read the notes of another program as documents below a folder. All are parsed before the first is returned."""
    if kind is not None and kind not in KNOWN:
        advice = f"Give --from with one of {', '.join(KNOWN)}; a folder of markdown: loci ingest FOLDER"
        raise Refused(f"Loci knows no {kind[:40]!r}", advice, code="UNKNOWN_FORMAT")
    if not path.exists():
        advice = f"Give the path of an archive of loci export, or of an export of {', '.join(KNOWN)}"
        raise Refused(f"There is no {path}", advice, code="NO_SUCH_PATH")
    kind = kind or _kind_of(path)
    is_export = path.suffix.lower() == ".json" or (path / CONVERSATIONS).is_file()
    read = _entities if kind == "memory-server" else _conversations if kind == "claude" and is_export else _transcripts
    folder = (into or kind).strip("/")
    for note in [*read(path)]:
        try:
            yield _document(note, folder)
        except Refused as error:
            yield UnreadableItem(note.path, str(error))


def _kind_of(path: Path) -> str:
    file = path / CONVERSATIONS if path.is_dir() else path
    if file.name == CONVERSATIONS and file.is_file():
        return "claude"
    if file.suffix.lower() in (".jsonl", ".json") and file.is_file():
        return "chats" if transcript_of(_text_of(file)) else "memory-server"
    advice = f"Say it with --from {' or '.join(KNOWN)}; a folder of markdown: loci ingest FOLDER"
    raise Refused(f"{path} is no archive of Loci, and not of another program that it knows", advice)


def _document(note: Note, folder: str) -> Loaded:
    path, content = checked_path(f"{folder}/{note.path}"), note.text.encode("utf-8", "replace")
    id = next(ids_for(path))
    value: JsonObject = bare_document(path, changed_on=note.day)
    return Loaded(Item("documents", id, value, {blob_key(id): ""}), lambda _: content)


# Conversations with Claude


def _day(time: str | None) -> str | None:
    return date.fromisoformat(time[:10]).isoformat() if time else None


Day = Annotated[str | None, AfterValidator(_day)]


class _MessagePart(BaseModel):
    type: str = ""
    text: str | None = None


class _Attachment(BaseModel):
    file_name: str | None = None
    extracted_content: str | None = None


class _Message(BaseModel):
    sender: str | None = None
    text: str | None = None
    content: list[_MessagePart] | None = None
    attachments: list[_Attachment] | None = None

    def said(self) -> str:
        """The text of the message, and the texts of its attachments."""
        parts = [one.text or "" for one in self.content or () if one.type == "text"]
        texts = ["\n\n".join(one for one in parts if one.strip()) or self.text or ""]
        for one in self.attachments or ():
            if one.extracted_content:
                texts.append(f"Attached {one.file_name or 'file'}:\n\n{one.extracted_content}")
        whole = "\n\n".join(one for one in texts if one.strip())
        return whole and f"## {SPEAKERS.get(self.sender or '', 'Message')}\n\n{whole}"


class _Conversation(BaseModel):
    uuid: str = Field(pattern="^[A-Za-z0-9_-]{1,100}$")
    chat_messages: list[_Message] | None
    name: str | None = None
    created_at: Day = None
    updated_at: Day = None


def _conversations(path: Path) -> Iterator[Note]:
    """Read a note for each conversation that has a text."""
    text = _text_of(path / CONVERSATIONS if path.is_dir() else path)
    try:
        conversations = TypeAdapter(list[_Conversation]).validate_json(text)
    except (ValidationError, ValueError):
        what = f"{CONVERSATIONS} is not written as exports of claude.ai are"
        advice = "Its format may have changed: import the conversations as markdown"
        raise Refused(what, advice, code="BAD_FORMAT") from None
    taken: set[str] = set()
    for one in conversations:
        said = [text for message in one.chat_messages or () if (text := message.said())]
        if said:
            title = (one.name or "").strip() or "Conversation"
            source = f"claude.ai/chat/{one.uuid}"
            yield _conversation(title, one.created_at, one.updated_at, source, said, taken)


def _conversation(
    title: str, day: str | None, last_day: str | None, source: str | None, said: Sequence[str], taken: set[str]
) -> Note:
    """The note of a conversation: facts about it, then its messages."""
    head = ["---", f"title: {json.dumps(title, ensure_ascii=False)}", "tags: [conversation]"]
    head += [f"date: {day}"] if day else []
    head += [f"source: {source}"] if source else []
    content = "\n\n".join(["\n".join([*head, "---", f"# {one_line(title)}"]), *said]) + "\n"
    return Note(_file_name(f"{day or ''} {title}", taken), content, last_day)


def _transcripts(path: Path) -> Iterator[Note]:
    """Read a note for each file that holds a conversation."""
    taken: set[str] = set()
    is_any = False
    for file in sorted(path.rglob("*.json*")) if path.is_dir() else [path]:
        found = transcript_of(_text_of(file)) if file.is_file() and file.suffix.lower() in TRANSCRIPTS else None
        if found and found.messages:
            is_any = True
            # Slack exports a folder for a channel, with a file for each day.
            title = found.title or (file.parent.name if file.stem == found.day else file.stem)
            yield _conversation(title, found.day, found.last_day, None, found.messages, taken)
    if not is_any:
        what = f"{path} has no conversation that Loci can read"
        advice = "Give a .jsonl file of Claude Code, lines with role and content, an export of Slack, or their folder"
        raise Refused(what, advice, code="BAD_FORMAT")


# The reference memory server


@dataclass(slots=True)
class _Entity:
    name: str
    kind: str
    observations: list[str] = field(default_factory=list[str])
    relations: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])


def _entities(path: Path) -> Iterator[Note]:
    """Read a note for each entity: its type is a tag, its relations are links."""
    entities: dict[str, _Entity] = {}
    relations: list[tuple[str, str, str]] = []
    for number, line in enumerate(_text_of(path).split("\n"), 1):
        if not line.strip():
            continue
        try:
            match json.loads(line):
                case {"type": "entity", "name": str(name), "entityType": str(kind), **more}:
                    known = entities.setdefault(name, _Entity(name, kind))
                    known.observations += _texts(cast("dict[str, Any]", more).get("observations"))
                case {"type": "relation", "from": str(source), "to": str(target), "relationType": str(kind)}:
                    relations.append((source, kind, target))
                case _:
                    raise ValueError
        except (ValueError, RecursionError):
            what = f"Line {number} is neither an entity nor a relation of the memory server"
            raise Refused(what, "Correct it, or leave it out", code="BAD_FORMAT") from None
    for source, kind, target in relations:
        entities.setdefault(source, _Entity(source, "")).relations.append((kind, target))
        entities.setdefault(target, _Entity(target, ""))
    taken: set[str] = set()
    files = {name: _file_name(name, taken) for name in entities}
    for one in entities.values():
        yield Note(files[one.name], _entity_text(one, files))


def _texts(observations: object) -> list[str]:
    """The texts in a list of observations. Raises `ValueError` for another value."""
    if not isinstance(observations, list | None):
        raise ValueError
    return [one for one in cast("list[object]", observations or []) if isinstance(one, str)]


def _entity_text(one: _Entity, files: dict[str, str]) -> str:
    lines = ["---", f"title: {json.dumps(one.name, ensure_ascii=False)}"]
    lines += [f"tags: [{json.dumps(one.kind, ensure_ascii=False)}]"] if one.kind else []
    lines += ["---", f"# {one_line(one.name)}", ""]
    lines += [f"- {one_line(observation)}" for observation in one.observations]
    if one.relations:
        lines += ["", "## Relations", ""]
        lines += [f"- {one_line(kind)} [[{files[target].removesuffix('.md')}]]" for kind, target in one.relations]
    return "\n".join(lines) + "\n"


# Both


def _file_name(title: str, taken: set[str]) -> str:
    """A file name for a title. Names differ in more than upper and lower case."""
    plain = NOT_IN_A_NAME.sub(" ", "".join(one if one.isprintable() else " " for one in title)).strip(" .")
    name = start = plain[:LONGEST_NAME].strip(" .") or "untitled"
    number = 1
    while name.casefold() in taken:
        number += 1
        name = f"{start} {number}"
    taken.add(name.casefold())
    return f"{name}.md"


def _text_of(path: Path) -> str:
    """Read the text of a file. Raises `Refused` if that fails."""
    try:
        if not stat.S_ISREG(path.stat().st_mode) or path.stat().st_size > LARGEST:
            raise Refused(f"{path} is no file, or larger than {LARGEST >> 20} MB", "Name another")
        return path.read_text("utf-8-sig")
    except OSError as error:
        raise Refused(f"{path} cannot be read ({error.strerror})", "Correct the path") from None
    except UnicodeDecodeError:
        raise Refused(f"{path} is not UTF-8", "Export it again") from None
