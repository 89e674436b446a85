"""The capabilities of each owner in the record store: learned from runs, bounded in number, removed on request."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Final, cast

from loci.core.errors import Conflict, LociError, NotFound
from loci.core.identity import Owner
from loci.core.json import JsonObject, string
from loci.core.stores import ABSENT, Record, RecordStore, every, lost_race, read_or_none, readable
from loci.gateway.capabilities.capability import (
    MOST_OTHER_INTENTS,
    MOST_TOOLS,
    Capability,
    Version,
    capability_id,
    capability_of,
    intent_words,
    plain_intent,
)
from loci.gateway.capabilities.code_text import identity_of
from loci.gateway.capabilities.inputs import Input, checked_inputs, merged_inputs

CAPABILITY, CODE = "capability", "capability_code"
"""The kinds of records: capabilities by id, and code by its identity."""
MOST: Final = 200
"""The most capabilities of an owner. New ones replace the least useful."""
MOST_VERSIONS: Final = 10
ATTEMPTS: Final = 20

ID: Final = re.compile(r"cap_[0-9a-f]{12}(?:\.\d{1,9})?")
"""The id of a capability, or of one of its versions."""


@dataclass(frozen=True, slots=True)
class StoredCode:
    """Code by its identity."""

    capability: str
    """The id of its capability."""
    code: str
    needs: tuple[str, ...]
    """The keys of `context` that it must be given."""
    inputs: tuple[Input, ...] = ()
    """The inputs with which it worked. Code that was learned before they were noted has none."""

    def as_json(self) -> JsonObject:
        """The record of the code."""
        # `failures` is for the versions before, which read it.
        told: JsonObject = {"capability": self.capability, "code": self.code, "needs": [*self.needs], "failures": 0}
        return {**told, "inputs": [one.as_json() for one in self.inputs]} if self.inputs else told

    def takes(self, inputs: Sequence[Input]) -> bool:
        """True if it worked with inputs of the same shape, as far as that is known."""
        shapes = {one.name: one.shape for one in inputs}
        known = {one.name: one.shape for one in self.inputs}
        return known == shapes if known else shapes.keys() >= set(self.needs)


@dataclass(frozen=True, slots=True)
class LearnableRun:
    """A run that ended, of code that can be learned."""

    code: str
    identity: str
    inputs: tuple[Input, ...]
    intent: str
    """The intent as it is stored; empty if no intent was given, or nothing of it may be stored."""
    tools: tuple[str, ...]
    """The tools whose calls worked in this run."""
    worked: bool
    at: float
    foreign: bool = False
    """True: its session had read texts of others."""


class CapabilityStore:
    """Stores capabilities and their code."""

    def __init__(self, records: RecordStore, clock: Callable[[], float]) -> None:
        self._records = records
        self.clock = clock

    def all(self, owner: Owner) -> list[Capability]:
        """All capabilities, in the order of their ids."""
        return list(readable(every(self._records, owner, CAPABILITY), capability_of))

    def get(self, owner: Owner, id: str) -> Capability:
        """The capability with this id, which may name a version. Raises `NotFound` if no capability has it."""
        found = None
        if ID.fullmatch(id.strip()):
            record = self._records.get(owner, CAPABILITY, id.strip().partition(".")[0])
            found = read_or_none(record, capability_of)
        if found is None:
            raise no_capability(id)
        return found

    def codes(self, owner: Owner, identities: Iterable[str]) -> dict[str, StoredCode]:
        """The codes with these identities that are there."""
        records = self._records.get_all(owner, CODE, list(dict.fromkeys(identities)))
        read = {key: read_or_none(record, _stored_code) for key, record in records.items()}
        return {key: code for key, code in read.items() if code is not None and code.code}

    def remove(self, owner: Owner, id: str) -> Capability:
        """Delete the capability with all its versions. Raises `NotFound` if no capability has this id."""
        found = self.get(owner, id)
        self._forget(owner, found)
        return found

    def restore(self, owner: Owner, capability: Capability, codes: Mapping[str, StoredCode]) -> None:
        """Merge a capability into the stored one with the same id: for code that both have, the larger counts stay."""
        for _ in range(ATTEMPTS):
            held = self._records.get(owner, CAPABILITY, capability.id)
            known = read_or_none(held, capability_of)
            merged = merge_capabilities(known, capability, self.clock())
            if merged == known:
                return
            for one in merged.versions:
                if one.identity in codes and (known is None or not _has(known, one.identity)):
                    value = replace(codes[one.identity], capability=merged.id).as_json()
                    self._records.put(owner, CODE, one.identity, value)
            with suppress(Conflict):
                version = held.version if held else ABSENT
                self._records.put(owner, CAPABILITY, merged.id, merged.as_json(), expect_version=version)
                self._make_room(owner, self.clock(), merged.id)
                return
        raise lost_race(CAPABILITY)

    def note(self, owner: Owner, ran: LearnableRun) -> Capability | None:
        """Count the run, and learn its code if it is new and worked. Return the capability that it belongs to."""
        for _ in range(ATTEMPTS):
            with suppress(Conflict):
                return self._record(owner, ran)
        return None

    def _record(self, owner: Owner, ran: LearnableRun) -> Capability | None:
        record = self._records.get(owner, CODE, ran.identity)
        stored = read_or_none(record, _stored_code)
        id = stored.capability if stored is not None else capability_id(ran.intent) if ran.intent else ""
        held = self._records.get(owner, CAPABILITY, id) if id else None
        known = read_or_none(held, capability_of)
        if stored is None and known is not None:
            ran, record, stored = self._as_stored_before(owner, ran, known, record)
        if held is not None and known is not None and stored is not None and _has(known, ran.identity):
            if not ran.worked and not stored.takes(ran.inputs):
                return None
            changed = _with_run(known, ran)
            self._records.put(owner, CAPABILITY, known.id, changed.as_json(), expect_version=held.version)
            inputs = merged_inputs(stored.inputs, ran.inputs) if ran.worked else stored.inputs
            if inputs != stored.inputs:
                self._write_code(owner, ran.identity, record, replace(stored, inputs=inputs))
            return changed
        return self._learned(owner, ran, record) if ran.intent and ran.worked else None

    def _as_stored_before(
        self, owner: Owner, ran: LearnableRun, known: Capability, record: Record | None
    ) -> tuple[LearnableRun, Record | None, StoredCode | None]:
        """The run as one of a version that has the same code under an identity of the form before, if there is one."""
        records = self._records.get_all(owner, CODE, [one.identity for one in known.versions])
        for identity, other in records.items():
            stored = read_or_none(other, _stored_code)
            if stored is not None and stored.code and identity_of(stored.code) == ran.identity:
                return replace(ran, identity=identity), other, stored
        return ran, record, None

    def _learned(self, owner: Owner, ran: LearnableRun, record: Record | None) -> Capability:
        id = capability_id(ran.intent)
        held = self._records.get(owner, CAPABILITY, id)
        known = read_or_none(held, capability_of)
        code = StoredCode(id, ran.code, tuple(one.name for one in ran.inputs), ran.inputs)
        if held is not None and known is not None and _has(known, ran.identity):  # the record of its code was lost
            self._write_code(owner, ran.identity, record, code)
            again = _with_run(known, ran)
            self._records.put(owner, CAPABILITY, id, again.as_json(), expect_version=held.version)
            return again
        number = known.versions_made + 1 if known is not None else 1
        version = Version(number, ran.identity, ran.tools[:MOST_TOOLS], 1, 0, ran.at, ran.at, ran.foreign)
        others = [] if known is None else sorted(known.versions, key=lambda one: -one.usefulness(ran.at))
        kept = sorted((*others[: MOST_VERSIONS - 1], version), key=lambda one: one.number)
        intents = () if known is None else known.other_intents
        made = Capability(id, ran.intent if known is None else known.intent, intents, tuple(kept), number)
        self._write_code(owner, ran.identity, record, code)
        self._records.put(owner, CAPABILITY, id, made.as_json(), expect_version=held.version if held else ABSENT)
        for one in others[MOST_VERSIONS - 1 :]:
            self._records.remove(owner, CODE, one.identity)
        if known is None:
            self._make_room(owner, ran.at, id)
        return made

    def _write_code(self, owner: Owner, identity: str, over: Record | None, code: StoredCode) -> None:
        version = over.version if over is not None else ABSENT
        self._records.put(owner, CODE, identity, code.as_json(), expect_version=version)

    def _make_room(self, owner: Owner, now: float, new: str) -> None:
        """Forget the least useful beyond the most that an owner may have."""
        others = [one for one in self.all(owner) if one.id != new]
        for one in sorted(others, key=lambda one: (-one.best.usefulness(now), one.id))[MOST - 1 :]:
            with suppress(LociError):
                self._forget(owner, one)

    def _forget(self, owner: Owner, capability: Capability) -> None:
        self._records.remove(owner, CAPABILITY, capability.id)
        for one in capability.versions:
            self._records.remove(owner, CODE, one.identity)


def _with_run(known: Capability, ran: LearnableRun) -> Capability:
    """The capability after another run of one of its versions."""

    def after(one: Version) -> Version:
        if one.identity != ran.identity:
            return one
        if not ran.worked:
            return replace(one, failures=one.failures + 1)
        tools = tuple(dict.fromkeys((*one.tools, *ran.tools)))[:MOST_TOOLS]
        return replace(one, successes=one.successes + 1, used_at=max(one.used_at, ran.at), tools=tools)

    others = known.other_intents
    if ran.worked and ran.intent:
        said = [[*intent_words(one)] for one in (known.intent, *others)]
        if [*intent_words(ran.intent)] not in said:
            others = (*others, ran.intent)[-MOST_OTHER_INTENTS:]
    return replace(known, versions=tuple(after(one) for one in known.versions), other_intents=others)


def merge_capabilities(known: Capability | None, other: Capability, now: float) -> Capability:
    """Merge two capabilities. Versions that only `other` has get the next numbers; merging twice changes nothing."""
    if known is None:
        return other
    theirs = {one.identity: one for one in other.versions}

    def larger(one: Version) -> Version:
        with_this = theirs.get(one.identity, one)
        return replace(
            one,
            successes=max(one.successes, with_this.successes),
            failures=max(one.failures, with_this.failures),
            used_at=max(one.used_at, with_this.used_at),
        )

    versions, number = [larger(one) for one in known.versions], known.versions_made
    room = MOST_VERSIONS - len(versions)
    more = [one for one in other.versions if not _has(known, one.identity)]
    best = sorted(more, key=lambda one: -one.usefulness(now))[:room]
    for one in (one for one in more if one in best):
        number += 1
        versions.append(replace(one, number=number))
    return replace(known, versions=tuple(versions), versions_made=number)


def _has(capability: Capability, identity: str) -> bool:
    return any(one.identity == identity for one in capability.versions)


def _stored_code(record: Record) -> StoredCode:
    value = record.value
    needs = tuple(string(one) for one in cast("Sequence[str]", value["needs"]))
    return StoredCode(string(value["capability"]), string(value["code"]), needs, checked_inputs(value.get("inputs")))


def no_capability(id: str) -> NotFound:
    """The error if no capability has this id."""
    return NotFound(
        f"There is no capability {id[:80]!r}", "Take an id from pml_search_capabilities", code="CAPABILITY_NOT_FOUND"
    )


def stored_intent(intent: str | None) -> str:
    """The intent as it is stored; empty if no intent is given."""
    return plain_intent(intent) if intent else ""
