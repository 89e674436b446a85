"""A document as a tree of elements, for a page that shows it: no markup of its text takes effect in any other way."""

import re
import time
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, Final
from urllib.parse import unquote

from markdown_it import MarkdownIt
from markdown_it.rules_block import StateBlock
from markdown_it.rules_block.reference import reference
from markdown_it.rules_inline import StateInline
from markdown_it.token import Token

from loci.core.json import Json, JsonObject
from loci.markdown.links import SCHEME, WIKI
from loci.markdown.nouns import Mention
from loci.markdown.scanners import without_comments

LONGEST: Final = 100_000
"""Characters of a document that are shown at once."""
LONGEST_INLINE: Final = 4_000
"""Characters of a paragraph that is read for its markup: markdown-it looks ahead again for each open bracket."""
PATIENCE: Final = 1.0
"""Seconds of processor time for paragraphs, in the whole document. Later ones are shown as they are written."""
LONGEST_ADDRESS: Final = 2_000
OUTSIDE: Final = re.compile(r"https?://[^\s]+|mailto:[^\s]+", re.IGNORECASE)
ELEMENTS: Final = frozenset(
    (
        *("p", "h1", "h2", "h3", "h4", "h5", "h6", "ul", "ol", "li", "blockquote", "hr", "br"),
        *("table", "thead", "tbody", "tr", "th", "td", "em", "strong", "s"),
    )
)
"""The elements that markdown makes. Code, links and pictures are made here."""
Resolve = Callable[[Mention], str | None]
"""The id of the document that a link names; None if it names no document."""


def readable(lines: Sequence[str], resolve: Resolve) -> list[Json]:
    """The elements of a markdown text: each a text, or a list of its name, its attributes and its children.

    A link has `to`, the id of a document; `url`, an address outside; or `missing`, the name of no document. `part` is a
    heading in the document, or without one, in this very one.
    """
    references: dict[str, Any] = {}
    blocks = _markdown().parse("\n".join(lines), references)
    return _Tree(resolve, references).render(blocks)


def plain(text: str) -> list[Json]:
    """The elements of a text that is no markdown."""
    return [["pre", {}, text]]


class _Tree:
    """Makes the elements of one document."""

    def __init__(self, resolve: Resolve, references: dict[str, Any]) -> None:
        self._resolve = resolve
        self._references = references
        self._until = time.thread_time() + PATIENCE

    def render(self, tokens: Sequence[Token]) -> list[Json]:
        top: list[Json] = []
        open_ones: list[list[Json]] = [top]
        for token in tokens:
            inside = open_ones[-1]
            if token.nesting == 1:
                made = self._opened(token)
                inside.append(made)
                open_ones.append(made)
            elif token.nesting == -1:
                open_ones.pop()
            else:
                inside.extend(self._single(token))
        return top

    def _opened(self, token: Token) -> list[Json]:
        if token.type == "link_open":
            return ["a", self._target(str(token.attrGet("href") or ""))]
        name = token.tag if token.tag in ELEMENTS else "span"
        start = token.attrGet("start") if name == "ol" else None
        return [name, {} if start is None else {"start": int(start)}]

    def _single(self, token: Token) -> list[Json]:
        match token.type:
            case "inline":
                return self._inline(token.content)
            case "text" | "text_special":
                return [token.content]
            case "softbreak":
                return ["\n"]
            case "hardbreak":
                return [["br", {}]]
            case "hr":
                return [["hr", {}]]
            case "code_inline":
                return [["code", {}, token.content]]
            case "fence" | "code_block":
                return [["pre", {}, token.content]]
            case "image":
                return [self._picture(token)]
            case "wiki_link":
                return [self._wiki(token.content)]
            case _:  # whatever else there is stands as it is written
                return [token.content] if token.content else []

    def _inline(self, content: str) -> list[Json]:
        content = without_comments(content)
        if len(content) > LONGEST_INLINE or time.thread_time() > self._until:
            return [content] if content else []
        tokens: list[Token] = []
        _markdown().inline.parse(content, _markdown(), self._references, tokens)
        return self.render(tokens)

    def _picture(self, token: Token) -> Json:
        """The words for it, which lead to it: nothing is loaded."""
        return ["a", {**self._target(str(token.attrGet("src") or "")), "picture": True}, token.content or "a picture"]

    def _target(self, address: str) -> JsonObject:
        """The target of a link. An address of another kind, such as a program, leads nowhere."""
        address = address[:LONGEST_ADDRESS]
        if OUTSIDE.fullmatch(address):
            return {"url": address}
        path, _, anchor = address.partition("#")
        if SCHEME.match(address):
            return {}
        part: JsonObject = {"part": unquote(anchor)} if anchor else {}
        if not path:
            return part
        name = unquote(path.partition("?")[0])
        found = self._resolve(Mention(name, "path", "references", 0, "", anchor or None))
        return {"missing": name} if found is None else {"to": found, **part}

    def _wiki(self, written: str) -> Json:
        name, _, label = written.replace("\\|", "|").partition("|")
        target = name.partition("#")[0].partition("^")[0].strip()
        shown, heading = label.strip() or name.strip(), name.rpartition("#")[2].strip() if "#" in name else ""
        part: JsonObject = {"part": heading} if heading and not heading.startswith("^") else {}
        if not target:  # a heading of this very document
            return ["a", part, shown] if part else shown
        found = self._resolve(Mention(target, "name", "references", 0, ""))
        return ["a", {"missing": target} if found is None else {"to": found, **part}, shown]


@cache
def _markdown() -> MarkdownIt:
    """The parser. It reads blocks first, and later the inside of each."""
    made = MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"])
    made.core.ruler.disable(["inline"])
    made.block.ruler.at("reference", _reference_rule)
    made.inline.ruler.before("link", "wiki_link", _wiki_rule)
    return made


def _reference_rule(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    """`[name]: address`. `[^1]: word` is a note, and stays in the text."""
    return not state.src.startswith("[^", state.bMarks[start] + state.tShift[start]) and reference(
        state, start, end, silent
    )


def _wiki_rule(state: StateInline, silent: bool) -> bool:
    """`[[Name]]`, and `![[Name]]`."""
    if state.src[state.pos] not in "[!" or state.linkLevel:
        return False
    found = WIKI.match(state.src, state.pos)
    if found is None:
        return False
    if not silent:
        state.push("wiki_link", "", 0).content = found[1]
    state.pos = found.end()
    return True
