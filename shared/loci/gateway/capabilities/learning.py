"""Learns from runs of code that ended, while nobody waits."""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial

from loci.core.background import Background
from loci.core.errors import LociError
from loci.core.identity import Owner
from loci.core.secrets_in_text import has_known_format
from loci.gateway.capabilities.capability import Capability
from loci.gateway.capabilities.learned_code import LARGEST_CODE, learned_code
from loci.gateway.capabilities.shelf import Ran, Shelf, stored_intent


@dataclass(frozen=True, slots=True)
class EndedRun:
    """A run of a caller's code that ended by itself."""

    code: str = field(repr=False)
    intent: str | None
    context: tuple[str, ...]
    """The keys of its context."""
    tools: tuple[str, ...]
    """The ids of those whose calls worked, as they were called."""
    worked: bool


class Learning:
    """Turns ended runs into capabilities, one by one."""

    def __init__(self, shelf: Shelf, prepare: Callable[[Owner], None], later: Background) -> None:
        self._shelf = shelf
        self._prepare = prepare
        self._later = later

    def ended(self, owner: Owner, run: EndedRun) -> None:
        """Note that the run ended."""
        if len(run.code) <= LARGEST_CODE:
            self._later.do(partial(self._learn, owner, run, self._shelf.clock()))

    def _learn(self, owner: Owner, run: EndedRun, at: float) -> None:
        learned = learned_code(run.code, run.context)
        if learned is None:
            return
        tools = tuple(one for one in dict.fromkeys(run.tools) if not has_known_format(one))
        noted = self._shelf.note(owner, Ran(learned, stored_intent(run.intent), tools, run.worked, at))
        if noted is not None and _is_new(noted, at):
            with suppress(LociError):  # the next search makes its vector
                self._prepare(owner)


def _is_new(noted: Capability, at: float) -> bool:
    return any(one.learned_at == at for one in noted.versions)
