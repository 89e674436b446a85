"""The Python runner: executors, each of one owner, and code that is run in them."""

import re
from collections.abc import Callable

from loci.code.detached_runs import DetachedRuns, PendingRun
from loci.code.executors import Ran
from loci.code.ports import Executors, GivenUp, StoredFiles, never
from loci.core.errors import NotFound, Refused
from loci.core.identity import Caller, Owner
from loci.core.json import JsonObject
from loci.core.stores import Record, RecordStore, every

KIND = "executor"
TOOL = "run_memory_code"
BESIDE = 240.0
"""Seconds that a run may take besides its own, where another process drives it."""
PATIENCE = 25.0
"""Seconds that an answer may then wait for it."""
ID = re.compile(r"executor-[0-9a-f]{32}")
LARGEST_CODE = 1_000_000
"""Bytes of UTF-8."""
KEPT_SECONDS = 7 * 24 * 3600.0
"""After its last run an executor can still be called for so long."""
MARKED_SECONDS = 60.0
"""So often it is marked as used."""
MOST = 100
"""Executors of an owner: another one takes the place of the one that was not used for longest."""


class Runner:
    """Makes executors and runs code in them."""

    def __init__(
        self,
        records: RecordStore,
        executors: Executors,
        files: StoredFiles,
        clock: Callable[[], float],
        *,
        seconds: float = 60.0,
        elsewhere: DetachedRuns | None = None,
    ) -> None:
        self._records = records
        self._executors = executors
        self._files = files
        self._clock = clock
        self._elsewhere = elsewhere
        self._seconds = seconds
        self.patience = PATIENCE

    def create(self, owner: Owner) -> str:
        """The id of a new executor."""
        self._make_room(owner)
        id = self._executors.open(owner)
        now = self._clock()
        self._records.put(
            owner, KIND, id, {"created_at": now, "used_at": now}, expires_at=now + KEPT_SECONDS, durable=False
        )
        return id

    def start(self, caller: Caller, id: str, code: str, given_up: GivenUp = never) -> Ran | PendingRun:
        """What the code comes to; or the run, on its way, where another process drives it."""
        if self._elsewhere is None:
            return self.run(caller.owner, id, code, given_up)
        self._checked(caller.owner, id, code)
        return self._elsewhere.begin(caller, TOOL, {"id": id, "code": code}, self._seconds + BESIDE, later)

    def run(self, owner: Owner, id: str, code: str, given_up: GivenUp = never) -> Ran:
        """What the code comes to in the executor; `NotFound` where the owner has none of that id."""
        record, now = self._checked(owner, id, code), self._clock()
        if now - _used_at(record) >= MARKED_SECONDS:
            value = record.value | {"used_at": now}
            self._records.put(owner, KIND, id, value, expires_at=now + KEPT_SECONDS, durable=False)
        return self._executors.run(owner, id, code, self._files, now + KEPT_SECONDS, given_up)

    def close(self) -> None:
        """The server stops."""
        self._executors.close()

    def _checked(self, owner: Owner, id: str, code: str) -> Record:
        record = self._records.get(owner, KIND, id) if ID.fullmatch(id) else None
        if record is None:
            raise NotFound(
                f"There is no executor {id[:80]!r}",
                "Make one with create_memory_code_runner(), and set up in it what the code needs",
                code="EXECUTOR_NOT_FOUND",
            )
        size = len(code.encode("utf-8", "replace"))
        if size > LARGEST_CODE:
            raise Refused(
                f"The code has {size:,} bytes; {LARGEST_CODE:,} are the most",
                "Run it in parts, and read what is long from a file",
                code="CODE_TOO_LARGE",
            )
        return record

    def _make_room(self, owner: Owner) -> None:
        records = sorted(every(self._records, owner, KIND), key=_used_at)
        for record in records[: max(0, len(records) + 1 - MOST)]:
            self._records.remove(owner, KIND, record.key)
            self._executors.forget(owner, record.key)


def later(_: float, scratchpad_id: str) -> JsonObject:
    """What is said of a run that goes on."""
    hint = f"The code goes on. Read its answer with scratchpad_read('{scratchpad_id}') when it is done"
    return {"result": None, "status": "running", "scratchpad_id": scratchpad_id, "hint": hint}


def _used_at(record: Record) -> float:
    return float(str(record.value["used_at"]))
