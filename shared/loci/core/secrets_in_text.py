"""Finds passwords, tokens and keys in texts, by their known formats, by their names, and by how random they look."""

import itertools
import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, cast

from loci.core.json import Json, JsonObject

BLANK: Final = "[secret]"
STARS: Final = "***"
FORMATS: Final[tuple[tuple[str, str], ...]] = (
    ("privateKey", r"-----BEGIN [A-Z0-9 ]*PRIVATE KEY[\s\S]*?(?:-----END [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----|$)"),
    ("lociKey", r"(?<![A-Za-z0-9])loci_[A-Za-z0-9_-]{16,}"),
    ("privateKey", r"AGE-SECRET-KEY-1[0-9A-Z]{20,}"),
    ("awsKey", r"(?<![A-Za-z0-9])(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16}(?![A-Za-z0-9])"),
    ("githubToken", r"gh[pousr]_[A-Za-z0-9]{16,}|github_pat_[A-Za-z0-9_]{20,}"),
    ("gitlabToken", r"gl(?:pat|ptt|dt|rt)-[A-Za-z0-9_-]{16,}"),
    ("slackToken", r"xox[a-z]-[A-Za-z0-9-]{8,}|xapp-[A-Za-z0-9-]{8,}"),
    ("slackUrl", r"hooks\.slack\.com/(?:services|workflows)/[A-Za-z0-9/_-]{16,}"),
    ("stripeKey", r"(?:sk|rk|pk)_(?:live|test)_[A-Za-z0-9]{8,}|whsec_[A-Za-z0-9+/=]{16,}"),
    ("apiKey", r"(?<![A-Za-z0-9])sk-[A-Za-z0-9_-]{16,}"),
    ("googleApiKey", r"AIza[A-Za-z0-9_-]{30,}"),
    ("googleToken", r"ya29\.[A-Za-z0-9_-]{16,}|GOCSPX-[A-Za-z0-9_-]{16,}"),
    ("npmToken", r"npm_[A-Za-z0-9]{16,}"),
    ("huggingFaceToken", r"(?<![A-Za-z0-9])hf_[A-Za-z0-9]{24,}"),
    ("sendgridKey", r"SG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,}"),
    ("pypiToken", r"pypi-AgE[A-Za-z0-9_-]{16,}"),
    ("digitalOceanToken", r"do[opr]_v1_[a-f0-9]{32,}"),
    ("telegramToken", r"(?<!\d)\d{8,10}:AA[A-Za-z0-9_-]{30,}"),
    ("jwt", r"eyJ[A-Za-z0-9_-]{8,4000}\.[A-Za-z0-9_-]{8,}(?:\.[A-Za-z0-9_-]*)?"),
    ("authorization", r"(?i:\bbearer)\s+(?=[A-Za-z._~+/-]{0,60}\d|[A-Za-z0-9._~+/-]{20})[A-Za-z0-9._~+/=-]{6,}"),
    ("authorization", r"(?i:\bbasic)\s+(?=[A-Za-z+/]*[A-Z0-9=])[A-Za-z0-9+/]{8,}={0,2}"),
    ("urlWithPassword", r"(?<![a-z0-9+.-])[a-z][a-z0-9+.-]{0,20}://[^\s/:@?#]*:[^\s/@]+@[^\s\"'`]*"),
    (
        "secret",
        r"(?<![A-Za-z0-9+/=])(?=[A-Za-z0-9+/]{0,39}[A-Z])(?=[A-Za-z0-9+/]{0,39}[a-z])(?=[A-Za-z0-9+/]{0,39}\d)"
        r"[A-Za-z0-9+/]{40}(?![A-Za-z0-9+/=])",
    ),
)
"""The known kinds of secrets: the name of each as a parameter, and its pattern."""
ASSIGNED: Final = re.compile(
    r"(?i)(?P<name>(?:passw(?:or)?d|passphrase|pwd|secret|token|api[_-]?key|access[_-]?key|credential)[\w-]{0,40}+)"
    r"(?P<sign>[\"']?\s*(?:=|:|\bis\b)\s*[\"']?)(?P<value>[^\s\"'`&;,<>{}$*]{3,})"
)
FOUND: Final = re.compile("|".join(f"(?P<f{at}>{pattern})" for at, (_, pattern) in enumerate(FORMATS)))
TOKEN: Final = re.compile(r"[A-Za-z0-9+=_-]{20,}")
HEX: Final = re.compile(r"[0-9a-fA-F]{32,}")
ALWAYS: Final = frozenset(
    {"password", "passwd", "pwd", "passphrase", "secret", "secrets", "apikey", "pin", "credential"}
)
OFTEN: Final = frozenset({"token", "auth", "authorization", "credentials", "bearer", "cookie", "signature", "jwt"})
PAIRS: Final = (
    ("api", "key"),
    ("access", "key"),
    ("private", "key"),
    ("secret", "key"),
    ("pass", "word"),
    ("session", "id"),
)
WORD: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
LEAST_BITS: Final = 3.2
LEAST_CHANGES: Final = 0.25
LEAST_PIECE: Final = 16
LEAST_DIGIT_RUNS: Final = 2
LONGEST: Final = 200_000
LONGEST_SHOWN: Final = 200
TOLD: Final = re.compile(
    r"(?i:bearer)\s+\S+"
    r"|(?i:pass(?:word|wd|phrase)|secret|token|api[-_]?key|apikey|access[-_]?key|signature|credential|cookie)"
    r"[\"']?\s*[=:]\s*(?:\"[^\"]*\"?|'[^']*'?|\S+)"
    r"|(?i:authorization)[\"']?\s*[=:]\s*[\"']?(?:[A-Za-z]+\s+)?\S+"
    r"|(?<=://)[^/@\s]+(?=@)"
)
"""What follows the name of a secret, and the user and password in an address: for names, where no prose is lost."""
MOST_ARGUMENTS: Final = 20
PLAIN_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_-]{0,31}", re.ASCII)
SECRET_NAME: Final = re.compile(
    r"pass|secret|token|key|auth|credential|cookie|signature|bearer|\bpin\b|\botp\b", re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class Secret:
    """A secret in a text."""

    kind: str
    start: int
    end: int


def secrets_in(text: str) -> list[Secret]:
    """The secrets in the text, in order. None overlaps another."""
    text = text[:LONGEST]
    found = sorted(_candidates(text), key=lambda one: (one.start, -one.end))
    kept: list[Secret] = []
    for one in found:
        if not kept or one.start >= kept[-1].end:
            kept.append(one)
    return kept


def known_secrets(text: str) -> Iterator[Secret]:
    """The secrets of known kinds in the text."""
    for found in FOUND.finditer(text):
        yield Secret(FORMATS[int((found.lastgroup or "f0")[1:])][0], found.start(), found.end())


def has_known_format(text: str) -> bool:
    """True if a known kind of secret is in the text."""
    return FOUND.search(text) is not None


def secret_kind(text: str, name: str = "") -> str | None:
    """The kind of secret in the value with this name, as the name of a parameter. None: no secret."""
    found = secrets_in(text)
    if found:
        return found[0].kind
    return _named(name) if _is_named_secret(name, text) else None


def is_secret_number(name: str, text: str) -> bool:
    """True for the number of a password, say."""
    return len(text) >= 4 and not ALWAYS.isdisjoint(words_of(name))


def without_secrets(text: str) -> str:
    """The text with its secrets blanked."""
    return _blanked(text[:LONGEST], secrets_in(text), BLANK)


def has_secret(text: str) -> bool:
    """True if a part of the text is of a known form, or is said to be secret in the text itself."""
    return TOLD.search(text) is not None or has_known_format(text)


def fit_to_show(fields: JsonObject) -> JsonObject:
    """The fields in short lines, without what `has_secret` finds. Ids, which look random, stay."""
    return {name: _fit_to_show(value) for name, value in fields.items()}


def _fit_to_show(value: Json) -> Json:
    match value:
        case str():
            return _short_line(value[: 2 * LONGEST_SHOWN])
        case dict():
            return fit_to_show(value)
        case list():
            return [_fit_to_show(one) for one in value]
        case _:
            return value


@lru_cache(256)  # the same few names of tools and words come in each event
def _short_line(beginning: str) -> str:
    text = TOLD.sub(STARS, beginning)
    shown = _blanked(text, known_secrets(text), STARS)[:LONGEST_SHOWN]
    return "".join(one if one.isprintable() else "?" for one in shown)


def argument_sizes(arguments: Mapping[str, object]) -> JsonObject:
    """The sizes of arguments by name. Sizes of secrets are blanked, and so are names that may be texts."""
    shown: dict[str, Json] = {}
    for name, value in arguments.items():
        if len(shown) >= MOST_ARGUMENTS:
            shown["…"] = f"{len(arguments) - MOST_ARGUMENTS} more"
            break
        is_plain = PLAIN_NAME.fullmatch(name) is not None and not has_secret(name)
        shown[name if is_plain else STARS] = _size_of(value) if is_plain and not SECRET_NAME.search(name) else STARS
    return shown


def _size_of(value: object) -> str:
    match value:
        case str():
            return f"{len(value)} characters"
        case list():
            return f"{len(cast('list[object]', value))} items"
        case dict():
            return f"{len(cast('dict[str, object]', value))} fields"
        case bool():
            return "boolean"
        case int() | float():
            return "number"
        case _:
            return "null"


def _blanked(text: str, found: Iterable[Secret], blank: str) -> str:
    parts, at = list[str](), 0
    for one in found:
        parts += (text[at : one.start], blank)
        at = one.end
    return "".join((*parts, text[at:]))


def words_of(name: str) -> list[str]:
    """The words of a name, small."""
    return [one.lower() for one in WORD.findall(name)]


def _candidates(text: str) -> Iterator[Secret]:
    yield from known_secrets(text)
    for found in ASSIGNED.finditer(text):
        if _is_value(found["sign"], found["value"]):
            yield Secret(_named(found["name"]), found.start("value"), found.end("value"))
    for found in TOKEN.finditer(text):
        if looks_random(found.group()):
            yield Secret("secret", found.start(), found.end())


def _is_value(sign: str, value: str) -> bool:
    """`password=x1y` gives one away, and `the token is valid` does not."""
    plain = value.strip(".:!?)]([")
    if len(plain) < 3 or value.startswith(BLANK):
        return False
    mixed = any(one.isdigit() for one in plain) or any(not one.isalnum() for one in plain[:-1])
    return (mixed and plain[0] != "(") if "is" in sign or ":" in sign else len(plain) >= 4


def _is_named_secret(name: str, value: str) -> bool:
    words = words_of(name)
    if not words or len(value.strip()) < 3:
        return False
    pairs = [pair in PAIRS for pair in itertools.pairwise(words)]
    if not ALWAYS.isdisjoint(words) or any(pairs):
        return words[-1] not in ("name", "url", "type", "field", "path", "file", "label", "length", "policy")
    if words[-1] not in OFTEN:
        return False
    has_digit = any(one.isdigit() for one in value)
    return (
        not any(one.isspace() for one in value.strip()) and len(value) >= 6 and (has_digit or len(value) >= LEAST_PIECE)
    )


def _named(name: str) -> str:
    words = words_of(name)
    return words[0] + "".join(one.capitalize() for one in words[1:]) if words else "secret"


def looks_random(text: str) -> bool:
    """True if nobody would write such a text by hand."""
    if HEX.fullmatch(text):
        return any(one.isdigit() for one in text) and any(one.isalpha() for one in text)
    pieces = [one for one in re.split(r"[-_=+]", text) if len(one) >= LEAST_PIECE]
    joined = re.sub(r"[-_=+]", "", text)
    mixed = [any(test(one) for one in joined) for test in (str.isupper, str.islower, str.isdigit)]
    whole = [joined] if len(joined) >= 24 and all(mixed) else []
    return any(_is_random(one) for one in (*pieces, *whole))


def _is_random(text: str) -> bool:
    classes = ["U" if one.isupper() else "l" if one.islower() else "9" for one in text]
    digit_runs = len(re.findall(r"\d+", text))
    if len(set(classes)) < 2 or digit_runs < LEAST_DIGIT_RUNS:
        return False
    changes = sum(one != other for one, other in itertools.pairwise(classes)) / len(text)
    counts = Counter(text)
    bits = -sum(count / len(text) * math.log2(count / len(text)) for count in counts.values())
    return changes >= LEAST_CHANGES and bits >= LEAST_BITS
