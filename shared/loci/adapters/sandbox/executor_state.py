"""The state of an executor between runs, and what a run reports of it: the same wherever its process is."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import cast

from loci.adapters.sandbox import run_results
from loci.code.python_run import ExecutorCondition, LostVariable
from loci.core.json import Json, JsonObject
from loci.sandbox.supervisor.exchange import WhyEnded
from loci.sandbox.supervisor.variables import Kept, Lost, New, Restored, Start

MORE_CHANGED = LostVariable(run_results.MORE, "those are lost, or older, that the last runs have set")
NOT_SAVED = "it was set after the variables were last saved"
CUT_OFF = LostVariable("(variables of the last run)", "that run was cut off before it was answered")


@dataclass(frozen=True, slots=True)
class VariablesSnapshot:
    """The variables that were saved last. Their content is never more than bytes here."""

    generation: str
    pieces: tuple[str, ...]
    """The hashes of their content, in order."""
    size: int
    kept: tuple[str, ...]
    lost: tuple[LostVariable, ...]


@dataclass(frozen=True, slots=True)
class KnownVariables:
    """An executor's variables between two runs, as far as we know them. They are noted before a run is answered."""

    names: tuple[str, ...] = ()
    """The variables that the last answered run left."""
    snapshot: VariablesSnapshot | None = None
    """The snapshot that was saved last. Variables that were set later are only in the process."""
    changed: tuple[str, ...] = ()
    """The variables that runs may have changed since the snapshot."""
    is_cut_off: bool = False
    """True if a run has begun after that, and was not answered."""
    why_not_saved: str = NOT_SAVED
    """The reason why variables are lost that were set after it."""

    def condition(self, start: Start) -> ExecutorCondition:
        """The condition that a run finds if it starts in this way. Each variable is kept, or lost by name."""
        snapshot = self.snapshot
        match start:
            case Kept():
                return ExecutorCondition("kept", self.names)
            case Restored(said) if snapshot is not None:
                kept, lost = run_results.saved(said)
                lost = (*snapshot.lost, *lost)
                known = (*kept, *(one.name for one in lost))
                changed = set(self.changed)
                if run_results.MORE in changed:
                    changed.remove(run_results.MORE)
                    lost, known = (*lost, MORE_CHANGED), (*known, run_results.MORE)
                older = tuple(name for name in kept if name in changed)
                return ExecutorCondition("restored", kept, (*lost, *self._not_in(known), *self._cut_off()), older)
            case Lost(why) if snapshot is not None:
                reason = run_results.clean_text(f"the saved variables could not be read ({why})")
                return _gone((*_each(snapshot.kept, reason), *self._not_in(snapshot.kept), *self._cut_off()))
            case Restored() | Lost() | New():
                return _gone((*self._not_in(()), *self._cut_off()))

    def _cut_off(self) -> tuple[LostVariable, ...]:
        return (CUT_OFF,) if self.is_cut_off else ()

    def _not_in(self, saved: Iterable[str]) -> tuple[LostVariable, ...]:
        known = set(saved)
        return _each((name for name in self.names if name not in known), self.why_not_saved)


def condition_after_end(condition: ExecutorCondition, why: WhyEnded) -> ExecutorCondition:
    """The condition after a run that started in this one and ended its process."""
    reason = f"the executor was ended ({run_results.ENDED[why][0]})"
    return ExecutorCondition("lost", (), (*condition.lost, *_each(condition.kept, reason)))


def known_to_json(known: KnownVariables) -> JsonObject:
    """The variables as a record or a file keeps them."""
    snapshot = known.snapshot
    return {
        "names": list[Json](known.names),
        "changed": list[Json](known.changed),
        "why_not_saved": known.why_not_saved,
        "snapshot": snapshot
        and {
            "generation": snapshot.generation,
            "pieces": list[Json](snapshot.pieces),
            "size": snapshot.size,
            "kept": list[Json](snapshot.kept),
            "lost": [{"name": one.name, "reason": one.reason} for one in snapshot.lost],
        },
    }


def known_from_json(value: JsonObject) -> KnownVariables:
    """The variables that a record or a file holds; `KeyError`, `TypeError` or `ValueError` if it is damaged."""
    saved, snapshot = cast("JsonObject | None", value["snapshot"]), None
    if saved:
        lost = cast("list[dict[str, str]]", saved["lost"])
        snapshot = VariablesSnapshot(
            str(saved["generation"]),
            tuple(cast("list[str]", saved["pieces"])),
            int(str(saved["size"])),
            tuple(cast("list[str]", saved["kept"])),
            tuple(LostVariable(one["name"], one["reason"]) for one in lost),
        )
    return KnownVariables(
        tuple(cast("list[str]", value["names"])),
        snapshot,
        tuple(cast("list[str]", value.get("changed", []))),
        why_not_saved=str(value.get("why_not_saved", NOT_SAVED)),
    )


def _gone(lost: tuple[LostVariable, ...]) -> ExecutorCondition:
    return ExecutorCondition("lost" if lost else "new", (), lost)


def _each(names: Iterable[str], reason: str) -> tuple[LostVariable, ...]:
    return tuple(LostVariable(name, reason) for name in names)
