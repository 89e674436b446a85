"""The arguments of a question as a person reads them: a table, and lines for the text that changes.

Others wrote them. Each value stands in a box of its own, and the page's own words outside of it. A fold counts what it
holds.
"""

import html
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import takewhile
from typing import TYPE_CHECKING, Final, cast

from loci.core.errors import LociError
from loci.core.identity import Owner
from loci.core.json import Json, JsonObject, encodable
from loci.core.seen import visible

if TYPE_CHECKING:
    from loci.app import App

MOST_SHOWN: Final = 600
"""Characters of a value before its fold."""
MOST_SHOWN_LINES: Final = 12
ROOM: Final = 36
"""Lines of all values before their folds: the buttons stay near."""
LINE: Final = 80
"""Characters that take about a line."""
MOST_VALUES: Final = 20
"""Arguments before a fold."""
LONGEST_ARGUMENT_NAME: Final = 80
DEEPEST_SHOWN: Final = 30
MOST_COMPARED: Final = 100_000
"""Characters of two texts together that are compared, and below, their lines. Texts could be made to take very long."""
MOST_COMPARED_LINES: Final = 1_000
AROUND: Final = 2
"""Lines around a change."""
LONGEST_PIECE: Final = 240
MOST_CHANGED: Final = 40
"""Lines of a difference before its fold."""
MOST_FOLDED: Final = 160
"""Lines in that fold. The arguments have the texts whole."""
MOST_RAW: Final = 20_000
"""Characters of the arguments as JSON, which only repeats the table."""
PLAIN: Final = re.compile(r"[A-Za-z_][\w.-]{0,63}", re.ASCII)
"""Names of fields that need no quotation marks."""
PAIRS: Final = (("oldText", "newText"), ("old_text", "new_text"), ("old_string", "new_string"), ("old_str", "new_str"))
WRITES: Final = "loci:write_document"


@dataclass(frozen=True, slots=True)
class TextChange:
    """Texts that a call replaces, and the texts that come in their place."""

    where: str
    """The document whose text it is as it is now; empty: the call names both texts."""
    pairs: tuple[tuple[str, str], ...]
    supersedes: str = ""
    """The document that the write marks as superseded."""


def changes_of(app: "App", owner: Owner, tool: str, arguments: JsonObject) -> TextChange | None:
    """The change of text that the call asks for; None if it asks for none, or Loci cannot tell. It asks no server."""
    if tool == WRITES:
        return _document_change(app, owner, arguments)
    edits = arguments.get("edits")
    some = [one for one in (edits if isinstance(edits, list) else [arguments]) if isinstance(one, dict)]
    found = [(one[old], one[new]) for one in some for old, new in PAIRS if old in one and new in one]
    pairs = tuple((old, new) for old, new in found if isinstance(old, str) and isinstance(new, str))
    return TextChange("", pairs) if pairs and len(pairs) == len(some) else None


def _document_change(app: "App", owner: Owner, arguments: JsonObject) -> TextChange | None:
    from loci.authoring.edit_draft import Mode, checked_draft  # 0.1 s, which no other page pays

    given = {name: one for name, one in arguments.items() if isinstance(one, str)}
    mode, older = cast("Mode", given.get("mode", "create")), given.get("supersedes", "")
    try:
        text = given.get("content", "")
        hash, old, new = given.get("expected_hash"), given.get("old"), given.get("new")
        draft = checked_draft(mode, text, given.get("heading"), hash, old, new)
        read = app.documents.read(owner, given.get("path", ""), remember=False)
        after = draft.apply(read.document.path, read.text.encode()).decode()
    except (LociError, UnicodeError):
        return TextChange("", (), older) if older else None
    return TextChange(read.document.path, ((read.text, after),), older)


def change_block(change: TextChange) -> str:
    """The difference as lines with a mark, in HTML, and what else the write changes."""
    older = f"<bdi>{_shown(change.supersedes)}</bdi>"
    more = f'<p class="note">It also gets a link to {older}, which is marked as superseded by it.</p>'
    return _difference_block(change) + (more if change.supersedes else "")


def _difference_block(change: TextChange) -> str:
    if sum(len(old) + len(new) for old, new in change.pairs) > MOST_COMPARED:
        return ""
    lines = [line for old, new in change.pairs for line in _difference(old, new)]
    where = f" to {_shown(change.where)}, as it is now" if change.where else ""
    return f"<h3>Changes{where}</h3>{_diff(lines[:MOST_CHANGED])}{_more(lines[MOST_CHANGED:])}" if lines else ""


def _difference(old: str, new: str) -> Iterator[tuple[str, str]]:
    """The lines of a difference: a mark, and the text in pieces that a person can read."""
    from difflib import unified_diff  # the pages without a change do without

    before, after = old.split("\n"), new.split("\n")
    start = max(0, _same(before, after) - AROUND)
    before, after = before[start:], after[start:]
    if end := max(0, _same(before[::-1], after[::-1]) - AROUND):
        before, after = before[:-end], after[:-end]
    if len(before) + len(after) > MOST_COMPARED_LINES:
        return
    for line in [*unified_diff(before, after, lineterm="", n=AROUND)][2:]:
        if line.startswith("@@"):
            if start or not line.startswith("@@ -1"):
                yield " ", "…"
            continue
        text = visible(line[1:])
        for at in range(0, max(1, len(text)), LONGEST_PIECE):
            yield line[0], text[at : at + LONGEST_PIECE]


def _same(some: Sequence[str], other: Sequence[str]) -> int:
    """The number of lines with which both begin."""
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(some, other, strict=False)))


def _diff(lines: Sequence[tuple[str, str]]) -> str:
    return f'<pre class="diff">{"".join(_diff_line(mark, text) for mark, text in lines)}</pre>'


def _diff_line(mark: str, text: str) -> str:
    name = {"-": "del", "+": "ins"}.get(mark, "span")
    return f"<{name}><b>{mark}</b><bdi>{_shown(text)}</bdi></{name}>"


def _more(lines: Sequence[tuple[str, str]]) -> str:
    if not lines:
        return ""
    left = len(lines) - MOST_FOLDED
    rest = f'<p class="note">Of {left:,} more lines, see the arguments.</p>' if left > 0 else ""
    return f"<details><summary>and {len(lines):,} more lines</summary>{_diff(lines[:MOST_FOLDED])}{rest}</details>"


def folded(text: str, characters: int = MOST_SHOWN, lines: int = MOST_SHOWN_LINES) -> str:
    """The text in HTML: its beginning, and a fold that says how much it holds."""
    end, shown = min(len(text), characters), text[:characters].split("\n")
    if len(shown) > lines:
        end = len("\n".join(shown[:lines]))
    if len(text) - end <= LINE and "\n" not in text[end:]:  # the fold would take as much room
        end = len(text)
    head = f'<pre class="value" dir="auto">{_shown(text[:end])}</pre>' if end else ""
    if end == len(text):
        return head
    what = f"{'and ' if end else ''}{len(text) - end:,} {'more ' if end else ''}characters"
    rest = f'<pre class="value" dir="auto">{_shown(text[end:])}</pre>'
    return f"{head}<details><summary>{what}</summary>{rest}</details>"


def arguments_block(arguments: Mapping[str, Json], most: int) -> tuple[str, bool]:
    """The arguments in HTML, with at most `most` characters of values, and True if some are left out."""
    table = _ArgumentTable(most)
    rows = [table.row(name, value) for name, value in arguments.items()]
    shown = _table(rows[:MOST_VALUES]) if rows else '<p class="note">It has none.</p>'
    if more := rows[MOST_VALUES:]:
        shown += f"<details><summary>and {len(more):,} more arguments</summary>{_table(more)}</details>"
    raw = visible(json.dumps(arguments, ensure_ascii=False, indent=2))
    if rows and len(raw) <= MOST_RAW:
        shown += f'<details><summary>As JSON</summary><pre class="value" dir="auto">{_shown(raw)}</pre></details>'
    return f"<h3>Arguments</h3>{shown}", table.is_cut


class _ArgumentTable:
    """Makes the rows. What one value takes of the room is not there for the next one."""

    def __init__(self, most: int) -> None:
        self._left = most
        self._lines = ROOM
        self.is_cut = False

    def row(self, name: str, value: Json) -> str:
        long = visible(name)
        label = _shown(long) if len(long) <= LONGEST_ARGUMENT_NAME else folded(long, LONGEST_ARGUMENT_NAME, 1)
        return f'<tr><th scope="row" dir="auto">{label}</th><td>{self._value(value)}</td></tr>'

    def _value(self, value: Json) -> str:
        match value:
            case str():
                return self._text(visible(value)) if value.strip() else f"<em>{_blank(value)}</em>"
            case {} if not value:
                return "<em>an empty object</em>"
            case [] if not value:
                return "<em>an empty list</em>"
            case dict() | list():
                return self._text("\n".join(_nested(value)))
            case None:
                return "<em>null</em>"
            case _:
                return f"<code>{_shown(json.dumps(value))}</code>"

    def _text(self, text: str) -> str:
        over = len(text) - self._left
        self.is_cut = self.is_cut or over > 0
        cut = f"<em>{over:,} characters are left out here</em>" if over > 0 else ""
        text = text[: self._left]
        self._left -= len(text)
        lines = min(MOST_SHOWN_LINES, self._lines)
        self._lines -= min(lines, text.count("\n") + 1 + len(text) // LINE)
        return folded(text, LINE * lines if lines < MOST_SHOWN_LINES else MOST_SHOWN, lines) + cut


def _blank(text: str) -> str:
    return f"{len(text):,} characters of white space" if text else "an empty text"


def _table(rows: Sequence[str]) -> str:
    return f'<table class="arguments"><tbody>{"".join(rows)}</tbody></table>'


def _nested(value: Json, depth: int = 0) -> Iterator[str]:
    """An object or a list as indented lines. Texts keep their quotation marks: none can look like a line of its own."""
    some = [*value.items()] if isinstance(value, dict) else [("", one) for one in cast("list[Json]", value)]
    for name, one in some:
        key = "-" if isinstance(value, list) else f"{name if PLAIN.fullmatch(name) else _quoted(name)}:"
        if one and isinstance(one, dict | list) and depth < DEEPEST_SHOWN:
            yield f"{'  ' * depth}{key}"
            yield from _nested(one, depth + 1)
        else:
            yield f"{'  ' * depth}{key} {_quoted(one)}"


def _quoted(value: Json) -> str:
    return visible(json.dumps(value, ensure_ascii=False))


def _shown(text: str) -> str:
    return html.escape(encodable(visible(text)), quote=False)
