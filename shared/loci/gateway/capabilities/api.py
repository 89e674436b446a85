"""Code that worked, as the product offers it: learned from runs, found, listed and forgotten."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial

from loci.core.background import BackgroundQueue
from loci.core.errors import LociError
from loci.core.identity import Owner
from loci.core.json import JsonObject
from loci.core.secrets_in_text import has_known_format
from loci.core.trust import saw
from loci.gateway.capabilities.capability import Capability
from loci.gateway.capabilities.capability_store import CapabilityStore, LearnableRun, StoredCode, stored_intent
from loci.gateway.capabilities.code_text import LARGEST_CODE, has_secret, identity_of
from loci.gateway.capabilities.inputs import inputs_of
from loci.gateway.capabilities.matching import CapabilityMatch, CapabilitySearch, FoundCapabilities, FoundCapability


@dataclass(frozen=True, slots=True)
class EndedRun:
    """A run of a caller's code that ended by itself."""

    code: str = field(repr=False)
    intent: str | None
    context: JsonObject = field(repr=False)
    tools: tuple[str, ...]
    """The ids of the tools whose calls worked, in the order of the calls."""
    worked: bool
    foreign: bool = False
    """True: its session had read texts of others."""


class Learning:
    """Turns ended runs into capabilities, one by one."""

    def __init__(self, store: CapabilityStore, prepare: Callable[[Owner], None], later: BackgroundQueue) -> None:
        self._store = store
        self._prepare = prepare
        self._later = later

    def schedule(self, owner: Owner, run: EndedRun) -> None:
        """Note that the run ended."""
        if len(run.code) <= LARGEST_CODE:
            self._later.do(partial(self._learn, owner, run, self._store.clock()))

    def _learn(self, owner: Owner, run: EndedRun, at: float) -> None:
        code = run.code.strip()
        if not code or has_secret(code):
            return
        tools = tuple(one for one in dict.fromkeys(run.tools) if not has_known_format(one))
        inputs, intent = inputs_of(code, run.context), stored_intent(run.intent)
        ran = LearnableRun(code, identity_of(code), inputs, intent, tools, run.worked, at, run.foreign)
        noted = self._store.note(owner, ran)
        if noted is not None and _is_new(noted, at):
            with suppress(LociError):  # the next search makes its vector
                self._prepare(owner)


def _is_new(noted: Capability, at: float) -> bool:
    return any(one.learned_at == at for one in noted.versions)


class Capabilities:
    """The capabilities of all owners."""

    def __init__(self, store: CapabilityStore, matching: CapabilitySearch, learning: Learning) -> None:
        self._store = store
        self._matching = matching
        self._learning = learning

    def learn(self, owner: Owner, run: EndedRun) -> None:
        """Learn from a run of code, later: the call does not wait."""
        self._learning.schedule(owner, run)

    def all(self, owner: Owner) -> list[Capability]:
        """All capabilities."""
        return self._store.all(owner)

    def find(self, owner: Owner, intent: str, *, suggestions: bool = False) -> FoundCapabilities:
        """The capabilities that fit an intent, or the one with this id. With `suggestions`, also related ones."""
        found = self._matching.find(owner, intent, suggestions=suggestions)
        shown = [*found.capabilities, *found.suggestions]
        saw(f"capability {one.capability.id}" for one in shown if one.version.foreign)
        return found

    def get(self, owner: Owner, id: str) -> FoundCapability:
        """The capability with this id, or the version that the id names. Raises `NotFound`."""
        return self._matching.by_id(owner, id)

    def best_match(self, owner: Owner, intent: str) -> CapabilityMatch | None:
        """The proven capability that fits the intent best; None if no capability fits well."""
        return self._matching.best_match(owner, intent)

    def offered(self, owner: Owner, known: Sequence[Capability]) -> dict[str, StoredCode]:
        """The code that is offered, by the id of its capability; none of one whose record is damaged."""
        return self._matching.codes(owner, known)

    def codes(self, owner: Owner, capability: Capability) -> dict[str, StoredCode]:
        """The codes of all its versions, by their identities."""
        return self._store.codes(owner, [one.identity for one in capability.versions])

    def restore(self, owner: Owner, capability: Capability, codes: Mapping[str, StoredCode]) -> None:
        """Import a capability from an archive: it is merged with the one for the same intent."""
        self._store.restore(owner, capability, codes)

    def delete(self, owner: Owner, id: str) -> Capability:
        """Delete a capability with all its versions. Raises `NotFound` if no capability has this id."""
        return self._store.remove(owner, id)
