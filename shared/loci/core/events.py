"""Events: what happens to an owner's things, as followers are told. Names and sizes, never contents."""

from collections.abc import Callable
from typing import Final, Literal, get_args

from loci.core.identity import Owner
from loci.core.json import JsonObject

EventKind = Literal["call", "workflow", "approval", "ingestion", "server"]
EVENT_KINDS: Final[tuple[EventKind, ...]] = get_args(EventKind)

Tell = Callable[[Owner, EventKind, JsonObject], None]
"""Tells what has happened. Waits for nothing, and never fails."""


def untold(owner: Owner, kind: EventKind, fields: JsonObject) -> None:
    """The `Tell` of a process that nobody follows."""


ListName = Literal["tools", "prompts", "resources"]
"""A list that clients get, and that changes with the tool servers."""
