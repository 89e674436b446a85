"""Splits an intent into the steps that it asks for."""

import re
from dataclasses import dataclass
from typing import Final

from loci.search.words import index_words
from loci.workflows.entities import givens

_VERBS: Final = """
    add analyze append apply archive assign ask build call cancel clear click clone close comment commit compare
    compile compute connect convert copy count crawl create deploy delete describe destroy detect disconnect
    display download draft drop duplicate echo edit email enumerate erase evaluate execute explain export extract
    fetch filter find fork format generate geocode get import index insert install inspect invite label launch
    link list load lock log look make measure merge modify move navigate note notify number open parse patch ping
    plan play post print publish pull push put query read rebuild record register release remove rename replace
    reply report reset resolve restart restore retrieve revert rollback run save scale schedule scrape search
    select send set share show sort start stop store submit subscribe summarise summarize sync tag take tell test
    total track transfer translate truncate type unlock update upgrade upload validate verify visit wait watch
    wipe write
"""
VERBS: Final = frozenset(_VERBS.split())
VERB_STEMS: Final = frozenset(stem for verb in VERBS for stem in index_words(verb)[:1])
_FILLERS: Final = re.compile(
    r"^(?:\s*(?:please|first(?:ly)?|second(?:ly)?|third(?:ly)?|then|next|now|finally|lastly|also|and|afterwards"
    r"|after that|can you|could you|i want (?:you )?to|we need to|let us|let's)\b[\s,:]*)+",
    re.I,
)
_SEAMS: Final = re.compile(
    r"(?:^|(?<=\s)|(?<!\s)\s+)(?:\d{1,2}[.)]|[-*•])\s+"  # numbered, or a list
    r"|(?:(?<!\s)\s+)?[;\n]\s*"
    r"|(?<=[\w'\")/])[.!]\s+(?=[A-Z])"
    r"|(?<![,\s])[,\s]+(?:and\s+)?(?:then|afterwards|after that|finally)\b[,\s]*"
    r"|(?:(?<!\s)\s+)?,\s*(?:and\s+)?|(?<!\s)\s+and\s+",
    re.I,
)
_SURE: Final = re.compile(r"then|after|finally|[;\n]|\d|[-*•]|[.!]", re.I)
_CONTENT_OF: Final = re.compile(r"\b(?:the\s+)?(?:contents?|text)\s+of\s+(?:the\s+)?(?:file\s+|page\s+)?", re.I)


READING: Final = frozenset(index_words("read get show fetch load open print look display tell"))
"""The stems of verbs that ask for nothing more than a content."""


@dataclass(frozen=True, slots=True)
class Clause:
    """A step as the intent asks for it."""

    text: str
    verb: str
    """The stem of its verb; empty if the step begins with no known verb."""
    is_after: bool = False
    """True if it is said to come after the one before."""


def clauses(intent: str) -> list[Clause]:
    """The steps, in the order in which they are told."""
    covered = [range(one.start, one.end) for one in givens(intent)]
    parts, begin, is_after = list[tuple[str, bool]](), 0, False
    for seam in _SEAMS.finditer(intent):
        if any(seam.start() in span or seam.end() - 1 in span for span in covered if len(span) > 1):
            continue
        sure = bool(_SURE.search(seam[0]))
        if not sure and not _verb_of(intent[seam.end() :], leading=True):
            continue
        parts.append((intent[begin : seam.start()], is_after))
        begin, is_after = seam.end(), sure
    parts.append((intent[begin:], is_after))
    return [
        Clause(text, _verb_of(text), after)
        for part, after in parts
        for text, after in _with_reading(_FILLERS.sub("", part).strip(" .,;:!?"), after)
        if text
    ]


def _with_reading(text: str, is_after: bool) -> list[tuple[str, bool]]:
    """`write the content of a.txt to b.txt` is two steps."""
    if _verb_of(text) in READING:
        return [(text, is_after)]
    known = givens(text)
    for found in _CONTENT_OF.finditer(text):
        named = next((one for one in known if one.start == found.end() and one.kind in ("path", "url")), None)
        if named is not None and found.start() > 0:
            rest = f"{text[: found.start()]}its content{text[named.end :]}"
            if _verb_of(text):
                reading = f"{'fetch' if named.kind == 'url' else 'read'} {text[named.start : named.end]}"
                return [(reading, is_after), (rest, True)]
    return [(text, is_after)]


def _verb_of(text: str, *, leading: bool = False) -> str:
    """The stem of the verb that a step begins with. It may stand after the name of a server."""
    fillers = _FILLERS.match(text)
    begin = fillers.end() if fillers else 0
    words = re.findall(r"[A-Za-z]+", text[begin : begin + 60])[: 1 if leading else 3]
    for word in words:
        if word.lower() in VERBS:
            return index_words(word)[0]
    return ""
