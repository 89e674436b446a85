"""The secrets in an entry of a tool server: what in it may be secret, and what its server must not repeat."""

import base64
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final, cast
from urllib.parse import unquote, unquote_plus

from loci.core.json import JsonObject
from loci.core.secrets_in_text import ALWAYS, OFTEN, known_secrets, secret_kind, secrets_in, words_of
from loci.gateway.configuration import SEALED, VARIABLE, Entry

Other = Callable[[str, str], str]
"""Returns the replacement of a text that may be secret, given its name and the text."""
FLAG: Final = re.compile(r"(?P<flag>--?[A-Za-z][\w-]*)=(?P<value>.+)", re.DOTALL)
URL: Final = re.compile(r"[a-z][a-z0-9+.-]{0,20}://")
LOGIN: Final = re.compile(r"(?<=://)[^\s/@?#]*(?=@)")
ASSIGNED: Final = re.compile(r"(?<![\w.-])(?P<name>[\w.-]{1,40})=(?P<value>[^\s\"',;&]+)")
SCHEME: Final = re.compile(r"[A-Za-z-]{1,20}\s+(?P<rest>\S+)")
SECRET_WORDS: Final = ALWAYS | OFTEN | {"key", "keys", "login", "otp", "pass", "pat", "tokens"}
NOT_SECRET: Final = frozenset({"enabled", "file", "header", "host", "length", "mode", "name", "path", "type", "url"})
"""The last words of names such as `KEY_FILE`."""
OF_THIS_PLACE: Final = {"no_variables": False, "only_public": False}
"""The settings that are not exported: each place decides for itself whom it trusts."""
NOT_IN_A_NAME: Final = re.compile(r"[^A-Za-z0-9]+")


def only_names(text: str) -> bool:
    """True if nothing in the text itself is secret: it is `Bearer ${TOKEN}`, or `${TOKEN}`."""
    names = list(VARIABLE.finditer(text))
    rest = VARIABLE.sub("", text).strip()
    return bool(names) and rest in ("", "Bearer") and not any(one["default"] for one in names)


def safe_entry(entry: Entry, value: Other, part: Other) -> Entry:
    """The entry with other texts: `value` for whole values, `part` for what may be secret in arguments and the URL."""
    oauth = entry.oauth
    if oauth is not None and oauth.client_secret is not None:
        oauth = oauth.model_copy(update=safe_values({"client_secret": oauth.client_secret}, value))
    return entry.model_copy(
        update={
            "env": safe_values(entry.env, value),
            "headers": safe_values(entry.headers, value),
            "oauth": oauth,
            "args": safe_arguments(entry.args, part),
            "url": entry.url and safe_url(entry.url, part),
        }
    )


def safe_values(values: Mapping[str, str], other: Other) -> dict[str, str]:
    """The values of variables and headers, with another text for each that does not only name others."""
    return {name: _safe(name, text, other) for name, text in values.items()}


def safe_arguments(arguments: Sequence[str], other: Other) -> list[str]:
    """The arguments, with another text for those that look like secrets, or follow the name of one."""
    kept: list[str] = []
    before = ""
    for number, one in enumerate(arguments, 1):
        flag = FLAG.fullmatch(one)
        if flag and _may_be_secret(flag["flag"], flag["value"]):
            kept.append(f"{flag['flag']}={_safe(flag['flag'], flag['value'], other)}")
        elif URL.match(one):
            kept.append(safe_url(one, other))
        elif not one.startswith("-") and _may_be_secret(before, one):
            kept.append(_safe(before.lstrip("-") or f"arg {number}", one, other))
        else:
            kept.append(one)
        before = one if one.startswith("-") else ""
    return kept


def safe_url(url: str, other: Other) -> str:
    """The URL, with another text for its user and password, and for the values of its query: they may be secret."""
    place, sign, query = LOGIN.sub(lambda found: other("login", found[0]), url).partition("?")
    # Some servers have their key in the path.
    parts = [
        _safe(f"path {at}", one, other) if at > 2 and _may_be_secret("", one) else one
        for at, one in enumerate(place.split("/"))
    ]
    pairs = [one.partition("=") for one in query.split("&")]
    values = "&".join(f"{name}{equals}{value and _safe(name, value, other)}" for name, equals, value in pairs)
    return f"{'/'.join(parts)}{sign}{values}"


def _safe(name: str, text: str, other: Other) -> str:
    return text if only_names(text) else other(name, text)


def _may_be_secret(name: str, text: str) -> bool:
    return bool(SEALED.search(text)) or secret_kind(text, name.lstrip("-")) is not None


def given_secrets(
    values: Mapping[str, str], arguments: Sequence[str] = (), url: str = "", certain: Iterable[str] = ()
) -> frozenset[str]:
    """The secrets among what a server is given, and the parts of them that it may repeat alone.

    `values`: variables and headers. `certain`: what is secret whatever it looks like.
    """
    named = [*values.items(), *zip(("", *arguments), arguments, strict=False)]
    named += [(found["flag"], found["value"]) for one in arguments if (found := FLAG.fullmatch(one))]
    named += [(name, text) for name, _, text in (one.partition("=") for one in url.partition("?")[2].split("&"))]
    named += [("login", found[0]) for found in LOGIN.finditer(url)]
    named += [("", one) for one in url.partition("?")[0].split("/")[3:]]
    found = (secret for name, text in named for secret in _secrets_in(name, text))
    return frozenset(one for secret in (*certain, *found) for one in _spellings(secret))


def _secrets_in(name: str, text: str) -> Iterator[str]:
    """The whole text, if its name says that it is secret; else the parts that look secret. Folders look random, too."""
    if _is_secret_name(name):
        yield text
    for one in known_secrets(text) if "/" in text else secrets_in(text):
        yield text[one.start : one.end]


def _is_secret_name(name: str) -> bool:
    words = words_of(name)
    return not SECRET_WORDS.isdisjoint(words) and words[-1] not in NOT_SECRET and "public" not in words


def _spellings(secret: str) -> Iterator[str]:
    """The secret, and its secret parts: a token without its scheme, the password of an address or a list."""
    yield secret
    if "%" in secret:
        yield unquote_plus(secret)
    if scheme := SCHEME.fullmatch(secret):
        yield scheme["rest"]
        with suppress(ValueError):
            pair = base64.b64decode(scheme["rest"], validate=True).decode()
            yield from (pair, pair.partition(":")[2])
    for one in LOGIN.findall(secret) or [secret]:
        password = one.partition(":")[2]
        yield from (password, unquote(password))
    try:
        fields: Any = json.loads(secret) if secret.startswith("{") else {}
    except (ValueError, RecursionError):
        fields = {}
    pairs = cast("dict[str, Any]", fields).items() if isinstance(fields, dict) else ()
    for name, text in (*pairs, *((one["name"], one["value"]) for one in ASSIGNED.finditer(secret))):
        if isinstance(text, str) and (_is_secret_name(name) or secret_kind(text)):
            yield text


@dataclass(frozen=True, slots=True)
class PortableEntry:
    """An entry without secrets."""

    entry: JsonObject
    secrets: tuple[str, ...]
    """The names of the secrets that it needs where it is taken."""
    is_restricted: bool
    """True: it came with an import, and nobody at this machine has vouched for it."""


def portable(server: str, entry: Entry) -> PortableEntry:
    """The entry without secrets. Values of headers and variables never leave, unless they only name others."""

    def named(name: str, _: str) -> str:
        words = NOT_IN_A_NAME.sub("_", f"{server}_{name}").strip("_").upper()
        return f"${{{words if not words[:1].isdigit() else f'_{words}'}}}"

    changed = safe_entry(entry, named, named).model_copy(update=OF_THIS_PLACE)
    value = changed.as_json()
    texts = [*changed.args, changed.url, changed.command, *changed.env.values(), *changed.headers.values()]
    texts += [changed.oauth.client_secret] if changed.oauth else []
    needed = [one["name"] for text in texts if text for one in VARIABLE.finditer(text) if one["default"] is None]
    return PortableEntry(value, tuple(dict.fromkeys(needed)), entry.no_variables or entry.only_public)
