"""The names and sizes of arguments, never what they say."""

import re
from collections.abc import Mapping
from typing import Final, cast

from loci.core.json import Json, JsonObject
from loci.core.secrets_in_text import STARS, has_secret

MOST: Final = 20
_PLAIN_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_-]{0,31}", re.ASCII)
_SECRET_NAME: Final = re.compile(
    r"pass|secret|token|key|auth|credential|cookie|signature|bearer|\bpin\b|\botp\b", re.IGNORECASE
)


def argument_sizes(arguments: Mapping[str, object]) -> JsonObject:
    """The size of each argument by its name. That of a secret is blank, and so is a name that may be a text."""
    shown: dict[str, Json] = {}
    for name, value in arguments.items():
        if len(shown) >= MOST:
            shown["…"] = f"{len(arguments) - MOST} more"
            break
        is_plain = _PLAIN_NAME.fullmatch(name) is not None and not has_secret(name)
        shown[name if is_plain else STARS] = _size(value) if is_plain and not _SECRET_NAME.search(name) else STARS
    return shown


def _size(value: object) -> str:
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
