"""The statements of a text that name one value: a number with its unit, a day, a switch, or a name."""

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Final, Literal

from loci.graph.distinctive_terms import SAYS_NOTHING
from loci.markdown.dates import DAY_FORMS, first_day
from loci.markdown.dates import KINDS as DATE_LABELS
from loci.search.words import index_words

Kind = Literal["number", "day", "switch", "name"]
LONGEST_LINE: Final = 300
MOST_WORDS: Final = 14
"""Words of a statement. A longer sentence says several things."""
WHOLE: Final = 3
"""Words from which on a statement says by itself what it is about."""
MOST_NUMBERS: Final = 3
ANYWHERE: Final = 2
ONE_SUBJECT: Final = 1
"""For a short field or a row of a table: the titles say what it is about."""
ONE_TITLE: Final = 0
"""For a sentence about a case, or about something nearby: only nearly the same sentence of another text is compared."""
FENCE: Final = re.compile(r"\s*(?:```|~~~)")
ADDRESS: Final = re.compile(r"(?:https?://|www\.)\S+")
COMMENT: Final = re.compile(r"<!--(?:[^-]|-(?!->))*+-->")
LINK: Final = re.compile(r"!?\[([^\[\]]*)\]\([^()]*\)")
MARKUP: Final = re.compile(r"[*`~]{1,3}(?=\S)|(?<=\S)[*`~]{1,3}|(?<!\w)_{1,3}(?=\S)|(?<=\S)_{1,3}(?!\w)")
BULLET: Final = re.compile(r"^\s*(?:(?:[-*+]|\d{1,3}[.)])\s+)?(?:\[[ xX]\]\s+)?")
END_OF_SENTENCE: Final = re.compile(r"(?<=[.!?;。])\s+")
STATES: Final = re.compile(r"\d|[:=|：]|\s(?:is|are|defaults?|remains?|uses?|cho(?:se|ose)|adopts?)\s", re.IGNORECASE)  # noqa: RUF001
"""A sign of a line that may give a value to something."""
YEAR: Final = re.compile(r"(?:19|20)\d\d")
RULE: Final = re.compile(r"[\s|:+=-]+")
REFERENCE: Final = re.compile(
    r"(?:\b[A-ZÀ-Þ][\w.-]*|\b(?i:adr|rfc|step|section|page|figure|table|issue|chapter|part|version|v|no|line|item|level|see"
    r"|amend(?:s|ed by)|supersede[sd](?: by)?|by|in|and|or|to))[\s\"'“(#]*+\Z"
)
"""The end of a text after which a number is a name: `Python 3`, `step 2`, `ADR 50`."""
NUMBER: Final = re.compile(
    r"(?<![\w.,/:#+-])(?P<before>[$€£¥]\s?)?(?P<value>\d{1,3}(?:,\d{3})++(?:\.\d+)?|\d+(?:\.\d+)?)(?![\w.]*[./:-]\w)"
    r"\s?(?P<unit>%|[°µ]?[^\W\d_]{1,12})?"
)
SWITCHES: Final = {
    "on": "on", "enabled": "on", "true": "on", "yes": "on", "required": "required", "mandatory": "required",
    "off": "off", "disabled": "off", "false": "off", "no": "off", "optional": "optional", "allowed": "allowed",
    "permitted": "allowed", "forbidden": "forbidden", "prohibited": "forbidden",
}  # fmt: skip
OPPOSITES: Final = (frozenset(("on", "off")), frozenset(("required", "optional")), frozenset(("allowed", "forbidden")))
FIELD: Final = re.compile(r"(?P<name>[^:：=|\n]{2,60}?)\s*(?:[:：=|]\s*|\s[-–—]\s)(?P<value>\S.{0,80})")  # noqa: RUF001
SENTENCE: Final = re.compile(
    r"(?P<name>.{3,80}?)\s(?:is|are|defaults? to|remains?)\s(?:set to\s|the\s|an?\s)?(?P<value>[^,.;:]{2,40})\.?",
    re.IGNORECASE,
)
CHOICE: Final = re.compile(
    r"(?:(?i:we|it|they|all\s\w+)\s)?(?:will\s|should\s|must\s)?(?:[Uu]ses?|[Cc]hoose|[Cc]hose|[Aa]dopts?)\s"
    r"(?P<value>[A-Z][\w.+#-]*(?:\s[A-Z][\w.+#-]*)?)\s(?P<name>(?:as|for|to)\s.{4,80})"
)
ONE_OF: Final = frozenset(
    index_words(
        "default owner maintainer lead primary responsible contact region host hostname database backend provider"
        " manager supplier vendor chair deadline endpoint port queue registry verantwortlich besitzer leitung anbieter"
        " datenbank zuständig responsable propriétaire fournisseur propietario proveedor"
    )
)
"""Attributes that a thing has once."""
NAME: Final = re.compile(r"[A-ZÀ-ÞА-Я0-9`\"'][^\s]*(?:\s[A-ZÀ-Þ0-9][^\s]*){0,2}")
OF_SOMETHING: Final = frozenset(index_words("default value initial recommended maximum minimum max min limit type"))
"""Names of fields that mean those of the thing above: the beginning of the line, or the heading."""
OF_ITSELF: Final = frozenset(
    index_words(
        "status weight order position sidebar draft version toc layout id number valid_from valid_until stale_after"
        " lastmod published created updated modified date_added author authors "
    )
).union(*DATE_LABELS)
"""Fields of a front matter about the document itself, not about its subject."""
PAST: Final = re.compile(
    r"\b(?:was|were|had|previously|formerly|earlier|originally|until|used to|no longer|war|waren|früher|bisher"
    r"|était|avant|antes|antiguamente|prima)\b|~~",
    re.IGNORECASE,
)
"""Words of lines that say what held before."""
HYPOTHETICAL: Final = re.compile(
    r"\b(?:if|would|could|might|may|example|e\.g|eg|suppose|assume|instead|compared|between|from|versus|vs|before|after"
    r"|about|approximately|around|roughly|some|up to|than|this|these|those|following|above|below|copyright|licen[cs]ed?"
    r"|changed|increased|reduced|raised|old|new|now|since|ago|early|late|estimated?)\b|©|\?|→|->|\.\.\.|…",
    re.IGNORECASE,
)
"""Words of lines that tell of a case, an example or something nearby."""


@dataclass(frozen=True, slots=True)
class Statement:
    """A line that gives one value to something."""

    words: frozenset[str]
    """The words beside the value."""
    kind: Kind
    unit: str
    value: str
    """The value in one form: `1000` for `1,000`, `2024-05-01` for `May 1, 2024`."""
    written: str
    """The value as it is written."""
    reach: int
    """`ANYWHERE`, `ONE_SUBJECT` or `ONE_TITLE`: the documents with which it can be compared."""
    line: int = 1
    quote: str = ""


def statements_in(text: str, first_line: int, heading: str) -> Iterator[Statement]:
    """Yield the statements of a passage below this heading, whose first line has this number.

    Code and quotations are left out.
    """
    is_code, header = False, list[str]()
    for number, written in enumerate(text.split("\n"), first_line):
        if FENCE.match(written):
            is_code = not is_code
        line = written.strip()
        if is_code or not _may_state(written, line):
            continue
        plain = ADDRESS.sub("", LINK.sub(r"\1", COMMENT.sub("", BULLET.sub("", written))))
        plain = MARKUP.sub("", plain).strip()
        if not line.startswith("|"):
            header = []
            yield from (replace(one, line=number, quote=plain) for one in _of_line(plain, heading))
        elif header:
            yield from (replace(one, line=number, quote=line) for one in _of_row(header, _cells(plain)))
        else:
            header = _cells(plain)


def statements_of(properties: Collection[str]) -> Iterator[Statement]:
    """Yield the statements of the fields of a front matter, but for those about the document itself."""
    for one in properties:
        name, _, value = one.partition("=")
        if not OF_ITSELF.issuperset(_words(name)):
            for statement in _of_field(name, value.title() if value.islower() else value):
                yield replace(statement, reach=ONE_SUBJECT, quote=f"{name}: {value}")


def _may_state(written: str, line: str) -> bool:
    """True if the line is no heading, quotation, code, command or rule."""
    is_indented = written.startswith(("    ", "\t")) and line[:1] not in "-*+0123456789"
    return (
        5 <= len(line) <= LONGEST_LINE
        and line[0] not in '>#<$"'
        and line[-1] not in ";{\\"
        and ("{" not in line or line[0] == "|")
        and not is_indented
        and STATES.search(line) is not None
        and RULE.fullmatch(line) is None
    )


def _cells(row: str) -> list[str]:
    return [one.strip() for one in row.strip("|").split("|")]


def _of_row(header: list[str], cells: list[str]) -> Iterator[Statement]:
    for name, value in zip(header[1:], cells[1:], strict=False):
        about = f"{cells[0]} {name}" if len(cells) > 2 else cells[0]
        for one in _of_field(about, value):
            yield replace(one, reach=ONE_SUBJECT)


def _of_line(text: str, heading: str) -> Iterator[Statement]:
    is_loose, about = HYPOTHETICAL.search(text) is not None, heading
    for sentence in () if PAST.search(text) else END_OF_SENTENCE.split(text):
        field = FIELD.fullmatch(sentence)
        name = frozenset(_words(field["name"])) if field else frozenset[str]()
        for one in _of_sentence(sentence):
            words = one.words | frozenset(_words(about)) if name and name <= OF_SOMETHING else one.words
            yield replace(one, words=words, reach=ONE_TITLE if is_loose else one.reach)
        about = field["name"] if field and not name <= OF_SOMETHING else about


def _of_sentence(text: str) -> Iterator[Statement]:
    if found := FIELD.fullmatch(text):
        yield from _of_field(found["name"], found["value"])
        return
    day = first_day(text) if YEAR.search(text) else None
    numbers = [] if day else [*NUMBER.finditer(text)]
    if day:
        yield from _statement(_without_day(text), "day", "", day, day)
    elif 0 < len(numbers) <= MOST_NUMBERS:
        for one in numbers:
            is_name = len(numbers) > 1 or REFERENCE.search(text[: one.start()])
            for statement in _of_number(one, text):
                others = {f"#{other['value']}" for other in numbers if other is not one}
                words = statement.words | others
                yield replace(statement, words=words, reach=ONE_TITLE if is_name else statement.reach)
    elif not numbers and (choice := CHOICE.match(text)):
        yield from _statement(choice["name"], "name", "use", choice["value"].casefold(), choice["value"])
    elif not numbers and not text[:1].islower() and (said := SENTENCE.fullmatch(text)):
        yield from _of_field(said["name"], said["value"])


def _of_field(name: str, value: str) -> Iterator[Statement]:
    """The statement of a field, such as `Timeout: 30 s`, or of a cell of a table."""
    value = value.strip(" .")
    if YEAR.search(value) and (day := first_day(value)):
        yield from _statement(f"{name} {_without_day(value)}", "day", "", day, value)
    elif switch := SWITCHES.get(value.casefold()):
        yield from _statement(name, "switch", "", switch, value)
    elif len(numbers := [*NUMBER.finditer(value)]) == 1:
        yield from _of_number(numbers[0], f"{name} : {value}", value)
    elif not numbers and NAME.fullmatch(value) and not ONE_OF.isdisjoint(_words(name)):
        yield from _statement(name, "name", "", value.strip("`\"'").casefold(), value)


def _of_number(found: re.Match[str], text: str, of: str | None = None) -> Iterator[Statement]:
    unit = (found["before"] or "").strip() + " ".join(_words(found["unit"] or "") or [found["unit"] or ""])
    if of is None:
        rest = f"{text[: found.start()]} {text[found.end() :]}"
    else:
        rest = text.replace(of, of.replace(found[0], " ", 1), 1)
    value = found["value"].replace(",", "")
    yield from _statement(rest, "number", unit, value, found[0].strip())


def _statement(rest: str, kind: Kind, unit: str, value: str, written: str) -> Iterator[Statement]:
    words = frozenset(_words(rest))
    if words and len(words) <= MOST_WORDS:
        yield Statement(words, kind, unit, value, written, ANYWHERE if len(words) >= WHOLE else ONE_SUBJECT)


@lru_cache(maxsize=4096)
def _words(text: str) -> tuple[str, ...]:
    return tuple(one for one in index_words(text) if one not in SAYS_NOTHING and not one.isdigit())


def _without_day(text: str) -> str:
    for pattern, *_ in DAY_FORMS:
        text, count = pattern.subn(" ", text, count=1)
        if count:
            break
    return text


def are_opposed(kind: Kind, one: str, other: str) -> bool:
    """True if two values of a kind cannot both hold."""
    if kind == "switch":
        return frozenset((one, other)) in OPPOSITES
    if kind == "number":
        return float(one) != float(other)
    if kind == "name":
        return one not in other and other not in one
    return one != other
