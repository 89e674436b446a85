"""Readers of transcripts: Claude Code, Codex, Gemini CLI and Cursor, as they write them.

No client documents its format. A reader takes what it knows by its shape, and passes over
the rest.
"""

import json
import re
import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import closing
from datetime import UTC, datetime
from itertools import takewhile
from typing import IO, Final, cast

from loci.core.json import Json, JsonObject
from loci.sessions.record import SessionRecord, one_line

LONGEST_ROW: Final = 16 << 20
"""Bytes of a line. A longer one holds pictures, and is passed over."""
LARGEST_WHOLE: Final = 64 << 20
"""Bytes of a transcript that cannot be read line by line: one JSON value, or plain text."""
NO_SPEECH: Final = re.compile(
    r"\s*(?:<(?:command-|local-command-|bash-std|task-notification|user_instructions|environment_context|ide_"
    r"|turn_aborted|subagent_notification|permissions|skill|user_shell_command|teammate-message|INSTRUCTIONS)"
    r"|Caveat: |# AGENTS\.md instructions|\[Request interrupted|This session is being continued)"
)
"""Beginnings of what a client writes for the model in the person's name."""
ADDED: Final = (
    "system-reminder",
    "system_reminder",
    "open_and_recently_viewed_files",
    "attached_files",
    "image_files",
    "timestamp",
    "user_info",
    "git_status",
    "rules",
    "agent_skills",
    "session_context",
)
"""The tags of blocks that a client adds to what the person typed."""
QUERY: Final = re.compile(r"</?user_query>|^\[Image\]$", re.MULTILINE)
ATTACHED: Final = "# Context from my IDE setup:", "# Files mentioned by the user:"
REQUEST: Final = "## My request for Codex:"
"""The heading above what a person typed, below a list of files that were open or attached."""
ROLE: Final = re.compile(r"^(user|assistant):\n", re.MULTILINE)
TOOL: Final = re.compile(r"^\[Tool ", re.MULTILINE)
GIVEN: Final = re.compile(r"  (\w{1,40}): (.*)")
THOUGHT: Final = re.compile(r"^\[Thinking\].*", re.MULTILINE)


def sessions_in_rows(file: IO[bytes]) -> Iterator[SessionRecord]:
    """The session in a transcript of lines or of one JSON object; none if it has another shape."""
    record: SessionRecord | None = None
    for row in _rows(file):
        client = record.client if record else _client_of(row)
        if client is None:
            continue
        record = record or SessionRecord(client)
        match client:
            case "claude-code":
                _claude_code(record, row)
            case "codex":
                _codex(record, row)
            case "gemini-cli":
                _gemini(record, row)
            case _:
                _cursor(record, row)
    if record:
        record.title = record.title or next((one for id, one in record.summaries.items() if id in record.rows), "")
        yield record


def _rows(file: IO[bytes]) -> Iterator[JsonObject]:
    """The objects in the lines. A bad line, and one without end, is passed over. A file may be one object, too."""
    start = file.read(1 << 12)
    file.seek(0)
    if start.lstrip()[:1] == b"{" and b"\n" in start.strip() and _object(start.split(b"\n", 1)[0]) is None:
        if whole := _object(file.read(LARGEST_WHOLE)):
            yield whole
            return
        file.seek(0)
    while line := file.readline(LONGEST_ROW):
        is_whole = line.endswith(b"\n") or len(line) < LONGEST_ROW
        while not is_whole and (more := file.readline(LONGEST_ROW)):
            is_whole, line = more.endswith(b"\n") or len(more) < LONGEST_ROW, b""
        if row := _object(line):
            yield row


def _object(text: bytes) -> JsonObject | None:
    try:
        found: Json = json.loads(text.decode("utf-8", "replace"))
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def _client_of(row: JsonObject) -> str | None:
    match row:
        case {"type": "session_meta" | "response_item" | "turn_context", "payload": {}}:
            return "codex"
        case {"sessionId": str(), "projectHash": str()}:
            return "gemini-cli"
        case {"role": "user" | "assistant", "message": {}}:
            return "cursor"
        case {"type": "user" | "assistant", "message": {}} | {"type": "summary", "summary": str()}:
            return "claude-code"
        case _:
            return None


# Claude Code


def _claude_code(record: SessionRecord, row: JsonObject) -> None:
    record.about(id=_text(row, "sessionId"), folder=_text(row, "cwd"), branch=_text(row, "gitBranch"))
    record.rows.add(_text(row, "uuid"))
    match row:
        case {"isSidechain": True} | {"isMeta": True} | {"isVisibleInTranscriptOnly": True}:
            return
        case {"isCompactSummary": True}:
            # It tells of a session that is not here, and of what was read there.
            record.is_foreign |= not record.turns
        case {"customTitle": str(title)} | {"aiTitle": str(title)}:
            record.about(title=title)
        case {"type": "summary", "summary": str(title), "leafUuid": str(id)}:
            record.summaries[id] = one_line(title, 100)
        case {"type": "user" | "assistant" as role, "message": {"content": content}}:
            _message(record, role, content, _time(row.get("timestamp")))
        case _:
            return


def _message(record: SessionRecord, role: str, content: Json, at: str) -> None:
    """Take a message with blocks of texts, uses of tools and their results."""
    blocks: list[Json] = [{"type": "text", "text": content}] if isinstance(content, str) else _list(content)
    for block in blocks:
        match block:
            case {"type": "text", "text": str(text)} if role == "assistant":
                record.model(text, at)
            case {"type": "text", "text": str(text)}:
                _typed(record, text, at)
            case {"type": "tool_use", "name": str(name), "input": dict(given)}:
                record.uses(_text(block, "id"), name, given, at)
            case {"type": "tool_result", "tool_use_id": str(id)}:
                record.result(id, _texts_of(block.get("content")), failed=block.get("is_error") is True)
            case _:
                pass


def _typed(record: SessionRecord, text: str, at: str) -> None:
    """Take what stands in the person's name, without what the client wrote there."""
    plain = QUERY.sub("", _without_added(text)) if "<" in text else text
    if plain.lstrip().startswith(ATTACHED):
        plain = plain.partition(REQUEST)[2] or plain
    if not NO_SPEECH.match(plain):
        record.person(plain, at)


def _without_added(text: str) -> str:
    """The text without the client's blocks. It takes time in proportion, whatever a stranger put there."""
    for name in ADDED:
        pieces, at = list[str](), 0
        while (first := text.find(f"<{name}>", at)) >= 0 and (last := text.find(f"</{name}>", first)) >= 0:
            pieces.append(text[at:first])
            at = last + len(name) + 3
        text = "".join((*pieces, text[at:]))
    return text


# Codex


def _codex(record: SessionRecord, row: JsonObject) -> None:
    at, item = _time(row.get("timestamp")), row.get("payload")
    match row.get("type"), item:
        case "session_meta", dict():
            git = item.get("git")
            if isinstance(git, dict):
                record.about(branch=_text(git, "branch"))
                address = _text(git, "repository_url").rstrip("/").removesuffix(".git")
                record.repository = record.repository or re.split(r"[/:]", address)[-1]
            record.about(id=_text(item, "id"), folder=_text(item, "cwd"), at=_time(item.get("timestamp")))
            record.is_part |= isinstance(item.get("source"), dict) and "subagent" in cast("JsonObject", item["source"])
        case "turn_context", dict():
            record.about(folder=_text(item, "cwd"))
        case "response_item", dict():
            _codex_item(record, item, at)
        case "event_msg", {"type": "user_message", "message": str(text)}:
            _typed(record, text, at)  # again, if it is an item as well
        case _:
            return


def _codex_item(record: SessionRecord, item: JsonObject, at: str) -> None:
    match item:
        case {"type": "message", "role": "user", "content": content}:
            _typed(record, _texts_of(content), at)
        case {"type": "message", "role": "assistant", "content": content}:
            record.model(_texts_of(content), at)
        case {"type": "function_call", "name": str(name), "arguments": str(arguments)}:
            record.uses(_text(item, "call_id"), name, _object(arguments.encode()) or {}, at)
        case {"type": "custom_tool_call", "name": str(name), "input": str(given)}:
            record.uses(_text(item, "call_id"), name, {"input": given}, at)
        case {"type": "local_shell_call", "action": dict(action)}:
            record.uses(_text(item, "call_id"), "local_shell", action, at)
        case {"type": "web_search_call"}:
            record.uses("", "web_search", cast("JsonObject", item.get("action") or {}), at)
        case {"type": "function_call_output" | "custom_tool_call_output", "call_id": str(id), "output": output}:
            _codex_output(record, id, output)
        case _:
            return


def _codex_output(record: SessionRecord, id: str, output: Json) -> None:
    found = _object(output.encode()) if isinstance(output, str) and output.startswith("{") else None
    text = _texts_of(found.get("output")) if found else _texts_of(output)
    meta = found.get("metadata") if found else None
    code = meta.get("exit_code") if isinstance(meta, dict) else None
    told = re.search(r"^(?:Process exited with code|Exit code:) (\d+)", text, re.MULTILINE)
    failed = code not in (None, 0) or (told is not None and told[1] != "0")
    record.result(id, text.rpartition("\nOutput:\n")[2], failed=failed)


# Gemini CLI


def _gemini(record: SessionRecord, row: JsonObject) -> None:
    """Take a message, or the whole session with its messages."""
    more = row.get("$set")
    if isinstance(more, dict):
        _gemini(record, more)
        return
    record.about(id=_text(row, "sessionId"), title=_text(row, "summary"), at=_time(row.get("startTime")))
    record.is_part |= row.get("kind") == "subagent"
    for one in _list(row.get("messages")):
        if isinstance(one, dict):
            _gemini(record, one)
    at = _time(row.get("timestamp"))
    match row:
        case {"type": "user", "content": content}:
            _typed(record, _texts_of(content), at)
        case {"type": "gemini", "content": content}:
            record.model(_texts_of(content), at)
            for call in _list(row.get("toolCalls")):
                _gemini_call(record, call, at)
        case _:
            return


def _gemini_call(record: SessionRecord, call: Json, at: str) -> None:
    match call:
        case {"name": str(name), "args": dict(given)}:
            id = _text(call, "id")
            record.uses(id, name, given, at)
            record.result(id, _gemini_result(call.get("result")), failed=call.get("status") == "error")
        case _:
            return


def _gemini_result(parts: Json) -> str:
    for part in _list(parts):
        match part:
            case {"functionResponse": {"response": dict(response)}}:
                return _text(response, "output") or _text(response, "error")
            case _:
                pass
    return ""


# Cursor


def _cursor(record: SessionRecord, row: JsonObject) -> None:
    match row:
        case {"role": "user" | "assistant" as role, "message": {"content": content}}:
            _message(record, role, content, _time(row.get("timestamp")))
        case _:
            return


def session_in_text(file: IO[bytes]) -> Iterator[SessionRecord]:
    """The session in a transcript of an older Cursor: plain text, in which all may come from others."""
    record = SessionRecord("cursor")
    record.is_plain = record.is_foreign = True
    _, *parts = ROLE.split(file.read(LARGEST_WHOLE).decode("utf-8", "replace").replace("\r\n", "\n"))
    for role, block in zip(parts[::2], parts[1::2], strict=True):
        if role == "user":
            _typed(record, block, "")
            continue
        said, *calls = TOOL.split(block)
        record.model(THOUGHT.sub("", said))
        for call in calls:
            name, *lines = call.split("\n")
            given = [one for one in takewhile(bool, map(GIVEN.fullmatch, lines)) if one]
            if name.startswith("call] "):
                record.uses("", name[6:], {one[1]: _json_or_text(one[2]) for one in given})
    if record.turns:
        yield record


def _json_or_text(text: str) -> Json:
    return (_object(f'{{"it": {text}}}'.encode()) or {"it": text})["it"]


def cursor_marks(path: str) -> dict[str, str]:
    """The conversations in a database of Cursor, each with a mark that changes when it grows."""
    query = "SELECT key, value FROM cursorDiskKV WHERE key LIKE 'composerData:%'"
    with closing(_database(path)) as database:
        found = ((str(key), _object(_bytes(value))) for key, value in database.execute(query))
        return {
            key.partition(":")[2]: f"{one.get('lastUpdatedAt')} {len(_list(one.get('fullConversationHeadersOnly')))}"
            for key, one in found
            if one and (one.get("fullConversationHeadersOnly") or one.get("conversation"))
        }


def cursor_session(path: str, id: str) -> SessionRecord:
    """The conversation of that id in a database of Cursor."""
    record = SessionRecord("cursor")
    with closing(_database(path)) as database:

        def value(key: str) -> JsonObject:
            row = database.execute("SELECT value FROM cursorDiskKV WHERE key = ?", (key,)).fetchone()
            return (row and _object(_bytes(row[0]))) or {}

        composer = value(f"composerData:{id}")
        record.about(id=id, title=_text(composer, "name"), at=_time(composer.get("createdAt")))
        record.about(at=_time(composer.get("lastUpdatedAt")))
        headers = _list(composer.get("fullConversationHeadersOnly"))
        ids = (_text(one, "bubbleId") for one in headers if isinstance(one, dict))
        bubbles: Iterable[Json] = _list(composer.get("conversation")) or (value(f"bubbleId:{id}:{one}") for one in ids)
        for bubble in bubbles:
            if isinstance(bubble, dict):
                _bubble(record, bubble)
    return record


def _bubble(record: SessionRecord, bubble: JsonObject) -> None:
    at = _time(bubble.get("createdAt"))
    for uri in _list(bubble.get("workspaceUris")):
        if isinstance(uri, str) and uri.startswith("file://"):
            record.about(folder=uri.removeprefix("file://"))
    text = _text(bubble, "text")
    if bubble.get("type") == 1:
        _typed(record, text, at)
        return
    record.model(text, at)
    match bubble.get("toolFormerData"):
        case {"name": str(name)} as tool:
            given = _object((_text(tool, "rawArgs") or _text(tool, "params")).encode()) or {}
            record.uses(_text(bubble, "bubbleId"), name, given, at)
            answer = _object(_text(tool, "result").encode()) or {}
            record.result(_text(bubble, "bubbleId"), _text(answer, "output"), failed=tool.get("status") == "error")
        case _:
            return


def _database(path: str) -> sqlite3.Connection:
    return sqlite3.connect(f"file:{path.replace('?', '%3f').replace('#', '%23')}?mode=ro", uri=True, timeout=1)


def _bytes(value: object) -> bytes:
    return value if isinstance(value, bytes) else str(value).encode("utf-8", "replace")


# All


def _text(row: JsonObject, name: str) -> str:
    value = row.get(name)
    return value if isinstance(value, str) else ""


def _list(value: Json) -> list[Json]:
    return value if isinstance(value, list) else []


def _texts_of(content: Json) -> str:
    """The text of a content, without the blocks that are not text."""
    if isinstance(content, dict):
        content = content.get("content") or content.get("output") or ""
    if isinstance(content, str):
        return content
    texts = (_text(one, "text") if isinstance(one, dict) else one for one in _list(content))
    return "\n\n".join(one for one in texts if isinstance(one, str) and one)


def _time(written: Json) -> str:
    """The time in UTC, to the minute, written as ISO 8601 or in milliseconds; empty if it is no time."""
    try:
        if isinstance(written, int | float) and not isinstance(written, bool):
            at = datetime.fromtimestamp(written / 1000, UTC)
        elif isinstance(written, str) and "T" in written:
            at = datetime.fromisoformat(written).astimezone(UTC)
        else:
            return ""
    except (ValueError, OverflowError, OSError):
        return ""
    return at.strftime("%Y-%m-%d %H:%M")
