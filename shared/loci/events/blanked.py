"""Texts in events: names that others gave, in one short line each, and without what looks like a secret."""

import re
from typing import Final

from loci.core.json import Json, JsonObject

BLANK: Final = "***"
LONGEST: Final = 200
_SECRET: Final = re.compile(
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


def has_secret(text: str) -> bool:
    """True if a part of the text looks like a secret."""
    return _SECRET.search(text) is not None


def blanked(fields: JsonObject) -> JsonObject:
    """The fields of an event, fit to be shown."""
    return {name: _blanked(value) for name, value in fields.items()}


def _blanked(value: Json) -> Json:
    match value:
        case str():
            shown = _SECRET.sub(BLANK, value[: 2 * LONGEST])
            return "".join(one if one.isprintable() else "?" for one in shown[:LONGEST])
        case dict():
            return blanked(value)
        case list():
            return [_blanked(one) for one in value]
        case _:
            return value
