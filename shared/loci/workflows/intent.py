"""An intent, cut into steps, and the values that it names: paths, addresses, quoted texts, numbers, `key=value`."""

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, pairwise
from typing import Final, Literal

from loci.core.json import Json, JsonObject
from loci.search.words import SEAM, index_words, is_common

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
    r"|(?P<path>(?<!\S)\.{1,2}/?(?!\S)|(?<![\w/])(?:~|\.{1,2})?/[\w.@+-][\w./@+-]*|(?<![\w/.-])[\w.-]+(?:/[\w.-]+)*/(?!\w)"
    r"|(?<![\w/.-])(?:[\w.-]+/)*\.?[\w-][\w.-]*\.(?!com\b|org\b|net\b|io\b|\d)[A-Za-z][A-Za-z0-9]{0,5}\b(?!/))"
    r"|(?P<slug>(?<![\w/.-])[A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w-]*+(?:\.[\w-]+)*+(?!/))"
    r"|(?P<key>\b[A-Z][A-Z0-9]+-\d+\b|\b(?=[A-Za-z]{0,12}\d)(?:[A-Z0-9]{8,}|[a-z]{3}[A-Za-z0-9]{14})\b"
    r"|\b(?=[0-9a-f-]{0,64}\d)[0-9a-f]{7,}(?:-[0-9a-f]{4,})*\b)"
    r"|(?P<number>(?<![\w.-])#?-?\d+(?:\.\d+)?(?![\w%]))"
)
_NAMED: Final = re.compile(
    r"\b(?:called|named|titled|(?:folder|directory)(?!\s+(?:of|in|and|at|to|tree|with|for|from|by|as|on)\b))"
    r"\s+(?P<name>\w[\w./-]*)",
    re.I,
)
"""Words after which a name needs no quotes."""
_WORDS_FOR: Final = {"glob": "files", "url": "url", "email": "email"}
_SAYS: Final = {
    "to": "to destination target dest new recipient end",
    "from": "from source origin start src",
    "as": "name title new destination",
    "call": "name title",
    "for": "query search q term keyword pattern",
    "about": "query search q term topic",
    "match": "pattern query glob",
    "say": "text body message content",
}
"""Words before a value, and the names of the parameters that they speak of."""
SAYS: Final = {word: frozenset(index_words(names)) for word, names in _SAYS.items()}
_LISTED: Final = re.compile(r"\s*,?\s*(?:and\s+)?", re.I)
NEAR: Final = 2
"""Words before a value that say what it is, beside those that nearly every sentence has."""
LONGEST_VALUE: Final = 2_000
"""A longer value of a context is a text, whatever it begins with."""


@dataclass(frozen=True, slots=True)
class GivenValue:
    """A value that an intent or its context names."""

    kind: Kind
    value: Json
    start: int = 0
    end: int = 0
    cues: frozenset[str] = frozenset()
    """The stems of the nearest word that says what it is, and of names that this word speaks of."""
    further: frozenset[str] = frozenset()
    """The stems of other words near it."""
    name: str = ""
    """The key of `key=value`, or of a value of the context."""
    row: int | str = 0
    """The same for values that are listed: `a.txt, b.txt and c.txt`, or a list of the context."""

    @property
    def is_folder(self) -> bool:
        return self.kind in ("path", "slug") and "." not in str(self.value).rstrip("./").rpartition("/")[2]

    @property
    def is_file(self) -> bool:
        return self.kind == "path" and not str(self.value).endswith(("/", "."))

    @property
    def suffix(self) -> str:
        """The suffix of a file."""
        return str(self.value).rpartition(".")[2] if self.is_file and not self.is_folder else ""

    @property
    def words(self) -> str:
        """The words that a search for tools gets instead of the value."""
        if self.kind == "path":
            return " ".join(word for word, fits in (("file", self.is_file), ("directory", self.is_folder)) if fits)
        return _WORDS_FOR.get(self.kind, "")


def values_in(text: str) -> list[GivenValue]:
    """The values that the text names, in order."""
    found = [one for one in map(_value, _TOKEN.finditer(text)) if one]
    taken = [range(one.start, one.end) for one in found]
    for one in _NAMED.finditer(text):
        at = one.start("name")
        if not any(at in span for span in taken):
            is_path = one[0].lower().startswith(("folder", "directory"))
            found.append(GivenValue("path" if is_path else "quoted", one["name"], at, one.end("name")))
    ordered = sorted(found, key=lambda one: one.start)
    values = [_with_cues(one, text, ordered[at - 1].end if at else 0) for at, one in enumerate(ordered)]
    rows = [not _LISTED.fullmatch(text, one.end, other.start) for one, other in pairwise(values)]
    return [replace(one, row=row) for one, row in zip(values, accumulate(rows, initial=0), strict=bool(values))]


def values_of(context: JsonObject, text: str) -> list[GivenValue]:
    """The values of the context that the text speaks of: it has all the words of their names."""
    stems = set(index_words(text))
    return [
        replace(_as_value(value), name=name, cues=words, row=name)
        for name, given in context.items()
        if stems >= (words := frozenset(index_words(SEAM.sub(" ", name))))
        for value in (given if isinstance(given, list) else [given])
    ]


def without(text: str, values: Sequence[GivenValue], *, worded: bool = False) -> str:
    """The text without the values. `worded`: with words for their kinds instead, for a search of tools."""
    parts, at = list[str](), 0
    for one in values:
        if one.start >= at and one.end > one.start:
            parts += [text[at : one.start], f" {one.words if worded else ''} "]
            at = one.end
    more = {one.words for one in values if worded and one.start == one.end}
    return " ".join("".join([*parts, text[at:], " ", *sorted(more)]).split())


def _as_value(value: Json) -> GivenValue:
    text = value if isinstance(value, str) and len(value) <= LONGEST_VALUE else ""
    if (token := _TOKEN.fullmatch(text)) and (found := _value(token)):
        return GivenValue("quoted", value) if found.kind == "named" else replace(found, start=0, end=0)
    return GivenValue("number" if isinstance(value, int | float) else "quoted", value)


def _value(token: re.Match[str]) -> GivenValue | None:
    text, start, end = token[0], token.start(), token.end()
    match token.lastgroup:
        case "quoted":
            return GivenValue("quoted", text[1:-1], start, end)
        case "named":
            name, _, value = text.partition("=")
            return GivenValue("named", _plain(value.strip()), start, end, name=name.strip())
        case "number":
            digits = text.removeprefix("#")
            return GivenValue("number", float(digits) if "." in digits else int(digits), start, end)
        case "url" | "email" | "date" | "time" | "glob" | "path" | "slug" | "key" as kind:
            return GivenValue(kind, text, start, end)
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


def _with_cues(one: GivenValue, text: str, first: int) -> GivenValue:
    """The value with its cues: the words before it, else the word after it, and the suffix of a file."""
    before, cues = re.findall(r"\w+", text[first : one.start]), list[set[str]]()
    for word in reversed(before[first == 0 :]):  # the first word says what is done
        stem = (index_words(word) or [""])[0]
        said = SAYS.get(stem) or SAYS.get(word.lower())
        if said and not cues:
            cues.append({*said, stem})
        if said or len(cues) >= NEAR:
            break
        if not is_common(word):
            cues.append({stem})
    if not cues and (after := re.match(r"\s*(\w+)", text[one.end :])) and not is_common(after[1]):
        cues.append({*index_words(after[1])[:1]})
    if first == 0 and len(before) == 1:  # what a step does something to
        cues.append({*SAYS["from"]})
    if one.kind == "path":
        cues = [{*index_words(one.suffix), *(cues[0] if cues else ())}, *cues[1:]]
    nearest, *others = cues or [set[str]()]
    kind = "path" if one.kind == "slug" and nearest & {"directori", "folder", "file"} else one.kind
    return replace(one, kind=kind, cues=frozenset(nearest), further=frozenset(set[str]().union(*others)))


_FILLERS: Final = re.compile(
    r"^(?:\s*(?:please|first(?:ly)?|then|next|now|finally|lastly|also|and|afterwards|after that|can you|could you"
    r"|i want (?:you )?to|we need to|let us|let's)\b[\s,:]*)+",
    re.I,
)
_SEAMS: Final = re.compile(
    r"(?:^|(?<=\s)|(?<!\s)\s+)(?:\d{1,2}[.)]|[-*•])\s+"  # numbered, or a list
    r"|(?:(?<!\s)\s+)?[;\n]\s*"
    r"|(?<=[\w'\")/])[.!?]\s+(?=[A-Z])"
    r"|(?<![,\s])[,\s]+(?:and\s+)?(?:then|afterwards|after that|finally)\b[,\s]*"
    r"|(?:(?<!\s)\s+)?,\s*(?:and\s+)?|(?<!\s)\s+and\s+",
    re.I,
)
_END: Final = re.compile(r"(?<=[\w'\")\]/*])[.,;:!?]+\s*$")
_SURE: Final = re.compile(r"then|after|finally|[;\n]|\d|[-*•]|[.!?]", re.I)
_WITH_OBJECT: Final = re.compile(
    r"(?!(?:the|a|an|all|its?|their|them)\b)[a-z]+\s+(?:the|an?|all|its?|their|them)\b", re.I
)
_OF_FILE: Final = re.compile(r"\b(?:the\s+)?(?:contents?|text)\s+of\s+(?:the\s+)?(?:file\s+|page\s+)?", re.I)
COUNTS: Final = re.compile(
    r"(?:count|total|tally)\s+(?:up\s+)?(?:(?:the|all|their|its|how many)\s+)*(?:number of\s+)?"
    r"(?P<what>lines?|words?|characters?|files?|items?|entries|results?|them)\b"
    r"(?P<rest>(?:\s+(?:in|of)\s+(?:it|them|each(?:\s+file)?|(?:the\s+)?(?:files?|results?)))?)\s*$",
    re.I,
)
"""A step that needs no tool."""
_COUNT_OF: Final = re.compile(
    r"(?P<count>count\s+(?:(?:the|all)\s+)*(?:number of\s+)?(?:lines?|words?|characters?))\s+(?:in|of)\s+", re.I
)


def cut(intent: str, begins_tool: Callable[[str], bool]) -> list[tuple[str, bool]]:
    """The texts of the steps in their order, each with True if it is said to come after the one before.

    An "and" parts two steps if a word that tools begin with follows it.
    """
    covered = [range(one.start, one.end) for one in values_in(intent)]
    parts, begin, is_after = list[tuple[str, bool]](), 0, False
    for seam in _SEAMS.finditer(intent):
        if any(seam.start() in span or seam.end() - 1 in span for span in covered if len(span) > 1):
            continue
        sure, rest = bool(_SURE.search(seam[0])), _FILLERS.sub("", intent[seam.end() :])
        begins = any(seam.end() == span.start for span in covered)
        if not sure and (begins or not (COUNTS.match(rest) or _WITH_OBJECT.match(rest) or begins_tool(rest))):
            continue
        parts.append((intent[begin : seam.start()], is_after))
        begin, is_after = seam.end(), sure
    parts.append((intent[begin:], is_after))
    texts = [(_END.sub("", _FILLERS.sub("", part)).strip(), after) for part, after in parts]
    return [step for text, after in texts if text for step in _with_reading(text, after)]


def _with_reading(text: str, is_after: bool) -> list[tuple[str, bool]]:
    """`write the content of a.txt to b.txt` and `count the lines of a.txt` are two steps."""
    values = {one.start: one for one in values_in(text) if one.kind in ("path", "url")}
    for found in (_COUNT_OF.match(text), _OF_FILE.search(text)):
        named = values.get(found.end()) if found else None
        if found is None or named is None or " " not in text[: found.end()].strip():
            continue
        reading = f"{'fetch' if named.kind == 'url' else 'read'} {text[named.start : named.end]}"
        if found.re is _COUNT_OF and named.end == len(text):
            return [(reading, is_after), (found["count"], True)]
        if found.re is _OF_FILE and found.start() > 0 and len(values) > 1:
            return [(reading, is_after), (f"{text[: found.start()]}its content{text[named.end :]}", True)]
    return [(text, is_after)]
