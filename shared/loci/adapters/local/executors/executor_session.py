"""One executor from run to run: asleep, gone and saved, or here."""

import threading
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from dataclasses import replace

from loci.adapters.local.executors.executor_folders import ExecutorFolders
from loci.adapters.local.executors.forks import Forks
from loci.adapters.local.executors.stored_files import Arrivals
from loci.adapters.sandbox import run_results
from loci.adapters.sandbox.snapshots import Snapshots, VariablesSnapshot
from loci.code.executors import ExecutorCondition, LostVariable, Made, Ran
from loci.code.ports import GivenUp, StoredFiles, never
from loci.core.errors import LociError
from loci.core.identity import Owner
from loci.sandbox.supervisor.exchange import Bounds, ExecutorEnded
from loci.sandbox.supervisor.executor_files import file_stamps, written_files
from loci.sandbox.supervisor.executor_process import ExecutorProcess

BUSY_SECONDS = 2.0
"""As long as it takes to save what is saved beside runs."""
STATE_SECONDS = 60.0
MOST_BESIDE = 64 << 20
"""Bytes of variables that are saved beside runs; more are when the executor is put away."""
MOST = 2 << 30
QUIET_SECONDS = 2.0
"""After a run, until its variables are saved."""
SOON = f"they are saved {QUIET_SECONDS:g} seconds after the last run"


class ExecutorSession:
    """Serves one run at a time."""

    def __init__(
        self,
        owner: Owner,
        place: ExecutorFolders,
        forks: Forks,
        snapshots: Snapshots,
        bounds: Bounds,
        clock: Callable[[], float],
        executor: ExecutorProcess | None = None,
    ) -> None:
        self.id = place.folder.name
        self.used_at = clock()
        self.is_dirty = False
        self.owner = owner
        self._place = place
        self._forks = forks
        self._snapshots = snapshots
        self._bounds = bounds
        self._clock = clock
        self._turn = threading.Lock()
        self._executor = executor
        self._has_run = False
        self._names: tuple[str, ...] = ()
        self._noted: tuple[str, ...] = ()
        """The names that are in its folder."""
        self._keep_until = 0.0
        self._is_large = False
        self._unsaved = SOON
        """Why variables are not saved when a run has ended."""

    @property
    def is_here(self) -> bool:
        """Whether a process stands for it."""
        return self._executor is not None

    def run(self, code: str, files: StoredFiles, keep_until: float, given_up: GivenUp = never) -> Ran:
        """What the code comes to. `Refused` where another run is not done."""
        with self._taken(BUSY_SECONDS) as is_mine:
            if not is_mine:
                raise run_results.busy(self.id, "runs other code")
            self._keep_until = keep_until
            executor, condition = self._awake()
            self._place.touch(self._clock())
            work = self._place.folders.work
            before, began = file_stamps(work), time.monotonic()
            self._has_run = self.is_dirty = True
            self._is_large = False
            try:
                reply = executor.run(code, Arrivals(self._place, files, self.owner), given_up=given_up)
            except ExecutorEnded as why:
                gone = tuple(LostVariable(name, run_results.gone_with(why)) for name in self._names)
                self._forget_executor(why)
                lost = ExecutorCondition("lost", (), gone)
                return run_results.stopped(why, lost, time.monotonic() - began, run_results.limits(self._bounds))
            finally:
                self.used_at = self._clock()
            self._know(run_results.names(reply.said))
            condition = replace(condition, unsaved=self._unsaved if self._names else None)
            made = tuple(Made(name, size) for name, size in written_files(before, file_stamps(work)))
            return run_results.ran(reply, condition, run_results.limits(self._bounds), made)

    def _know(self, names: tuple[str, ...]) -> None:
        """Note the variables, before the answer: what is not saved when Loci is killed is then lost by name."""
        self._names = names
        if names != self._noted:
            with suppress(OSError):  # the run has its answer; the next one notes them again
                self._place.note_variables(names)
                self._noted = names

    def save(self, *, whole: bool) -> bool:
        """Save the variables, if there is something new and nobody runs code now; False where that was not done.

        Beside runs (not `whole`) only where they are few.
        """
        if not self.is_dirty or (self._is_large and not whole):
            return True
        with self._taken(BUSY_SECONDS if whole else 0) as is_mine:
            return is_mine and self._saved(MOST if whole else MOST_BESIDE, whole=whole)

    def put_away(self) -> bool:
        """Save the variables and end the process; False where code runs in it."""
        with self._taken(0) as is_mine:
            if not is_mine:
                return False
            if self.is_dirty:
                self._saved(MOST, whole=True)
            self._end()
            return True

    def close(self) -> None:
        """Save the variables if that can be done, and end the process in any case but that code runs in it."""
        with suppress(LociError, OSError):
            self.put_away()
        with self._taken(0) as is_mine:
            if is_mine:
                self._end()

    def remove(self) -> None:
        """Nothing of it is left."""
        with self._taken(self._bounds.seconds + BUSY_SECONDS):
            self._end()
            self._remove()

    def remove_unused(self) -> None:
        """Nothing of it is left, unless it has a process or is just being used."""
        with self._taken(0) as is_mine:
            if is_mine and not self.is_here:
                self._remove()

    def _remove(self) -> None:
        self._snapshots.remove(self.owner, self.id)
        if self._place.take():  # where another server has it, that one's sweeping finds it
            self._place.remove()

    @contextmanager
    def _taken(self, seconds: float) -> Generator[bool]:
        is_mine = self._turn.acquire(timeout=seconds) if seconds else self._turn.acquire(blocking=False)
        try:
            yield is_mine
        finally:
            if is_mine:
                self._turn.release()

    def _awake(self) -> tuple[ExecutorProcess, ExecutorCondition]:
        """Its process, which is started where there is none, with the variables that were saved."""
        if self._executor is not None and self._executor.ended is None:
            return self._executor, ExecutorCondition("kept" if self._has_run else "new", self._names)
        if not self._place.take():
            raise run_results.busy(self.id, "is used by another Loci on this machine")
        self._place.name(self.owner)
        self._noted = self._place.variables()
        executor = self._forks.spawn(self._place)
        snapshot = self._snapshots.last(self.owner, self.id)
        try:
            condition = self._restored(executor, snapshot)
        except ExecutorEnded as why:
            condition = self._lost(snapshot, f"the saved variables could not be read ({why.why})")
            executor = self._forks.spawn(self._place)
        self._executor = executor
        self._names = condition.kept
        return executor, condition

    def _restored(self, executor: ExecutorProcess, snapshot: VariablesSnapshot | None) -> ExecutorCondition:
        if snapshot is None:
            return self._lost(None, "")
        try:
            pieces = list(self._snapshots.read(self.owner, self.id, snapshot))
        except LociError as error:
            return self._lost(snapshot, error.what)
        kept, lost = run_results.saved(executor.restore(pieces, STATE_SECONDS).said)
        lost = (*snapshot.lost, *lost)
        return ExecutorCondition("restored", kept, (*lost, *self._set_since((*kept, *(one.name for one in lost)))))

    def _lost(self, snapshot: VariablesSnapshot | None, why: str) -> ExecutorCondition:
        """Its condition with no variable left."""
        saved = snapshot.kept if snapshot else ()
        lost = (*(LostVariable(name, why) for name in saved), *self._set_since(saved))
        return ExecutorCondition("lost" if lost else "new", (), lost)

    def _set_since(self, saved: tuple[str, ...]) -> tuple[LostVariable, ...]:
        return tuple(LostVariable(name, run_results.NOT_SAVED) for name in self._noted if name not in saved)

    def _saved(self, most: int, *, whole: bool) -> bool:
        executor = self._executor
        if executor is None or executor.ended is not None:
            self.is_dirty = False
            return True
        writing = self._snapshots.writing(self.owner, self.id)
        try:
            said = executor.save(writing.take, most, STATE_SECONDS).said
        except ExecutorEnded as why:
            self._snapshots.abandon(writing)
            self._forget_executor(why)
            return False
        kept, lost = run_results.saved(said)
        if not whole and said.get("too_large"):
            self._snapshots.abandon(writing)
            self._is_large = True
            self._unsaved = f"they take more than {most >> 20} MB, and are saved once the executor is idle"
            return True
        try:
            self._snapshots.done(writing, kept, lost, self._keep_until)
        except LociError as error:
            self._unsaved = f"saving them failed, and is tried again: {error.what}"
            raise
        self.is_dirty, self._unsaved = False, SOON
        return True

    def _forget_executor(self, why: ExecutorEnded) -> None:
        self._names = ()
        self.is_dirty = False
        self._end()
        if why.why == "disk":
            with suppress(OSError):
                self._place.empty()

    def _end(self) -> None:
        if self._executor is not None:
            self._executor.end()
            self._executor = None
        self._place.release()
