"""Redaction: blanks secrets that a server was given in what it says, and what looks like a secret in events."""

import base64
import re
from bisect import bisect
from collections.abc import Iterable, Iterator
from functools import lru_cache
from html.entities import codepoint2name
from typing import Final, TypeVar, cast
from urllib.parse import quote

from loci.core.errors import LociError
from loci.core.json import Json, JsonObject

T = TypeVar("T")
BLANK: Final = "***"
SHORTEST: Final = 6
"""Characters of a secret that is looked for. A shorter one would blank ordinary words and numbers."""
WITHIN: Final = 8
"""Characters of a secret that is looked for within words. A shorter one is blanked where it stands alone."""
PIECE: Final = 48
"""Characters of one pattern: a server may choose its tokens, but not how long a search for them takes."""
BREAK: Final = r"(?:[\s\u00ad\u200b-\u200d\u2060\ufeff]|\\{1,7}[nr]){0,9}"
"""Programs break long lines; characters that nobody sees may stand between letters."""
BETWEEN: Final = r"(?:[\s:%,;-]|\\{1,7}(?:x|u00)|0x|&#x?0{0,4}){0,9}"
"""Signs between the numbers of bytes."""
IN_BASE64: Final = {"+": r"(?:-|%2[bB]|\+)", "/": r"(?:_|%2[fF]|\\{0,7}/)"}
"""Two of its signs have other forms in addresses and in JSON."""
AS_STARS: Final = "Kioq"
"""Three stars in base64. Content in base64 stays readable if they take the place of what was as long."""

LONGEST: Final = 200
"""Characters of a text in an event."""
LOOKS_SECRET: Final = re.compile(
    r"(?:loci|sk|pk|rk|ghp|gho|ghu|ghs|github_pat|glpat|xox[a-z]|xapp|ya29|AKIA|ASIA|AIza|eyJ|hf_|npm_|pypi-)"
    r"[_.-]?[A-Za-z0-9_.-]{12,}"
    r"|(?i:bearer)\s+\S+"
    r"|(?i:pass(?:word|wd|phrase)|secret|token|api[-_]?key|apikey|access[-_]?key|signature|credential|cookie)"
    r"[\"']?\s*[=:]\s*(?:\"[^\"]*\"?|'[^']*'?|\S+)"
    r"|(?i:authorization)[\"']?\s*[=:]\s*[\"']?(?:[A-Za-z]+\s+)?\S+"
    r"|-----BEGIN [A-Z ]*PRIVATE KEY.*"
    r"|(?<=://)[^/@\s]+(?=@)"
)
"""Keys of known forms, what follows the name of a secret, and the user and password in an address."""


class Redaction:
    """Blanks some secrets in texts and in JSON. Twice the text takes twice the time, whatever it says."""

    def __init__(self, secrets: Iterable[str]) -> None:
        """Texts that are too short to be told from words are left out."""
        stripped = {one.strip() for one in secrets}
        self._forms = [form for one in sorted(stripped) if len(one) >= SHORTEST for form in _forms(one)]

    def text(self, text: str) -> str:
        """The text without the secrets."""
        return self.value(text)

    def value(self, value: T) -> T:
        """The JSON value without the secrets: in texts, names and numbers, and in texts that continue each other."""
        leaves = list(_leaves(cast("Json", value), "")) if self._forms else []
        order = sorted(range(len(leaves)), key=lambda one: leaves[one][0])  # what has the same name may belong together
        texts = [leaves[one][1] for one in order]
        found = self._found(texts)
        if not found:
            return value
        shown = dict(zip(order, _blanked(texts, found), strict=True))
        return cast("T", _rebuilt(cast("Json", value), iter([shown[one] for one in range(len(leaves))])))

    def error(self, error: LociError) -> LociError:
        """The error, in whose words the secrets are blanked."""
        error.what, error.resolution = self.text(error.what), self.text(error.resolution)
        error.details, error.args = self.value(dict(error.details)), (error.what,)
        return error

    def _found(self, leaves: list[str]) -> list[tuple[int, int, bool]]:
        """The places of secrets in the joined texts, in order; true if it is in base64."""
        text, starts, at = "".join(leaves), [0], 0
        for one in leaves:
            at += len(one)
            starts.append(at)
        found = sorted(place for form in self._forms for place in form.places(text, starts))
        apart: list[tuple[int, int, bool]] = []
        for start, end, is_base64 in found:
            if apart and start < apart[-1][1]:
                start, last, was_base64 = apart.pop()
                end, is_base64 = max(end, last), is_base64 and was_base64
            apart.append((start, end, is_base64))
        return apart


redaction_of = lru_cache(500)(Redaction)
"""The redaction of a frozen set of secrets. It takes some ms to make."""
NO_SECRETS: Final = Redaction(())


def has_secret(text: str) -> bool:
    """True if a part of the text looks like a secret."""
    return LOOKS_SECRET.search(text) is not None


def redacted(fields: JsonObject) -> JsonObject:
    """The fields of an event, fit to be shown: in short lines, and without what looks like a secret."""
    return {name: _redacted(value) for name, value in fields.items()}


def _redacted(value: Json) -> Json:
    match value:
        case str():
            shown = LOOKS_SECRET.sub(BLANK, value[: 2 * LONGEST])
            return "".join(one if one.isprintable() else "?" for one in shown[:LONGEST])
        case dict():
            return redacted(value)
        case list():
            return [_redacted(one) for one in value]
        case _:
            return value


class _Form:
    """One way to write a secret: a pattern for each of its signs."""

    def __init__(self, signs: list[str], between: str = "", *, alone: bool = False, is_base64: bool = False) -> None:
        self._signs = signs
        self._between = between
        self._alone = alone
        self._is_base64 = is_base64
        self._head = re.compile(between.join(signs[:PIECE]))
        self._pieces: dict[tuple[int, int], re.Pattern[str]] = {}

    def places(self, text: str, starts: list[int]) -> Iterator[tuple[int, int, bool]]:
        """The places of this form in the text. `starts`: where the parts of the text begin."""
        at = 0
        while found := self._head.search(text, at):
            at = self._end(text, found.end())
            if not self._alone or _stands_alone(text, found.start(), at, starts):
                yield found.start(), at, self._is_base64

    def _end(self, text: str, at: int) -> int:
        """The end of a secret whose first piece ends there: sooner, if the secret is cut off."""
        done = size = PIECE
        while size and done < len(self._signs):
            if found := self._piece(done, min(size, len(self._signs) - done)).match(text, at):
                at, done = found.end(), done + size
            else:
                size = min(size, len(self._signs) - done) // 2
        return at

    def _piece(self, start: int, size: int) -> re.Pattern[str]:
        if (start, size) not in self._pieces:
            signs = self._signs[start : start + size]
            self._pieces[start, size] = re.compile("".join(self._between + one for one in signs))
        return self._pieces[start, size]


def _forms(secret: str) -> Iterator[_Form]:
    """All ways to write the secret."""
    secret = _core(secret)
    yield _Form([_sign(one) for one in re.sub(r"\s+", " ", secret)], BREAK, alone=len(secret) < WITHIN)
    for content in dict.fromkeys((secret.encode(errors="replace"), quote(secret, safe="").encode())):
        yield _Form([one if one.isdigit() else f"(?:{one}|{one.upper()})" for one in _hex(content)], BETWEEN)
        yield _Form([str(one) for one in content], BETWEEN)
        for before in range(3):  # where it begins within three bytes
            encoded = base64.b64encode(bytes(before) + content + b"  ").decode()
            whole = encoded[-(-before * 8 // 6) : (before + len(content)) * 8 // 6]
            yield _Form([IN_BASE64.get(one, one) for one in whole], BREAK, is_base64=True)


def _core(secret: str) -> str:
    """The secret from its first letter or digit on: a search for that is many times as fast."""
    begun = re.sub(r"^[\W_]+", "", secret)
    return begun if len(begun) >= max(SHORTEST, len(secret) / 2) else secret


def _hex(content: bytes) -> list[str]:
    return [f"{one:02x}" for one in content]


@lru_cache(1000)
def _sign(sign: str) -> str:
    """The pattern of a character, as texts, JSON, addresses, pages and dumps of objects have it."""
    if sign.isascii() and sign.isalnum():
        return sign
    if sign.isspace():
        return r"(?:\s|\\{1,7}[ntr]|\+|%(?:25){0,3}(?:20|0[aAdD9])|&#(?:10|13|x[aAdD]);|&nbsp;){1,99}"
    code = ord(sign)
    content = sign.encode(errors="replace")
    ways = [rf"\\{{0,7}}{re.escape(sign)}", "".join(f"%(?:25){{0,3}}{one}" for one in _hex(content))]
    units = sign.encode("utf-16-be", "surrogatepass").hex()
    ways.append(rf"\\{{1,7}}u{code:08x}")
    ways.append("".join(rf"\\{{1,7}}u{units[at : at + 4]}" for at in range(0, len(units), 4)))
    ways += [f"&#0{{0,6}}{code};", f"&#x0{{0,6}}{code:x};"]
    ways += [rf"\\{{1,7}}x{code:02x}"] if code < 256 else []
    ways.append("".join(rf"\\{{1,7}}x{one}" for one in _hex(content)))
    ways += [f"&{codepoint2name[code]};"] if code in codepoint2name else []
    return f"(?i:{'|'.join(ways)})"


def _stands_alone(text: str, start: int, end: int, starts: list[int]) -> bool:
    """True if neither a letter nor a digit is before and behind it, in its own part."""

    def is_edge(at: int) -> bool:
        return starts[bisect(starts, at) - 1] == at

    before = is_edge(start) or not text[start - 1].isalnum()
    return before and (is_edge(end) or not text[end].isalnum())


def _leaves(value: Json, name: str) -> Iterator[tuple[str, str]]:
    """The texts, names and numbers in the value, each with the name that it has."""
    match value:
        case str():
            yield name, value
        case dict():
            for key, one in value.items():
                yield "", key
                yield from _leaves(one, key)
        case list():
            for one in value:
                yield from _leaves(one, name)
        case bool() | None:
            return
        case _:
            yield name, str(value)


def _blanked(leaves: list[str], found: list[tuple[int, int, bool]]) -> Iterator[str | None]:
    """Each text without what was found, which is in order; None if it stays as it is."""
    at, next_one = 0, 0
    for leaf in leaves:
        end = at + len(leaf)
        parts, done = list[str](), at
        while next_one < len(found) and found[next_one][0] < end:
            start, stop, is_base64 = found[next_one]
            parts.append(leaf[done - at : max(start, at) - at])
            size = min(stop, end) - max(start, at)
            shift = (max(start, at) - at) % 4
            parts.append((AS_STARS * (size // 4 + 2))[shift : shift + size] if is_base64 else BLANK if size else "")
            done = min(stop, end)
            if stop > end:
                break
            next_one += 1
        yield "".join((*parts, leaf[done - at :])) if parts else None
        at = end


def _rebuilt(value: Json, shown: Iterator[str | None]) -> Json:
    """The value with other texts, one for each of its leaves."""
    match value:
        case dict():
            return {_or(name, next(shown)): _rebuilt(one, shown) for name, one in value.items()}
        case list():
            return [_rebuilt(one, shown) for one in value]
        case bool() | None:
            return value
        case _:
            other = next(shown)
            return value if other is None else other


def _or(name: str, other: str | None) -> str:
    return name if other is None else other
