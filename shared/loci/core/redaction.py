"""Redaction: blanks secrets that a server was given, in whatever it says."""

import base64
import html
import json
import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import Final, TypeVar, cast
from urllib.parse import quote, quote_plus

from loci.core.errors import LociError
from loci.core.json import Json

T = TypeVar("T")
BLANK: Final = "***"
SHORTEST: Final = 6
"""Characters of a secret that is looked for. A shorter one would blank ordinary words and numbers."""
WITHIN: Final = 8
"""Characters of a secret that is looked for within words. A shorter one is blanked where it stands alone."""
KEPT_IN_URLS: Final = "!#$%&'()*+,/:;=?@[]~"
"""Signs that clients of HTTP leave as they are in an address."""
STARS: Final = "Kioq"
"""Three stars in base64. They take the place of as many characters, so that the rest can still be decoded."""


class Redaction:
    """Blanks some secrets in texts and in JSON: as they are, and as programs write them."""

    def __init__(self, secrets: Iterable[str]) -> None:
        """Texts that are too short to be told from words are left out."""
        given = {one for secret in secrets if len(one := secret.strip()) >= SHORTEST}
        blanks = {spelling: BLANK for one in given for spelling in _spellings(one)}
        words = {one for one in given if len(one) < WITHIN}
        blanks |= {one: (STARS * len(one))[: len(one)] for secret in given for one in _in_base64(secret)}
        self._blanks = sorted(((*one,) for one in blanks.items() if one[0] not in words), key=lambda one: -len(one[0]))
        self._words = [re.compile(rf"(?<![^\W_]){re.escape(one)}(?![^\W_])") for one in words]

    def text(self, text: str) -> str:
        """The text without the secrets."""
        for spelling, blank in self._blanks:
            text = text.replace(spelling, blank)
        for word in self._words:
            text = word.sub(BLANK, text)
        return text

    def value(self, value: T) -> T:
        """The JSON value without the secrets, in texts, names and numbers. It is the same object if it has none."""
        shown = self._blanked(cast("Json", value))
        return value if shown == value else cast("T", shown)

    def error(self, error: LociError) -> LociError:
        """The error, in whose words the secrets are blanked."""
        error.what, error.resolution = self.text(error.what), self.text(error.resolution)
        error.details, error.args = self.value(dict(error.details)), (error.what,)
        return error

    def _blanked(self, value: Json) -> Json:
        match value:
            case str():
                return self.text(value)
            case dict():
                return {self.text(name): self._blanked(one) for name, one in value.items()}
            case list():
                return [self._blanked(one) for one in value]
            case bool() | None:
                return value
            case _:
                shown = self.text(number := str(value))
                return value if shown == number else shown


redaction_for = lru_cache(500)(Redaction)
"""The redaction of a frozen set of secrets."""
NO_SECRETS: Final = Redaction(())


def _spellings(secret: str) -> Iterator[str]:
    """The secret as texts, JSON, addresses, pages and dumps have it."""
    yield secret
    for escaped in (json.dumps(secret), json.dumps(secret, ensure_ascii=False)):
        inner = escaped[1:-1]
        yield from (inner, inner.replace("/", "\\/"), json.dumps(inner, ensure_ascii=False)[1:-1])
    for one in (quote(secret), quote(secret, safe=""), quote(secret, safe=KEPT_IN_URLS), quote_plus(secret)):
        yield from (one, re.sub("%..", lambda found: found[0].lower(), one), quote(one, safe=""))
    content = secret.encode(errors="replace")
    yield from (html.escape(secret), repr(secret)[1:-1], ascii(secret)[1:-1], repr(content)[2:-1])
    yield from (content.hex(), content.hex().upper())


def _in_base64(secret: str) -> Iterator[str]:
    """Yield the base64 that stands for the secret in any text, wherever in the text the secret begins."""
    for content in (secret.encode(errors="replace"), quote(secret, safe="").encode()):
        for before in range(3):
            encoded = base64.b64encode(bytes(before) + content + b"  ").decode()
            whole = encoded[-(-before * 8 // 6) : (before + len(content)) * 8 // 6]
            yield from (whole, whole.replace("+", "-").replace("/", "_"), quote(whole, safe=""))
