"""The record of an executor whose process is in some machine. The process that has the turn writes it."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import cast

from loci.adapters import run_results
from loci.adapters.run_results import KnownVariables, known_from_json, known_to_json
from loci.core.errors import Conflict
from loci.core.identity import Owner
from loci.core.json import Json, JsonObject
from loci.core.stores import ABSENT, Record, RecordStore, read_or_none

KIND = "executor-machine"
BUSY_SECONDS = 2.0
PAUSE = 0.1


@dataclass(frozen=True, slots=True)
class KnownExecutor:
    """An executor as its last run left it."""

    variables: KnownVariables = field(default_factory=KnownVariables)
    process: str = ""
    """The name of its process after that run. A machine whose process has another name has an older one."""
    files: tuple[str, str] | None = None
    """The saved work folder: the run that saved it last, and the hash of its content."""
    files_saved_at: float = 0.0
    files_unsaved: bool = False
    memory_mb: float | None = None
    """The most that its last run took."""


@dataclass(frozen=True, slots=True)
class RunTurn:
    """A run's turn. It ends with `give`, or after a while by itself."""

    known: KnownExecutor
    version: str
    owner: Owner
    id: str
    keep_until: float
    began_at: float


class ExecutorRecords:
    """The records of all executors. Two writers race, and the second learns that it lost."""

    def __init__(
        self, records: RecordStore, clock: Callable[[], float], pause: Callable[[float], None] = time.sleep
    ) -> None:
        self._records = records
        self._clock = clock
        self._pause = pause

    def take(self, owner: Owner, id: str, seconds: float, keep_until: float) -> RunTurn:
        """Take the turn, for so long at most. `Refused` if another run has it."""
        waited, found, until = 0.0, None, 0.0
        while waited <= BUSY_SECONDS:
            found = self._records.get(owner, KIND, id)
            until = read_or_none(found, _busy_until) or 0.0
            if until <= self._clock():
                known = read_or_none(found, known_executor) or KnownExecutor()
                is_cut_off = until > 0  # its turn ended by itself
                known = replace(known, variables=replace(known.variables, is_cut_off=is_cut_off))
                try:
                    now = self._clock()
                    written = self._put(owner, id, known, found, now + seconds, keep_until, now)
                except Conflict:
                    continue
                return RunTurn(known, written.version, owner, id, keep_until, now)
            self._pause(PAUSE)
            waited += PAUSE
        now = self._clock()
        why = run_results.describe_other_run(now - (read_or_none(found, _busy_since) or now), until - now)
        raise run_results.executor_busy(id, why)

    def give(self, turn: RunTurn, known: KnownExecutor) -> bool:
        """Give the turn back, with the executor as it is now. False if the turn was over, and is another run's."""
        try:
            self._put(turn.owner, turn.id, known, Record(turn.id, {}, turn.version), 0.0, turn.keep_until)
        except Conflict:
            return False
        return True

    def knows(self, owner: Owner, id: str) -> bool:
        """True if it can still be called."""
        return self._records.get(owner, KIND, id) is not None

    def known(self, owner: Owner, id: str) -> KnownExecutor:
        """The executor as its last run left it."""
        return read_or_none(self._records.get(owner, KIND, id), known_executor) or KnownExecutor()

    def is_busy(self, owner: Owner, id: str) -> bool:
        """True if a run has its turn."""
        return (read_or_none(self._records.get(owner, KIND, id), _busy_until) or 0.0) > self._clock()

    def remove(self, owner: Owner, id: str) -> None:
        self._records.remove(owner, KIND, id)

    def _put(
        self,
        owner: Owner,
        id: str,
        known: KnownExecutor,
        over: Record | None,
        busy_until: float,
        keep_until: float,
        busy_since: float = 0.0,
    ) -> Record:
        value: JsonObject = {
            "busy_until": busy_until,
            "busy_since": busy_since,
            "process": known.process,
            **known_to_json(known.variables),
            "files": list[Json](known.files) if known.files else None,
            "files_saved_at": known.files_saved_at,
            "files_unsaved": known.files_unsaved,
            "memory_mb": known.memory_mb,
        }
        version = over.version if over else ABSENT
        return self._records.put(owner, KIND, id, value, expect_version=version, expires_at=keep_until)


def _busy_since(record: Record) -> float:
    return float(str(record.value["busy_since"]))


def _busy_until(record: Record) -> float:
    return float(str(record.value["busy_until"]))


def known_executor(record: Record) -> KnownExecutor:
    """The executor of a record."""
    value = record.value
    run, digest = cast("tuple[str, str]", value.get("files") or ("", ""))
    files = (run, digest) if run else None
    unsaved = value.get("files_unsaved") is True
    saved_at = float(str(value.get("files_saved_at", 0.0)))
    memory = value.get("memory_mb")
    memory_mb = float(memory) if isinstance(memory, int | float) else None
    return KnownExecutor(known_from_json(value), str(value["process"]), files, saved_at, unsaved, memory_mb)
