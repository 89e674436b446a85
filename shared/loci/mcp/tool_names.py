"""Tool names: an id such as `pml:search_tools`, its wire name `pml_search_tools`, and every spelling a call may use."""

import re
from collections.abc import Iterable

WIRE = re.compile(r"[a-z][a-z0-9_]{0,47}")
PREFIX = "mcp__"
SERVER = "loci"
"""Stands for the server in the full ids of tools whose own ids name none."""


def wire_name(id: str) -> str:
    """Turn an id into a name that every client accepts: no colon, hyphen or dot, and at most 48 characters."""
    name = re.sub(r"[^a-z0-9_]+", "_", id.lower())
    if not WIRE.fullmatch(name):
        raise ValueError(f"tool id {id!r} gives no valid wire name ({name!r})")
    return name


def full_id(id: str) -> str:
    """The id with the name of a server, as tools of other servers have it: `loci:search_documents`."""
    return id if ":" in id else f"{SERVER}:{id}"


class ToolNames:
    """Finds the wire name behind a spelling: the id, the wire name, or the part behind the colon if one tool has it.

    A tool without a colon in its id is also found with the name of Loci before it.
    """

    def __init__(self, ids: Iterable[str]) -> None:
        self._wire: dict[str, str] = {}
        short: dict[str, list[str]] = {}
        for id in ids:
            wire = wire_name(id)
            if wire in self._wire.values():
                raise ValueError(f"two tools have the wire name {wire!r}")
            self._wire[id] = wire
            short.setdefault(id.rpartition(":")[2], []).append(wire)
        exact = self._wire | {wire: wire for wire in self._wire.values()}
        exact |= {f"{SERVER}{sign}{id}": wire for id, wire in self._wire.items() if ":" not in id for sign in ":_"}
        self._spellings = {name: wires[0] for name, wires in short.items() if len(wires) == 1} | exact

    def find(self, spelling: str) -> str | None:
        """The wire name; None if no tool has that spelling. Some clients write `mcp__pml__search_tools`."""
        if not spelling.startswith(PREFIX):
            return self._spellings.get(spelling)
        server, _, name = spelling.removeprefix(PREFIX).partition("__")
        return self._spellings.get(name if server == SERVER else f"{server}:{name}")
