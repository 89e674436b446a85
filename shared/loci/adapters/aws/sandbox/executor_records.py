"""What is known of an executor whose process is in some machine: one record, written by who has the turn."""

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import cast

from loci.adapters.sandbox import run_results
from loci.adapters.sandbox.snapshots import VariablesSnapshot, snapshot_of, told
from loci.code.executors import LostVariable
from loci.core.errors import Conflict
from loci.core.identity import Owner
from loci.core.json import Json, JsonObject
from loci.core.stores import ABSENT, Record, RecordStore

KIND = "executor-machine"
BUSY_SECONDS = 2.0
PAUSE = 0.1
MOST_NAMES = 1000


@dataclass(frozen=True, slots=True)
class KnownExecutor:
    """How the last run left it."""

    process: str = ""
    """What the process is between two runs. A machine with another one has an older one."""
    snapshot: VariablesSnapshot | None = None
    names: tuple[str, ...] = ()
    """Its variables."""
    files: tuple[str, str] | None = None
    """Of its work folder: the run that kept it last, and the hash of what was kept."""
    files_unsaved: bool = False

    def unsaved(self, kept: tuple[str, ...], lost: tuple[LostVariable, ...]) -> tuple[LostVariable, ...]:
        """Variables that were set after the snapshot was made."""
        known = {*kept, *(one.name for one in lost)}
        return tuple(LostVariable(name, run_results.NOT_SAVED) for name in self.names if name not in known)


@dataclass(frozen=True, slots=True)
class Turn:
    """A run's turn: it ends with `give`, or after a while by itself."""

    known: KnownExecutor
    version: str
    owner: Owner
    id: str
    keep_until: float


class ExecutorRecords:
    """The records of all executors. Two writers race, and the second learns that it lost."""

    def __init__(
        self, records: RecordStore, clock: Callable[[], float], pause: Callable[[float], None] = time.sleep
    ) -> None:
        self._records = records
        self._clock = clock
        self._pause = pause

    def take(self, owner: Owner, id: str, seconds: float, keep_until: float) -> Turn:
        """The turn, for so long at most; `Refused` where somebody else has it."""
        waited = 0.0
        while waited <= BUSY_SECONDS:
            found = self._records.get(owner, KIND, id)
            if found is None or float(str(found.value["busy_until"])) <= self._clock():
                known = _known(found)
                try:
                    written = self._put(owner, id, known, found, self._clock() + seconds, keep_until)
                except Conflict:
                    continue
                return Turn(known, written.version, owner, id, keep_until)
            self._pause(PAUSE)
            waited += PAUSE
        raise run_results.busy(id, "runs other code")

    def give(self, turn: Turn, known: KnownExecutor) -> bool:
        """Leave the executor as it is now; False where the turn was over, and it is somebody else's."""
        known = replace(known, names=known.names[:MOST_NAMES])
        try:
            self._put(turn.owner, turn.id, known, Record(turn.id, {}, turn.version), 0.0, turn.keep_until)
        except Conflict:
            return False
        return True

    def knows(self, owner: Owner, id: str) -> bool:
        """Whether it can still be called."""
        return self._records.get(owner, KIND, id) is not None

    def remove(self, owner: Owner, id: str) -> None:
        self._records.remove(owner, KIND, id)

    def _put(
        self, owner: Owner, id: str, known: KnownExecutor, over: Record | None, busy_until: float, keep_until: float
    ) -> Record:
        value: JsonObject = {
            "busy_until": busy_until,
            "process": known.process,
            "snapshot": told(known.snapshot) if known.snapshot else None,
            "names": list[Json](known.names),
            "files": list[Json](known.files) if known.files else None,
            "files_unsaved": known.files_unsaved,
        }
        version = over.version if over else ABSENT
        return self._records.put(owner, KIND, id, value, expect_version=version, expires_at=keep_until)


def _known(record: Record | None) -> KnownExecutor:
    if record is None:
        return KnownExecutor()
    value = record.value
    snapshot = cast("JsonObject | None", value["snapshot"])
    names = tuple(cast("list[str]", value["names"]))
    run, digest = cast("tuple[str, str]", value.get("files") or ("", ""))
    files = (run, digest) if run else None
    unsaved = value.get("files_unsaved") is True
    return KnownExecutor(str(value["process"]), snapshot_of(snapshot) if snapshot else None, names, files, unsaved)
