"""The document of a session: what was asked, decided, changed and left open, then its turns."""

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from loci.core.ids import content_id
from loci.documents.document import SESSION_TYPE
from loci.sessions.record import Line, SessionRecord, Turn, shortened

NOT_IN_A_NAME: Final = re.compile(r"[\W_]+")
LONGEST_NAME: Final = 48
LONGEST_TITLE: Final = 80
MOST_FILES: Final = 60
MOST_RANGES: Final = 20
HEADING: Final = re.compile(r"^ {0,3}#{1,6}(?=\s|$)")
BLOCK: Final = re.compile(r"^( {0,3})<")
PLAN: Final = re.compile(r"^Implement the following plan:\s*(?:#+ )?(?:(?:Implementation )?Plan: )?")
FENCE: Final = re.compile(r"^ {0,3}(`{3,}|~{3,})")
CLIENTS: Final = {"claude-code": "Claude Code", "codex": "Codex", "gemini-cli": "Gemini CLI", "cursor": "Cursor"}


def path_of(record: SessionRecord, repository: str, key: str) -> str:
    """The path of the document below the folder of all sessions. It stays the same while the session grows."""
    id = content_id(record.id or key, length=8)
    about = _slug(shortened(_first_prompt(record)), LONGEST_NAME)
    name = "-".join(filter(None, (record.began[:10], about, id)))
    return f"{record.client}/{_slug(repository, 80) or 'unknown'}/{name}.md"


def _first_prompt(record: SessionRecord) -> str:
    """The first text of the person: `asked` has the last ones. Of a plan that was accepted, its title."""
    return PLAN.sub("", next((one.parts[0] for one in record.turns if one.by == "person"), ""))


def _slug(text: str, room: int) -> str:
    return NOT_IN_A_NAME.sub("-", text.casefold())[:room].strip("-")


def document_of(record: SessionRecord, repository: str) -> str:
    """The markdown of the session."""
    title = record.title or shortened(_first_prompt(record).partition("\n")[0], LONGEST_TITLE) or "Session"
    page = _Page()
    page.section("Asked", record.asked)
    page.section("Decided", record.decided)
    files = [
        Line(f"{path} ({count} times)" if count > 1 else path) for path, count in record.changed.most_common(MOST_FILES)
    ]
    more = len(record.changed) - MOST_FILES
    page.section("Changed", [*files, *([Line(f"and {more:,} more files")] if more > 0 else []), *record.commits])
    page.section("Left open", record.open)
    page.add(["", "## Turns"])
    for turn in record.turns:
        page.turn(turn)
    if record.left_out:
        page.add(["", f"({record.left_out:,} later texts are left out.)"])
    head = {
        "title": title,
        "type": SESSION_TYPE,
        "client": record.client,
        "repository": repository,
        "branch": record.branch,
        "date": record.began[:10],
        "ended": record.ended,
        "session": record.id,
        "trust": "foreign" if record.is_foreign else "own",
    }
    lines = ["---", *(f"{name}: {json.dumps(one, ensure_ascii=False)}" for name, one in head.items() if one)]
    when = " to ".join(dict.fromkeys(filter(None, (record.began, record.ended))))
    where = f" in {repository}" if repository else ""
    branch = f", branch {record.branch}" if record.branch else ""
    intro = ["", f"# {head['title']}", "", f"A session of {CLIENTS[record.client]}{where}{branch}, {when}."]
    # Without ranges there is no such field, so a line more does not move the others.
    ranges = _ranges(page.foreign, len(lines) + len(intro) + (2 if page.foreign else 1))
    lines += [f"foreign: [{', '.join(ranges)}]"] if ranges else []
    return "\n".join([*lines, "---", *intro, *page.lines]) + "\n"


class _Page:
    """The lines of the document, and which of them may come from texts of others."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.foreign: list[tuple[int, int]] = []

    def add(self, lines: Iterable[str], *, is_foreign: bool = False) -> None:
        start = len(self.lines)
        self.lines += lines
        if is_foreign:
            if self.foreign and self.foreign[-1][1] == start:
                start = self.foreign.pop()[0]
            self.foreign.append((start, len(self.lines)))

    def section(self, title: str, lines: Sequence[Line]) -> None:
        if lines:
            self.add(["", f"## {title}", ""])
        for one in lines:
            self.add([f"- {one.text}"], is_foreign=one.is_foreign)

    def turn(self, turn: Turn) -> None:
        who = "User" if turn.by == "person" else "Assistant"
        lines = ["", f"### {who} ({turn.at})" if turn.at else f"### {who}", ""]
        lines += ["(Written after texts of others were read.)", ""] if turn.is_foreign else []
        self.add([*lines, *_contained("\n\n".join(turn.parts))], is_foreign=turn.is_foreign)


def _contained(text: str) -> Iterator[str]:
    """The lines of a turn: no heading, block of HTML or open fence in it reaches beyond it."""
    fence = ""
    for line in text.split("\n"):
        found = FENCE.match(line)
        if fence:
            is_end = found is not None and found[1].startswith(fence) and line.strip() == found[1]
            fence = "" if is_end else fence
            yield line
            continue
        fence = found[1] if found else ""
        yield BLOCK.sub(r"\1\\<", HEADING.sub("####", line))
    if fence:
        yield fence


def _ranges(found: Sequence[tuple[int, int]], before: int) -> list[str]:
    """The ranges as numbers of lines, from 1. Of very many, the last one goes on to the end."""
    kept = list(found[:MOST_RANGES])
    if len(found) > MOST_RANGES:
        kept[-1] = kept[-1][0], found[-1][1]
    return [f"{before + first + 1}-{before + end}" for first, end in kept]
