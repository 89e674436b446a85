"""The record of a session: its turns and what it decided, changed and left open, without secrets and long outputs."""

import re
from collections import Counter, deque
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final, Literal

from loci.core.json import JsonObject, encodable
from loci.core.secrets_in_text import LONGEST, without_secrets
from loci.sessions.tool_use import ToolUse

LONGEST_TURN: Final = 6_000
LONGEST_SESSION: Final = 1_500_000
"""Characters of all turns. Later turns count for the lists, and their texts are left out."""
FEWEST_WORDS: Final = 3
LONGEST_END: Final = 8_000
"""Characters of a result that are looked at, from its end. No secret that ends in the last lines is longer."""
LONGEST_LINE: Final = 300
LONGEST_ERROR: Final = 600
MOST_LINES: Final = 20
"""Lines of each list."""
CONTROL: Final = re.compile(
    r"\x1b\[[0-9;?]*[A-Za-z]|[^\S\n\t ]|[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]"
)
SENTENCE: Final = re.compile(r"(?<=[.!?])\s+|\n+")
DECIDED: Final = re.compile(
    r"\b(?:decided|decision|agreed|settled on|going with|instead of|rather than|let'?s (?:go with|use|keep|do)"
    r"|(?:we|i)(?:'ll| will| should)? (?:go with|use|keep|stick with|chose|choose|picked?))\b",
    re.IGNORECASE,
)
TOLD: Final = re.compile(r"\b(?:always|never|don'?t|do not|must|prefer)\b", re.IGNORECASE)
"""Words with which a person decides."""
OPEN: Final = re.compile(
    r"\b(?:TODO|FIXME|not yet|still (?:needs?|fails?|open|missing|to do)|remains?|remaining|left (?:open|to do|out)"
    r"|next steps?|follow[- ]?up|unresolved|could(?:n't| not)|did(?:n't| not) (?:get|finish)|out of scope)\b",
    re.IGNORECASE,
)
MARKUP: Final = re.compile(r"^[\s>*+#\-\d.)]*")


@dataclass(frozen=True, slots=True)
class Line:
    """A line of a list."""

    text: str
    is_foreign: bool = False
    """True if its author had read texts of others by then."""


@dataclass(slots=True)
class Turn:
    """The text of one side, until the other speaks or the first text of others is read."""

    by: Literal["person", "model"]
    at: str
    is_foreign: bool
    parts: list[str] = field(default_factory=list[str])
    size: int = 0


class SessionRecord:
    """A session, as a reader tells it step by step. No text enters that was not cleaned of secrets."""

    def __init__(self, client: str) -> None:
        self.client = client
        self.id = self.title = self.branch = self.repository = self.began = self.ended = ""
        self.folders: set[str] = set()
        """The working directories."""
        self.paths: set[str] = set()
        """The absolute paths that its tools named."""
        self.is_foreign = False
        """True once texts of others were read."""
        self.is_plain = False
        """True if its format does not tell turns from texts in them: one that was read could imitate the person."""
        self.is_part = False
        """True for the session of a helper that another session started."""
        self.turns: list[Turn] = []
        self.summaries: dict[str, str] = {}
        """Titles by the row that they end with, which may be one of another session."""
        self.rows: set[str] = set()
        self.left_out = 0
        self.asked: deque[Line] = deque(maxlen=MOST_LINES)
        self.decided: deque[Line] = deque(maxlen=MOST_LINES)
        self.changed: Counter[str] = Counter()
        self.commits: deque[Line] = deque(maxlen=MOST_LINES)
        self._open: deque[Line] = deque(maxlen=MOST_LINES)
        self._plan: dict[str, tuple[str, bool]] = {}
        self._uses: dict[str, ToolUse] = {}
        self._size = 0
        self._folder = self._branch = ""

    def about(self, *, id: str = "", title: str = "", folder: str = "", branch: str = "", at: str = "") -> None:
        """Take what a record of the transcript says of the session."""
        self.id = self.id or id
        self.title = one_line(title, 100) if title else self.title
        if branch != self._branch:  # each row of a transcript may say it
            self._branch, self.branch = branch, one_line(branch, 100) or self.branch
        if folder:
            self._folder = folder
            self.folders.add(folder)
        if at:
            self.began, self.ended = min(self.began or at, at), max(self.ended, at)

    def person(self, text: str, at: str = "") -> None:
        """Take what the person typed."""
        if not text.strip():
            return
        self.about(at=at)
        said = clean(text, LONGEST_TURN)
        if self.turns and self.turns[-1].by == "person" and self.turns[-1].parts[-1] == said:
            return  # a transcript may have it twice
        if not self.asked or len(said.split()) >= FEWEST_WORDS:  # "yes" and "go on" say nothing
            self.asked.append(Line(shortened(said), self.is_plain))
        self._note(said, TOLD, is_foreign=self.is_plain)
        self._open.clear()
        self._add("person", said, at)

    def model(self, text: str, at: str = "") -> None:
        """Take what the model said."""
        if not text.strip():
            return
        self.about(at=at)
        said = clean(text, LONGEST_TURN)
        self._note(said, DECIDED, is_foreign=self.is_foreign)
        self._open.extend(Line(one, self.is_foreign) for one in _sentences(said, OPEN))
        self._add("model", said, at)

    def uses(self, id: str, name: str, given: JsonObject, at: str = "") -> None:
        """Take the use of a tool."""
        self.about(at=at)
        use = ToolUse.of(name, given, self._folder)
        if len(self._uses) < 1000:  # results that never come take no room without end
            self._uses[id] = use
        self.paths |= {one for one in use.paths if one.startswith(("/", "~"))}
        for one in use.changed:
            self.changed[one_line(self._below(one))] += 1
        if use.replaces_plan:
            self._plan = {}
        for given_key, text, is_done in use.plan:
            key = given_key or str(len(self._plan) + 1)
            self._plan[key] = one_line(text) or self._plan.get(key, ("", False))[0], is_done
        for one in use.commits:
            self.commits.append(Line(one_line(one), self.is_foreign))
        if use.plan_text:
            self.model(use.plan_text, at)
        if use.is_shown:
            self._add("model", f"- {one_line(use.name, 60)}: {one_line(self._below(use.what))}", at)
        self.is_foreign |= use.is_foreign

    def result(self, id: str, text: str, *, failed: bool = False) -> None:
        """Take the result of a tool: of an own command its end, of a question the answer, else nothing."""
        use = self._uses.pop(id, None)
        if use is None or use.is_foreign or not text.strip():
            return
        if use.kind == "question":
            answer = one_line(text)
            self.decided.append(Line(answer))
            self._add("model", answer, "")
        elif failed or use.kind == "command":
            # More than is shown is cleaned: the half of a secret is no longer seen as one.
            lines = [one for one in clean(text[-LONGEST_END:], LONGEST_END).splitlines() if one.strip()]
            shown = "\n".join(lines[-12:])[-LONGEST_ERROR:] if failed else "\n".join(lines[-2:])[-LONGEST_LINE:]
            self._add("model", "\n".join(f"      {one}" for one in shown.splitlines()), "")

    @property
    def open(self) -> list[Line]:
        """The lines on what is left to do: unfinished steps of the plan, last remarks, a question without an answer."""
        found = [Line(text, self.is_foreign) for text, is_done in self._plan.values() if text and not is_done]
        found += self._open
        if self.turns and self.turns[-1].by == "person":
            found.append(Line(f"No answer to: {shortened(self.turns[-1].parts[0])}"))
        return list({one.text: one for one in found}.values())[:MOST_LINES]

    def replace_lists(self, decided: Iterable[Line], left: Iterable[Line]) -> None:
        """Take other lists of what was decided and is left to do."""
        self.decided, self._open, self._plan = deque(decided, MOST_LINES), deque(left, MOST_LINES), {}

    def _add(self, by: Literal["person", "model"], text: str, at: str) -> None:
        if self._size > LONGEST_SESSION:
            self.left_out += 1
            return
        is_foreign = self.is_plain or (by == "model" and self.is_foreign)
        turn = self.turns[-1] if self.turns else None
        if turn is None or (turn.by, turn.is_foreign) != (by, is_foreign):
            turn = Turn(by, at, is_foreign)
            self.turns.append(turn)
        turn.at = turn.at or at
        turn.parts.append(text)
        self._size += len(text)

    def _note(self, text: str, words: re.Pattern[str], *, is_foreign: bool) -> None:
        found = dict.fromkeys([*_sentences(text, DECIDED), *(_sentences(text, words) if words is TOLD else ())])
        self.decided.extend(Line(one, is_foreign) for one in found)

    def _below(self, path: str) -> str:
        """The path from the working directory on."""
        start = f"{self._folder.rstrip('/')}/"
        return path.removeprefix(start) if self._folder else path


def clean(text: str, room: int) -> str:
    """The text without secrets, hidden characters and commands to a terminal, cut to the room."""
    plain = CONTROL.sub("", encodable(text[:LONGEST]).replace("\r\n", "\n"))
    found = without_secrets(plain).strip()
    return found if len(found) <= room else f"{found[: room - 1]}…"


def one_line(text: str, room: int = LONGEST_LINE) -> str:
    """The beginning of the text as one line."""
    return shortened(clean(text, LONGEST), room)


def shortened(text: str, room: int = LONGEST_LINE) -> str:
    """The beginning of a text that was cleaned already, as one line."""
    line = " ".join(text[: 4 * room].split())
    return line if len(line) <= room else f"{line[: room - 1]}…"


def _sentences(text: str, words: re.Pattern[str]) -> list[str]:
    plain = (MARKUP.sub("", one) for one in SENTENCE.split(text))
    return [shortened(one) for one in plain if 15 < len(one) < 400 and words.search(one)][:5]
