"""The headings and parts of a document, with their lines, and the blocks that passages are made of."""

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from html import unescape
from itertools import accumulate, groupby, pairwise
from pathlib import PurePosixPath

from markdown_it import MarkdownIt
from markdown_it.rules_block import StateBlock

from loci.markdown.conversations import NO_MESSAGES, Messages, with_messages
from loci.markdown.nouns import Heading, OutlinePart
from loci.markdown.tags import TAGS_COMMENT
from loci.search.passages import LONGEST_HEADING as LONGEST_HEADER
from loci.search.passages import Block

PLAIN_SUFFIXES = frozenset((".txt", ".text"))
MOST_LINES = 500_000
"""The most lines. For more, markdown-it would need minutes, and gigabytes for its tokens."""
LONGEST_TITLE = 200
CODE_TOKENS = frozenset(("fence", "code_block"))
LINE_TOKENS = CODE_TOKENS | {"html_block"}
LIST_TOKENS = frozenset(("bullet_list_open", "ordered_list_open"))
# The line below the header row of a table.
TABLE_RULE = re.compile(r"\s*+(?:\|\s*+)?+:?-++:?\s*+(?:\|\s*+:?-++:?\s*+)*+(?:\|\s*+)?+")
INDENT = 3
"""The most spaces before a line that is no code."""
FEWEST_TABLE_LINES = 3
"""Lines of a table: its header, its rule and a row."""
LONGEST_HEADING = 4_000
"""Characters of a heading that its title is made of."""
EMPHASIS = re.compile(r"[*`]++|(?<!\w)_++|(?<!_)_++(?!\w)")
SHOWN_LINK = re.compile(r"!?\[\[(?:[^\[\]|]*+\|)?+([^\[\]|]*+)\]\]|!?\[([^\[\]]*+)\]\([^()]*+\)")
"""The links `[[target|label]]` and `[label](target)`. Only the label stays."""
IMAGE = re.compile(r"\[?!\[[^\[\]]*+\]\([^()\s]*+\)(?:\]\([^()\s]*+\))?")
"""A picture, perhaps in a link, as the badges are behind the names of projects."""
BEGINNINGS = frozenset("`~>#*+-_<=0123456789")
"""First characters of lines that may be more than text."""
FEWEST_TURNS = 3
"""Turns in a row that make a conversation."""
SHORT_MESSAGE = 400
"""Characters."""
# A speaker and then some text: "Ann:", "**Ann Lee:**", "[10:32] Ann:", "> Ann:".
TURN = re.compile(
    r"(?:> ?)?(?:\[[^\]\n]{1,40}\] ?|\(?\d{1,2}:\d\d(?::\d\d)?\)? ?(?:[-–—] ?)?)?"  # noqa: RUF001
    r"(?:\*\*|__)?[^\W\d_][\w .'’-]{0,30}(?:\*\*|__)?: ?(?:\*\*|__)?\s*\S"  # noqa: RUF001
)


@dataclass(frozen=True, slots=True)
class MarkdownOutline:
    """The headings and parts of a text, in order, without its front matter and blank lines."""

    parts: tuple[Heading | OutlinePart, ...]
    code: tuple[tuple[int, int], ...] = ()
    """The code blocks, also those in lists and quotations: the first line of each, and the line after its last."""
    messages: Messages = NO_MESSAGES
    """The messages, if the text is a conversation."""

    @property
    def headings(self) -> tuple[Heading, ...]:
        return tuple(one for one in self.parts if isinstance(one, Heading))


def is_plain_text(path: str, lines: Sequence[str]) -> bool:
    """True if the document at that path is read as plain text, not as markdown."""
    return PurePosixPath(path).suffix.lower() in PLAIN_SUFFIXES or len(lines) > MOST_LINES


def outline_of(path: str, lines: Sequence[str], skip: int) -> MarkdownOutline:
    """The outline of the document at that path. The first `skip` lines are front matter."""
    if not is_plain_text(path, lines):
        return outline_of_markdown(lines, skip)
    parts, messages = with_messages(lines, list(_paragraphs(lines, skip)))
    return MarkdownOutline(tuple(parts), messages=messages)


def outline_of_markdown(lines: Sequence[str], skip: int) -> MarkdownOutline:
    """The outline of a markdown text. The first `skip` lines are front matter."""
    parts: list[Heading | OutlinePart] = []
    code: list[tuple[int, int]] = []
    inside = ""
    level = 0
    for token in _markdown().parse("\n".join([""] * skip + list(lines[skip:]))):
        if token.type in CODE_TOKENS and token.map:
            code.append((token.map[0], token.map[1]))
        if token.level == 0:
            inside = token.type
            level = int(token.tag[1:]) if inside == "heading_open" else 0
            if token.map and not level and inside not in LIST_TOKENS:
                kind = "lines" if inside in LINE_TOKENS else "paragraph"
                part = OutlinePart(token.map[0], _end_line(lines, token.map), kind)
                parts += _split_at_table(lines, part) if inside == "paragraph_open" else [part]
        elif level and token.type == "inline" and token.map:
            parts.append(Heading(level, _without_markup(token.content), token.map[0] + 1))
        elif inside in LIST_TOKENS and token.level == 1 and token.type == "list_item_open" and token.map:
            parts.append(OutlinePart(token.map[0], _end_line(lines, token.map), "item"))
    parts, messages = with_messages(lines, parts)
    return MarkdownOutline(tuple(parts), tuple(code), messages)


def prose_lines(lines: Sequence[str], outline: MarkdownOutline, skip: int) -> list[str]:
    """The lines, with an empty line for each line of front matter or code."""
    prose = ["" if at < skip else line for at, line in enumerate(lines)]
    for first, end in outline.code:
        prose[first:end] = [""] * (end - first)
    return prose


def blocks(lines: Sequence[str], outline: MarkdownOutline, title: str | None) -> list[Block]:
    """The parts as blocks under their headings, outermost first. A `title` that is no heading goes above them all."""
    starts = list(accumulate((len(line) + 1 for line in lines), initial=0))
    code_starts = {first for first, _ in outline.code}
    found: list[Block] = []
    numbers: list[int] = []
    for path, under in groupby(_under_headings(lines, outline, (title,) if title else ()), key=lambda pair: pair[0]):
        parts = _split_turns(lines, [part for _, part in under])
        for is_turn, run in groupby(parts, key=lambda part: _is_turn(lines, part)):
            several = list(run)
            for part in several:
                end = starts[part.end - 1] + len(lines[part.end - 1].rstrip())
                has_code = part.kind == "item" and not code_starts.isdisjoint(range(part.first, part.end))
                kind = "lines" if part.kind == "lines" or has_code else "prose"
                is_talk = is_turn and len(several) >= FEWEST_TURNS and not outline.messages.starts
                header = _header(lines, starts, part, found[-1] if found and found[-1].heading == path else None)
                found.append(Block(starts[part.first], end, path, "turn" if is_talk else kind, header=header))
                numbers.append(bisect_right(outline.messages.starts, part.first))
    return (
        _after_messages(found, numbers, 0 if outline.messages.with_model else SHORT_MESSAGE)
        if outline.messages.starts
        else found
    )


def _after_messages(found: Sequence[Block], numbers: Sequence[int], least: int) -> list[Block]:
    """The blocks of a conversation, each with what its message answers. `numbers`: of their messages, from 1.

    That is the message before, if it is short and the message has more than `least` characters: short turns of a talk
    between people are found worse with what was said before.
    """
    spans: dict[int, tuple[int, int]] = {}
    for number, block in zip(numbers, found, strict=True):
        spans[number] = (spans.get(number, (block.start, 0))[0], block.end)
    after: dict[int, tuple[int, int] | None] = {one: (start, start) for one, (start, _) in spans.items()}
    for last, number in pairwise(spans):
        (asked, answered), (start, end) = spans[last], spans[number]
        if last and answered - asked <= SHORT_MESSAGE and end - start > least:
            after[number] = asked, answered
    after[0] = None
    return [replace(block, after=after[number]) for number, block in zip(numbers, found, strict=True)]


def _header(
    lines: Sequence[str], starts: Sequence[int], part: OutlinePart, before: Block | None
) -> tuple[int, int] | None:
    """The place of the header of a table, with the short paragraph right before it, which is its caption."""
    if part.kind != "lines" or part.end - part.first < FEWEST_TABLE_LINES or not _is_rule(lines[part.first + 1]):
        return None
    start, end = starts[part.first], starts[part.first] + len(lines[part.first].rstrip())
    has_caption = before is not None and before.kind == "prose" and end - before.start <= LONGEST_HEADER
    return before.start if before is not None and has_caption else start, end


@cache
def _markdown() -> MarkdownIt:
    # Without inline markup, which takes ten times as long and is read elsewhere. A link definition stays text.
    parser = MarkdownIt("commonmark").disable(["inline", "reference"])
    parser.block.ruler.before("code", "text", _text_block)
    return parser


def _text_block(state: StateBlock, start: int, _: int, __: bool) -> bool:
    """Take a paragraph of plain lines, which is most text. The rules of markdown-it would look at each line ten times.

    False: a line may be more than text, so its own rules decide.
    """
    first = state.bMarks[start] + state.tShift[start]
    if state.sCount[start] - state.blkIndent > INDENT or state.src[first] in BEGINNINGS:
        return False
    rules, parent, line = state.md.block.ruler.getRules("paragraph"), state.parentType, start + 1
    state.parentType = "paragraph"
    try:
        while line < state.lineMax:
            first = state.bMarks[line] + state.tShift[line]
            if first >= state.eMarks[line]:
                break
            if state.src[first] in BEGINNINGS and 0 <= state.sCount[line] <= state.blkIndent + INDENT:
                if state.src[first] in "-=":  # perhaps the line under a heading
                    return False
                if any(rule(state, line, state.lineMax, True) for rule in rules):
                    break
            line += 1
    finally:
        state.parentType = parent
    state.line = line
    if state.level == 0:
        state.push("paragraph_open", "p", 0).map = [start, line]
    return True


def _split_at_table(lines: Sequence[str], part: OutlinePart) -> list[OutlinePart]:
    """The paragraph, split where a table begins: markdown-it's own tables would take longer than all the rest."""
    for at in range(part.first + 1, part.end):
        if _is_rule(lines[at]):
            table = OutlinePart(at - 1, part.end, "lines")
            return [table] if at - 1 == part.first else [OutlinePart(part.first, at - 1, "paragraph"), table]
    return [part]


def _is_rule(line: str) -> bool:
    return "|" in line and TABLE_RULE.fullmatch(line) is not None


def _paragraphs(lines: Sequence[str], skip: int) -> Iterator[OutlinePart]:
    """The paragraphs of a plain text, between blank lines."""
    first: int | None = None
    for at in range(skip, len(lines) + 1):
        is_text = at < len(lines) and not lines[at].isspace() and bool(lines[at])
        if is_text and first is None:
            first = at
        elif not is_text and first is not None:
            yield OutlinePart(first, at, "paragraph")
            first = None


def _end_line(lines: Sequence[str], span: Sequence[int]) -> int:
    """The end of the part, without the blank lines that markdown counts as part of a list item."""
    first, end = span
    while end > first + 1 and not lines[end - 1].strip():
        end -= 1
    return end


def _without_markup(heading: str) -> str:
    heading = heading[:LONGEST_HEADING]
    bare = _labels(IMAGE.sub("", heading)) if "![" in heading else _labels(heading)
    # A heading of nothing but a picture is called by what the picture shows.
    text = unescape(EMPHASIS.sub("", bare if bare.strip() else _labels(heading)))
    return " ".join(text.split())[:LONGEST_TITLE]


def _labels(heading: str) -> str:
    return SHOWN_LINK.sub(lambda link: link[1] or link[2] or "", heading)


def _under_headings(
    lines: Sequence[str], outline: MarkdownOutline, top: tuple[str, ...]
) -> Iterator[tuple[tuple[str, ...], OutlinePart]]:
    """The parts, each with the headings above it. A heading with nothing below it is a part of the section above."""
    above: list[Heading] = []
    starts = frozenset(outline.messages.starts)
    for part, following in zip(outline.parts, (*outline.parts[1:], None), strict=False):
        if isinstance(part, Heading):
            while above and above[-1].level >= part.level:
                above.pop()
            if following is None or (isinstance(following, Heading) and following.level <= part.level):
                yield (*top, *_titles(above)), OutlinePart(part.line - 1, part.line, "paragraph")
            above.append(part)
        elif not _is_tags_comment(lines, part):
            if part.first in starts:
                above = [one for one in above if one.level <= outline.messages.level]
            yield (*top, *_titles(above)), part


def _titles(headings: Sequence[Heading]) -> Iterator[str]:
    return (heading.title for heading in headings if heading.title)


def _split_turns(lines: Sequence[str], parts: Sequence[OutlinePart]) -> Iterator[OutlinePart]:
    """The parts of a section. A paragraph with a turn of a conversation on each line is split by lines."""
    for part in parts:
        every = range(part.first, part.end)
        is_long = part.kind == "paragraph" and len(every) >= FEWEST_TURNS
        if is_long and all(TURN.match(lines[at]) for at in every):
            yield from (OutlinePart(at, at + 1, "paragraph") for at in every)
        else:
            yield part


def _is_turn(lines: Sequence[str], part: OutlinePart) -> bool:
    return part.kind == "paragraph" and TURN.match(lines[part.first]) is not None


def _is_tags_comment(lines: Sequence[str], part: OutlinePart) -> bool:
    """True if the part is only a comment with tags, which is not text to search."""
    if part.kind != "lines" or not lines[part.first].startswith("<!--"):
        return False
    text = "\n".join(lines[part.first : part.end]).strip()
    return text.endswith("-->") and TAGS_COMMENT.fullmatch(text[4:-3]) is not None and text.count("<!--") == 1
