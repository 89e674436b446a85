"""An intent: its steps, and the values that each step names."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import PurePosixPath
from typing import Final, Literal

from loci.core.json import Json, JsonObject
from loci.gateway.tool_words import in_words
from loci.search.words import index_words, is_common

Kind = Literal["named", "quoted", "url", "glob", "path", "number", "code"]
"""The form of a value: `key=value`, a quoted text, …; `code` is any other word that no dictionary has, as PROJ-4."""
_QUOTED: Final = (
    r""""[^"]*"|`[^`]*`|\u201c[^\u201c\u201d]*\u201d|(?<!\w)'[^']*'(?!\w)|(?<!\w)\u2018[^\u2018\u2019]*\u2019(?!\w)"""
)
_TOKEN: Final = re.compile(
    rf"(?P<named>\b[A-Za-z_][\w.-]{{0,80}}+=(?:{_QUOTED}|[^\s,;\"'`]*[^\s,;.\"'`]))"
    rf"|(?P<quoted>{_QUOTED})"
    r"|(?P<url>\b[a-z][a-z0-9+.-]{0,20}+://[^\s<>\"']*[^\s<>\"'.,;:!?)])"
    r"|(?P<word>[^\s,;()\"`\u201c\u201d]+)"
)
_NUMBER: Final = re.compile(r"#?(?P<digits>-?\d{1,15}(?:\.\d{1,15})?)")
_PATH: Final = re.compile(r"\.{1,2}|[^/]*/.*|.*\w\.(?!(?:com|org|net|io)$)[A-Za-z]\w{0,5}", re.S)
_CODE: Final = re.compile(r"[\d@_:#]|\w\.\w")
TARGET: Final = frozenset(index_words("to destination target recipient new"))
SOURCE: Final = frozenset(index_words("from source origin"))
"""Words in the names of the parameters that "to" and "from" speak of."""
_SUFFIXES: Final = "ts tsx js jsx py md json yml yaml xml csv txt css html go rs rb java c h cpp cs kt sh sql toml log"
TEXT_SUFFIXES: Final = frozenset(_SUFFIXES.split())
LONGEST_VALUE: Final = 2_000
"""A longer value of a context is a text, whatever it looks like."""


@dataclass(frozen=True, slots=True)
class GivenValue:
    """A value that an intent or its context names."""

    kind: Kind
    value: Json
    cues: frozenset[str] = frozenset()
    """The stems of the word that says what the value is, or of the names that this word speaks of."""
    name: str = ""
    """The key of `key=value`, or of a value of the context."""

    @property
    def of_context(self) -> bool:
        return bool(self.name) and self.kind != "named"

    @property
    def words(self) -> str:
        """The words that the form of the value says, such as `directory`."""
        if self.kind != "path":
            return {"glob": "files", "url": "url"}.get(self.kind, "")
        path = str(self.value)
        suffix = PurePosixPath(path).suffix.lstrip(".")
        is_text = suffix.lower() in TEXT_SUFFIXES
        return "directory" if path[-1] in "/." else "text file" if is_text else "file" if suffix else ""


@dataclass(frozen=True, slots=True)
class Step:
    """The words of a step, and the values that it names."""

    plain: str
    """The words, without values and what is between listed ones."""
    values: tuple[GivenValue, ...]

    @property
    def forms(self) -> str:
        """The words for the forms of the values."""
        return " ".join(dict.fromkeys(one.words for one in self.values))


def read_step(text: str, context: JsonObject) -> Step:
    """The words of the step and its values, also those values of the context whose names it says."""
    values, words, before = list[GivenValue](), list[str](), list[str]()
    for token in _TOKEN.finditer(text):
        value = _value(token)
        if value is None:
            before.append(token[0])
            continue
        is_next = bool(values) and before in ([], ["and"])
        values.append(replace(value, cues=values[-1].cues if is_next else _cues(before, is_first=not values)))
        words += [] if is_next else before
        before = []
    stems = {*index_words(text)}
    for name, given in context.items():
        cues = frozenset(index_words(in_words(name)))
        if cues <= stems:
            listed = given if isinstance(given, list) else [given]
            values += [replace(value_of(one), cues=cues, name=name) for one in listed]
    asks = ["?"] if text.rstrip().endswith("?") else []
    return Step(" ".join([*words, *before, *asks]), tuple(values))


def _cues(before: Sequence[str], *, is_first: bool) -> frozenset[str]:
    """Return the stems that the word before a value gives it. The source of something stands right after the verb."""
    said = [one for one in before if one.lower() not in ("the", "a", "an")]
    if is_first and len(said) < 2:
        return SOURCE
    word = said[-1].lower() if said else ""
    if word in ("to", "from"):
        return TARGET if word == "to" else SOURCE
    return frozenset[str]() if is_common(word) else frozenset(index_words(word))


def _value(token: re.Match[str]) -> GivenValue | None:
    """The value that the token is; None for a word."""
    text = token[0]
    match token.lastgroup:
        case "quoted":
            return GivenValue("quoted", text[1:-1])
        case "named":
            name, _, text = text.partition("=")
            written = _TOKEN.fullmatch(text)
            value = _value(written) if written and written.lastgroup != "named" else None
            plain = {"true": True, "false": False}.get(text, value.value if value else text)
            return GivenValue("named", plain, name=name)
        case "url":
            return GivenValue("url", text)
        case _:
            return _of_word(_bare(text))


def _bare(word: str) -> str:
    """The word without the end of its sentence."""
    return word.rstrip(".:!?") or word


def _of_word(word: str) -> GivenValue | None:
    """The value that an unquoted word is, by its form."""
    if number := _NUMBER.fullmatch(word):
        digits = number["digits"]
        return GivenValue("number", float(digits) if "." in digits else int(digits))
    if "*" in word:
        return GivenValue("glob", word)
    if _PATH.fullmatch(word):
        return GivenValue("path", word)
    return GivenValue("code", word) if _CODE.search(word) else None


def value_of(given: Json) -> GivenValue:
    """A value of a context, or an argument, with its form."""
    if isinstance(given, str) and len(given) <= LONGEST_VALUE and (token := _TOKEN.fullmatch(given)):
        value = _value(token)
        if value and value.value == given:
            return value
    return GivenValue("number" if isinstance(given, int | float) else "quoted", given)


_MASK: Final = "\u00b7"
"""Stands for each character of a value."""
_SEAMS: Final = re.compile(
    rf"(?:^|\n)[ \t]*(?:[-*\u2022]|{_MASK}{{1,2}}[.)])[ \t]"  # a list, or a numbered one
    r"|[;\n]"
    rf"|(?<=[\w{_MASK}/)])[.!?] (?=(?-i:[A-Z]))"
    r"|\b(?:then|afterwards|after that|finally)\b"
    # Another verb, with what it does something to: "and create a …".
    r"|(?:,|\band\b) (?:and )?(?=(?:read|write|list|get|create|add|delete|move|send|search|open|fetch|save|update|run) "
    r"|(?!(?:the|an?|all|its?|their|to|in|from|of|for|with|as|at|on)\b)[a-z]+ (?:the|an?|all|its?|their|them)\b)",
    re.I,
)


def cut(intent: str) -> list[str]:
    """The texts of the steps, in their order."""
    masked, parts, begin = _TOKEN.sub(_masked, intent), list[str](), 0
    for seam in _SEAMS.finditer(masked):
        parts.append(intent[begin : seam.start()])
        begin = seam.end()
    parts.append(intent[begin:])
    steps = (one.strip(" \t,").removesuffix(" and").rstrip(" ,") for one in parts)
    return [one for one in steps if one]


def _masked(token: re.Match[str]) -> str:
    """The token, so that no seam is found inside a value."""
    if _value(token) is None:
        return token[0]
    shown = len(_bare(token[0]))
    return _MASK * shown + token[0][shown:]
