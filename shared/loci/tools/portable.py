"""Entries of tool servers as they can leave this Loci: whatever may be secret is replaced by the name of a secret."""

import re
from dataclasses import dataclass

from loci.core.json import JsonObject
from loci.tools.configuration import VARIABLE, Entry
from loci.tools.entry_secrets import safe_entry

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

    def named(name: str, _: str) -> str:
        words = NOT_IN_A_NAME.sub("_", f"{server}_{name}").strip("_").upper()
        return f"${{{words if not words[:1].isdigit() else f'_{words}'}}}"

    changed = safe_entry(entry, named, named).model_copy(update=OF_THIS_PLACE)
    value = changed.as_json()
    texts = [*changed.args, changed.url, changed.command, *changed.env.values(), *changed.headers.values()]
    texts += [changed.oauth.client_secret] if changed.oauth else []
    needed = [one["name"] for text in texts if text for one in VARIABLE.finditer(text) if one["default"] is None]
    return PortableEntry(value, tuple(dict.fromkeys(needed)), entry.no_variables or entry.only_public)
