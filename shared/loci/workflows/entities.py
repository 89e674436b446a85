"""The values that an intent names literally: paths, addresses, quoted texts, numbers, dates, `key=value`."""

import json
import re
from dataclasses import dataclass, replace
from typing import Final, Literal

from loci.core.json import Json, JsonObject
from loci.search.words import SEAM, index_words

Kind = Literal["quoted", "named", "url", "email", "date", "time", "glob", "path", "slug", "key", "number"]
_QUOTED: Final = (
    r""""[^"]*"|`[^`]*`|\u201c[^\u201c\u201d]*\u201d|(?<!\w)'[^']*'(?!\w)|(?<!\w)\u2018[^\u2018\u2019]*\u2019(?!\w)"""
)
_TOKEN: Final = re.compile(
    rf"(?P<named>\b[A-Za-z_][\w.-]{{0,80}}+\s?=\s?(?:{_QUOTED}|[^\s,;]*[^\s,;.]))"
    rf"|(?P<quoted>{_QUOTED})"
    r"|(?P<url>\b[a-z][a-z0-9+.-]{0,20}+://[^\s<>\"']*[^\s<>\"'.,;:!?)])"
    r"|(?P<email>\b[\w.+-]{1,64}+@[\w-]+(?:\.[\w-]+)+)"
    r"|(?P<date>\b\d{4}-\d\d-\d\d(?:T\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:?\d\d)?)?\b)"
    r"|(?P<time>\b\d{1,2}:\d\d\b)"
    r"|(?P<glob>(?<![\w./{},-])[\w./{},-]*+\*[\w./{},*-]*)"
    r"|(?P<path>(?<![\w/])(?:~|\.{1,2})?/[\w.@+-][\w./@+-]*|(?<![\w/.-])[\w.-]+(?:/[\w.-]+)*/(?!\w)"
    r"|(?<![\w/.-])(?:[\w.-]+/)*\.?[\w-][\w.-]*\.(?!com\b|org\b|net\b|io\b|\d)[A-Za-z][A-Za-z0-9]{0,5}\b(?!/))"
    r"|(?P<slug>(?<![\w/.-])[A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w-]*+(?:\.[\w-]+)*+(?!/))"
    r"|(?P<key>\b[A-Z][A-Z0-9]+-\d+\b|\b(?=[A-Z0-9]*\d)[A-Z][A-Z0-9]{7,}\b|\b(?=[0-9a-f-]{0,64}\d)[0-9a-f]{7,}(?:-[0-9a-f]{4,})*\b)"
    r"|(?P<number>(?<![\w.-])#?-?\d+(?:\.\d+)?(?![\w%]))"
)
_IN_FOLDER: Final = re.compile(
    r"\b(?:in|under|of|inside|from)\s+(?:the\s+)?(?P<name>(?!(?:the|a|an|this|that)\b)[\w-]+)\s+(?:folder|directory)\b",
    re.I,
)
_FOLDER: Final = re.compile(
    r"\b(?:directory|folder)\s+(?!(?:of|in|and|at|to|tree|with|for|from|named|called|by|as|on)\b)(?P<name>[\w.-]+)",
    re.I,
)
_NAMED: Final = re.compile(r"\b(?:called|named|titled)\s+(?P<name>\w[\w.-]*)", re.I)
_PLACES: Final[list[tuple[re.Pattern[str], Kind]]] = [(_IN_FOLDER, "path"), (_FOLDER, "path"), (_NAMED, "quoted")]
"""Patterns of values that need no quotes where they stand."""
GENERIC: Final[dict[Kind, str]] = {"path": "file", "glob": "files", "url": "url", "email": "email"}
"""The words that a search for tools gets instead of such a value."""
NEAR: Final = 4
LONGEST_VALUE: Final = 2_000
"""A longer value of a context is a text, whatever it begins with."""


@dataclass(frozen=True, slots=True)
class Given:
    """A value that the intent names."""

    kind: Kind
    value: Json
    start: int
    end: int
    cues: tuple[str, ...] = ()
    """The stems of the words before it, the nearest first."""
    after: str = ""
    """The stem of the word after it."""
    name: str = ""
    """The key of `key=value`, or of a value of the context."""

    @property
    def is_folder(self) -> bool:
        return self.kind == "path" and "." not in str(self.value).rstrip("/").rpartition("/")[2]


def givens(text: str) -> list[Given]:
    """The values that the text names, in order."""
    found = [one for one in map(_given, _TOKEN.finditer(text)) if one]
    taken = [range(one.start, one.end) for one in found]
    found += [
        Given(kind, one["name"], one.start("name"), one.end("name"))
        for pattern, kind in _PLACES
        for one in pattern.finditer(text)
        if not any(one.start("name") in span for span in taken)
    ]
    ordered = sorted(found, key=lambda one: one.start)
    return [_with_cues(one, text, ordered) for one in ordered]


def from_context(context: JsonObject, stems: set[str], at: int) -> list[Given]:
    """The values of the context that a text with these stems speaks of."""
    return [
        replace(known, start=at, end=at, name=name)
        for name, value in context.items()
        if stems.issuperset(index_words(SEAM.sub(" ", name)))
        for known in _known(value)
    ]


def masked(text: str, found: list[Given]) -> str:
    """The text with plain words instead of what it names: a search for tools finds by words."""
    parts, at = list[str](), 0
    for one in found:
        if one.start >= at and one.end > one.start:
            told = "directory" if one.is_folder else GENERIC.get(one.kind, "")
            parts += [text[at : one.start], f" {told} "]
            at = one.end
    known = {told for one in found if one.start == one.end and (told := GENERIC.get(one.kind))}
    return " ".join("".join([*parts, text[at:], " ", *sorted(known)]).split())


def as_known(value: Json) -> Given:
    """The value, with the kind that it has."""
    text = value if isinstance(value, str) and len(value) <= LONGEST_VALUE else ""
    if (token := _TOKEN.fullmatch(text)) and (found := _given(token)):
        return Given("quoted", value, 0, 0) if found.kind == "named" else replace(found, start=0, end=0)
    return Given("number" if isinstance(value, int | float) else "quoted", value, 0, 0)


def _known(value: Json) -> list[Given]:
    return [as_known(one) for one in (value if isinstance(value, list) else [value])]


def _given(token: re.Match[str]) -> Given | None:
    text, start, end = token[0], token.start(), token.end()
    match token.lastgroup:
        case "quoted":
            return Given("quoted", text[1:-1], start, end)
        case "named":
            name, _, value = text.partition("=")
            return Given("named", _plain(value.strip()), start, end, name=name.strip())
        case "number":
            digits = text.removeprefix("#")
            return Given("number", float(digits) if "." in digits else int(digits), start, end)
        case "url" | "email" | "date" | "time" | "glob" | "path" | "slug" | "key" as kind:
            return Given(kind, text, start, end)
        case _:
            return None


def _plain(text: str) -> Json:
    """A value after `=`: numbers, true and false are such."""
    if text[:1] in "\"'`\u201c\u2018" and len(text) > 1:
        return text[1:-1]
    try:
        value = json.loads(text)
    except ValueError:
        return text
    return value if isinstance(value, bool | int | float) else text


def _with_cues(one: Given, text: str, others: list[Given]) -> Given:
    first = max((other.end for other in others if other.end <= one.start), default=0)
    before = re.findall(r"[\w]+", text[first : one.start])[-NEAR:]
    following = re.match(r"\s*(\w+)", text[one.end :])
    cues = tuple(stem for word in reversed(before) for stem in _stems(word))
    after = _stems(following[1]) if following else []
    return replace(one, cues=cues, after=after[0] if after else "")


def _stems(word: str) -> list[str]:
    return index_words(word)[:1]
