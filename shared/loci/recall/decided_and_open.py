"""Finds by rules what a note says was decided, and what it leaves open."""

import re
from dataclasses import dataclass
from typing import Final

HEADING: Final = re.compile(r"#{1,6}[ \t]+(.*)")
BOX: Final = re.compile(r"[ \t]*[-*+][ \t]+\[ \][ \t]+(.+)")
SAID: Final = re.compile(r"[ \t]*(?:[-*+][ \t]+)?[*_]{0,2}([A-Za-zÄÖÜäöü ]{2,20})[*_]{0,2}:[*_]{0,2}[ \t]+(\S.*)")
DECIDED: Final = re.compile(
    r"\b(?:decisions?|decided|outcome|conclusion|resolution|agreed|entscheidung(?:en)?|entschieden|beschluss|décisions?"
    r"|decisión|decisiones)\b",
    re.IGNORECASE,
)
OPEN: Final = re.compile(
    r"\b(?:open|to-?do|next(?: steps?)?|questions?|follow-?ups?|remaining|blocked|offene?|nächste|à faire"
    r"|pendientes?)\b",
    re.IGNORECASE,
)
ROOM: Final = 200
"""Characters of each of the two."""
LONGEST: Final = 200_000
"""Characters of a note that are looked at."""


@dataclass(frozen=True, slots=True)
class Findings:
    """The decisions of a note and its loose ends, each as a short text or empty."""

    decided: str
    open: str


def decided_and_open(text: str) -> Findings:
    """What stands below such headings and behind such words, and boxes that are not ticked."""
    decided, left_open, below = list[str](), list[str](), None
    for line in text[:LONGEST].splitlines():
        if heading := HEADING.match(line):
            below = _kind(heading[1], decided, left_open)
        elif box := BOX.match(line):
            left_open.append(box[1])
        elif (said := SAID.match(line)) and (kind := _kind(said[1], decided, left_open)) is not None:
            kind.append(said[2])
        elif below is not None and line.strip():
            below.append(line.strip())
    return Findings(_short(decided), _short(left_open))


def _kind(words: str, decided: list[str], left_open: list[str]) -> list[str] | None:
    if OPEN.search(words):
        return left_open
    return decided if DECIDED.search(words) else None


def _short(lines: list[str]) -> str:
    text = "\n".join(lines)
    return text if len(text) <= ROOM else text[: ROOM - 1].rsplit(maxsplit=1)[0] + "…"
