"""Entries of tool servers as they can leave this Loci: whatever may be secret is replaced by the name of a secret."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

from loci.core.json import JsonObject
from loci.tools.capabilities.secret_scanner import secret_kind
from loci.tools.configuration import VARIABLE, Entry

FLAG = re.compile(r"(?P<flag>--?[A-Za-z][\w-]*)=(?P<value>.+)", re.DOTALL)
OF_THIS_PLACE = {"no_variables": False, "only_public": False}
"""The settings that are not exported: each place decides for itself whom it trusts."""
NOT_IN_A_NAME = re.compile(r"[^A-Za-z0-9]+")


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
    blank = _Blank(server)
    oauth = entry.oauth
    if oauth is not None and oauth.client_secret is not None:
        oauth = oauth.model_copy(update={"client_secret": blank.text("client_secret", oauth.client_secret)})
    changed = entry.model_copy(
        update={
            "env": blank.all(entry.env),
            "headers": blank.all(entry.headers),
            "oauth": oauth,
            "args": blank.arguments(entry.args),
            "url": entry.url and blank.url(entry.url),
            **OF_THIS_PLACE,
        }
    )
    value = changed.as_json()
    texts = [*changed.args, changed.url, changed.command, *changed.env.values(), *changed.headers.values()]
    texts += [oauth.client_secret] if oauth else []
    named = [one["name"] for text in texts if text for one in VARIABLE.finditer(text) if one["default"] is None]
    return PortableEntry(value, tuple(dict.fromkeys(named)), entry.no_variables or entry.only_public)


class _Blank:
    """Gives each value that may be secret the name of a secret of its server."""

    def __init__(self, server: str) -> None:
        self._server = server

    def text(self, name: str, value: str) -> str:
        """The value, if it only names others, else the name of a secret."""
        rest = VARIABLE.sub("", value).strip()
        has_default = any(one["default"] for one in VARIABLE.finditer(value))
        return value if VARIABLE.search(value) and rest in ("", "Bearer") and not has_default else self._name(name)

    def all(self, values: Mapping[str, str]) -> dict[str, str]:
        return {name: self.text(name, value) for name, value in values.items()}

    def arguments(self, args: list[str]) -> list[str]:
        """Those that look like secrets, or follow the name of one, are replaced."""
        kept: list[str] = []
        before = ""
        for number, one in enumerate(args, 1):
            flag = FLAG.fullmatch(one)
            if flag and secret_kind(flag["value"], flag["flag"]):
                kept.append(f"{flag['flag']}={self.text(flag['flag'], flag['value'])}")
            elif _is_secret(one, before):
                kept.append(self.text(before.lstrip("-") or f"arg {number}", one))
            else:
                kept.append(self._url_in(one))
            before = one if one.startswith("-") else ""
        return kept

    def url(self, url: str) -> str:
        """Users, passwords and the values of a query may be secret."""
        if "?" not in url and "@" not in url:
            return self._without_parts(url)
        parts = urlsplit(url)
        host = f"{self._name('login')}@{parts.netloc.rpartition('@')[2]}" if "@" in parts.netloc else parts.netloc
        query = "&".join(f"{urlencode({name: ''})}{self.text(name, value)}" for name, value in parse_qsl(parts.query))
        return self._without_parts(urlunsplit((parts.scheme, host, parts.path, query, "")))

    def _without_parts(self, url: str) -> str:
        """Some servers have their key in the path."""
        return "/".join(
            self._name(f"path {number}") if number > 2 and "?" not in one and secret_kind(one) else one
            for number, one in enumerate(url.split("/"))
        )

    def _url_in(self, argument: str) -> str:
        return self.url(argument) if re.match(r"[a-z][a-z0-9+.-]*://", argument) else argument

    def _name(self, name: str) -> str:
        words = NOT_IN_A_NAME.sub("_", f"{self._server}_{name}").strip("_").upper()
        return f"${{{words if not words[:1].isdigit() else f'_{words}'}}}"


def _is_secret(text: str, before: str) -> bool:
    is_url = re.match(r"[a-z][a-z0-9+.-]*://", text) is not None
    return not is_url and not text.startswith("-") and secret_kind(text, before.lstrip("-")) is not None
