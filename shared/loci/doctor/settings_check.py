"""Which settings are set, and where."""

import re
from difflib import get_close_matches
from typing import cast

from pydantic import SecretStr

from loci.core.finding import Finding, first_names
from loci.core.settings import PREFIX, Settings, Sourced, unknown_variables

USER = re.compile(r"(?<=://)[^/@\s]+@")


def check_settings(told: Sourced) -> list[Finding]:
    """A line for each that is set, and one for what only looks like a setting."""
    found = [
        Finding("setting", "ok", f"{name} = {_shown(getattr(told.settings, name))} ({source})")
        for name, source in told.sources.items()
    ]
    if unknown := unknown_variables():
        names = [PREFIX + name.upper() for name in Settings.model_fields]
        near = get_close_matches(unknown[0], names, n=1)
        advice = f"Did you mean {near[0]}?" if near else "Remove it: docs/configuration.md lists what there is"
        found.append(Finding("settings", "warning", f"No setting of Loci: {first_names(unknown)}", advice))
    elif not found:
        found.append(Finding("settings", "ok", "All have their defaults"))
    return found


def _shown(value: object) -> str:
    """The value, without what is secret in it."""
    match value:
        case SecretStr():
            return "not shown"
        case tuple():
            return ", ".join(dict.fromkeys(map(_shown, cast("tuple[object, ...]", value))))
        case _:
            return USER.sub("...@", str(value))
