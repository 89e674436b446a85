"""One executor of this server from run to run: its process, its folder, and what was saved of its variables."""

import threading
import time
from collections.abc import Callable, Generator, Iterable
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import replace

from loci.adapters.local.executors.executor_folder import ExecutorFolder, StoredFileCopies
from loci.adapters.local.executors.executor_starter import ExecutorStarter
from loci.adapters.sandbox import run_results
from loci.adapters.sandbox.executor_state import NOT_SAVED, KnownVariables, condition_after_end
from loci.adapters.sandbox.run_results import runs_other_code
from loci.adapters.sandbox.snapshots import TOO_LARGE, Snapshots, VariablesSnapshot
from loci.code.ports import GivenUp, StoredFiles, never
from loci.code.python_run import ExecutorCondition, ExecutorNow, Made, Ran
from loci.core.errors import LociError, Refused, Unavailable
from loci.core.full_disk import disk_error
from loci.core.identity import Owner
from loci.sandbox.supervisor import variables
from loci.sandbox.supervisor.exchange import MB, Bounds, ExecutorEnded
from loci.sandbox.supervisor.executor_files import NoSuchFileError, file_stamps, read_file, written_files
from loci.sandbox.supervisor.executor_process import ExecutorProcess
from loci.sandbox.supervisor.giving_way import steps_beside
from loci.sandbox.supervisor.process_use import memory_use
from loci.sandbox.supervisor.variables import UnreadableError, Unsaved

BUSY_SECONDS = 2.0
"""A run waits so long for its turn. Saving the variables, which may go on meanwhile, is given up for it."""
MOST_BETWEEN_RUNS, MOST = 64 << 20, 2 << 30
"""Bytes of variables that are saved between runs, and when the executor is put away."""
ATTEMPTS = 3
"""Processes that a run is given to, as long as each of them ends before it has read it."""
SAVE_SECONDS, PUT_AWAY_SECONDS = 5.0, 20.0
"""To save between two runs, and when it is put away. What takes longer may be code that never ends."""
QUIET_SECONDS = 2.0
"""Variables are saved so long after a run, if no other run follows."""
SOON = f"they are saved {QUIET_SECONDS:g} seconds after the last run"


class ExecutorSession:
    """Serves one run at a time."""

    def __init__(
        self,
        owner: Owner,
        folder: ExecutorFolder,
        starter: ExecutorStarter,
        snapshots: Snapshots,
        bounds: Bounds,
        clock: Callable[[], float],
        executor: ExecutorProcess | None = None,
    ) -> None:
        self.id = folder.id
        self.owner = owner
        self.used_at = clock()
        self.is_dirty = False
        """True if a run has ended since the variables were saved."""
        self._folder = folder
        self._starter = starter
        self._snapshots = snapshots
        self._bounds = bounds
        self._clock = clock
        self._turn = threading.Lock()
        self._executor = executor
        if executor is not None:
            executor.owner = owner.key
        self._known = KnownVariables()
        self._is_noted = True
        """True if the folder has the names of the known variables."""
        self._is_saved = True
        """False if the process has handed over variables that were not kept."""
        self._keep_until = 0.0
        self._is_large = False
        self._why_unsaved = SOON
        self._why_lost = NOT_SAVED
        self._waiting: set[object] = set()
        """Runs that wait for their turn."""
        self._running_since: float | None = None
        self._ends_by: float | None = None
        """When its code is ended at the latest."""
        self._is_unwanted = False
        self.is_leaving = False
        """True while it is put away."""
        self.is_coming = False
        """True while a run has a place for it."""

    @property
    def is_here(self) -> bool:
        """True if it has a process."""
        return self._executor is not None

    def run(
        self,
        code: str,
        files: StoredFiles,
        keep_until: float,
        place: Callable[[], AbstractContextManager[int]],
        given_up: GivenUp = never,
        *,
        seconds: float | None = None,
    ) -> Ran:
        """Run the code in a place, which it takes at its turn. `Refused` if another run does not end in time.

        Raises `Unavailable` if it was given up before.
        """
        is_unwanted = lambda: self._is_unwanted or given_up()  # noqa: E731 (it is asked while the code runs)
        with self._turn_to_run(), place() as others:
            if is_unwanted():
                raise Unavailable("The call was cancelled before its code began", "Call again", code="GIVEN_UP")
            self._keep_until = keep_until
            left, bounds = ATTEMPTS - 1, replace(self._bounds, seconds=seconds or self._bounds.seconds)
            while (ran := self._ran(code, files, is_unwanted, others, bounds, is_last=not left)) is None:
                left -= 1
            return ran

    def _ran(
        self, code: str, files: StoredFiles, is_unwanted: GivenUp, others: int, bounds: Bounds, *, is_last: bool
    ) -> Ran | None:
        """Run the code once. None if its process ended before it had read the code, unless this try is the last."""
        try:
            executor, condition = self._started()
        except OSError as error:
            self._end()
            raise disk_error(error, self._folder.path) or error from None
        except ExecutorEnded as ended:
            self._end()
            return run_results.ran_and_ended(ended, ExecutorCondition("lost"), 0.0, run_results.limits(bounds))
        self._folder.touch(self._clock())
        work = self._folder.work_folders.work
        before, began = file_stamps(work), time.monotonic()
        self.is_dirty, self._is_large = True, False
        copies = StoredFileCopies(self._folder, files, self.owner)
        self._folder.begin_run()
        executor.give_way(steps_beside(others))
        self._ends_by = time.monotonic() + bounds.seconds + bounds.grace_seconds
        try:
            reply = executor.run(code, copies, is_unwanted, saved=self._is_saved, seconds=bounds.seconds)
        except ExecutorEnded as ended:
            self._folder.end_run()
            self._forget_executor()
            if not (ended.has_begun or is_last):
                return None
            after, seconds = condition_after_end(condition, ended.why), time.monotonic() - began
            return run_results.ran_and_ended(ended, after, seconds, run_results.limits(bounds))
        finally:
            self.used_at = self._clock()
        names = run_results.names(reply.said, condition.kept)
        self._note(names, run_results.changed(reply.said, names))
        self._folder.end_run()
        condition = replace(condition, unsaved=self._why_unsaved if self._known.names else None)
        made = tuple(Made(name, size) for name, size in written_files(before, file_stamps(work)))
        return run_results.ran(reply, condition, run_results.limits(bounds), made)

    def read_file(self, name: str, most: int) -> bytes:
        """A file of the work folder. `Refused` while code runs."""
        with self._taken(0 if self._running_since else BUSY_SECONDS) as is_mine:
            if not is_mine:
                raise self._busy()
            if not self._folder.take():
                raise run_results.busy(self.id, "is used by another Loci on this machine")
            try:
                return read_file(self._folder.work_folders.work, name, most)
            except NoSuchFileError as error:
                raise run_results.no_file(name, str(error)) from None
            finally:
                if self._executor is None:
                    self._folder.release()

    def look(self) -> ExecutorNow:
        """How it is, without waiting for its turn."""
        executor, snapshot = self._executor, self._snapshots.last(self.owner, self.id)
        is_own = self._folder.owner() == self.owner
        names, changed = self._folder.variables(_generation(snapshot)) if is_own else ((), ())
        held = executor is not None and executor.ended is None
        saved = "saved" if snapshot is not None and snapshot.kept else "new"
        return ExecutorNow(
            "running" if self._running_since else "idle" if held and names else saved,
            memory_use(executor.id).bytes / MB if executor is not None and held else None,
            names,
            tuple(one for one in names if one in set(changed)),
            snapshot.size if snapshot else None,
        )

    def save(self) -> None:
        """Save the variables between two runs, unless code runs now or they are too large for that."""
        if not self.is_dirty or self._is_large:
            return
        with self._taken(0) as is_mine:
            if is_mine and self._holds_no_more_than_it_may():
                self._save(MOST_BETWEEN_RUNS, SAVE_SECONDS, all_of_it=True)

    def put_away(self) -> bool:
        """Save the variables, and end the process. False if code runs in it."""
        with self._taken(0) as is_mine:
            if not is_mine:
                return False
            self.is_leaving = True
            try:
                if self.is_dirty:
                    self._save(MOST, PUT_AWAY_SECONDS, all_of_it=False)
                self._end()
            finally:
                self.is_leaving = False
            return True

    def close(self, until: float) -> bool:
        """Interrupt its run, save the variables, and end the process. False if what changed is not saved by then."""
        was_dirty, before = self.is_dirty, self._known.snapshot
        self._is_unwanted = True
        with self._taken(max(0.0, until - time.monotonic())) as is_mine:
            if is_mine:
                if self.is_dirty:
                    with suppress(LociError, OSError):
                        self._save(MOST, max(0.1, until - time.monotonic()), all_of_it=False)
                self._end()
        return not was_dirty or self._known.snapshot is not before

    def remove(self) -> None:
        """Remove all of it. A run is interrupted."""
        self._is_unwanted = True
        with self._taken(self._bounds.grace_seconds + BUSY_SECONDS):
            self._end()
            self._remove()

    def remove_unused(self) -> None:
        """Remove all of it, unless it has a process or a run has just begun."""
        with self._taken(0) as is_mine:
            if is_mine and not self.is_here:
                self._remove()

    def _remove(self) -> None:
        self._snapshots.remove(self.owner, self.id)
        if self._folder.take():  # if another server has it, that one removes it
            self._folder.remove()

    @contextmanager
    def _taken(self, seconds: float) -> Generator[bool]:
        is_mine = self._turn.acquire(timeout=seconds) if seconds else self._turn.acquire(blocking=False)
        try:
            yield is_mine
        finally:
            if is_mine:
                self._turn.release()

    @contextmanager
    def _turn_to_run(self) -> Generator[None]:
        waiting = object()
        self._waiting.add(waiting)
        try:
            with self._taken(BUSY_SECONDS) as is_mine:
                self._waiting.discard(waiting)
                if not is_mine:
                    raise self._busy()
                self._running_since = time.monotonic()
                try:
                    yield
                finally:
                    self._running_since = self._ends_by = None
        finally:
            self._waiting.discard(waiting)

    def _busy(self) -> Refused:
        began, ends, now = self._running_since, self._ends_by, time.monotonic()
        why = "is saving its variables" if began is None else runs_other_code(now - began, ends and ends - now)
        return run_results.busy(self.id, why)

    def _started(self) -> tuple[ExecutorProcess, ExecutorCondition]:
        """Its process, with the variables of its last run; and what became of them."""
        here, saved = self._executor, None
        if here is not None and not here.is_alive:
            here.end()  # something else has ended it, perhaps before it had a run
        if here is None or here.ended is not None:
            if not self._folder.take():
                raise run_results.busy(self.id, "is used by another Loci on this machine")
            self._folder.set_owner(self.owner)
            snapshot = self._snapshots.last(self.owner, self.id)
            names, changed = self._folder.variables(_generation(snapshot))
            self._known = KnownVariables(names, snapshot, changed, self._folder.is_cut_off(), self._why_lost)
            self._is_noted, self._why_lost = True, NOT_SAVED
            saved = snapshot and self._reading(snapshot)
        self._executor, start = variables.start(here, self._spawned, saved)
        return self._executor, self._known.condition(start)

    def _spawned(self) -> ExecutorProcess:
        executor = self._starter.spawn(self._folder)
        executor.owner = self.owner.key
        return executor

    def _reading(self, snapshot: VariablesSnapshot) -> Callable[[], Iterable[bytes]]:
        def read() -> Iterable[bytes]:
            try:
                yield from self._snapshots.read(self.owner, self.id, snapshot)
            except LociError as error:
                raise UnreadableError(error.what) from None

        return read

    def _note(self, names: tuple[str, ...], changed: tuple[str, ...]) -> None:
        """Note the variables before the answer goes out: if Loci is killed, the next run can name the lost ones."""
        self._is_noted = self._is_noted and (names, changed) == (self._known.names, self._known.changed)
        self._known = replace(self._known, names=names, changed=changed, is_cut_off=False)
        if not self._is_noted:
            with suppress(OSError):  # the run has its answer; the next one notes them again
                self._folder.note_variables(names, changed, _generation(self._known.snapshot))
                self._is_noted = True

    def _holds_no_more_than_it_may(self) -> bool:
        try:
            if self._executor is not None:
                self._executor.check_between_runs()
        except ExecutorEnded:
            self._why_lost = "the executor held more files than it may, and was ended"
            self._forget_executor()
            return False
        return True

    def _save(self, most: int, seconds: float, *, all_of_it: bool) -> None:
        executor = self._executor
        if executor is None or executor.ended is not None:
            self.is_dirty = False
            return
        writer = self._snapshots.writer(self.owner, self.id)
        most = min(most, writer.room)
        is_wanted = lambda: all_of_it and bool(self._waiting)  # noqa: E731 (a run waits, and it may be saved later)
        saved = variables.save(executor, writer.take, most, all_of_it=all_of_it, seconds=seconds, given_up=is_wanted)
        if isinstance(saved, Unsaved):
            self._snapshots.abandon(writer)
            self._is_saved = False
            if executor.ended is not None:
                self._why_lost = saved.why
                self._forget_executor()
            elif not all_of_it:
                self._why_lost = saved.why
            elif not is_wanted():
                self._is_large, self._why_unsaved = True, f"{saved.why}; they are saved once the executor is idle"
            return
        try:
            snapshot = self._snapshots.finish(writer, *run_results.saved(saved.said), self._keep_until)
        except LociError as error:
            self._is_saved, self._is_large = False, error.code == TOO_LARGE
            self._why_unsaved = f"saving them failed, and is tried again: {error.what}"
            raise
        self.is_dirty, self._why_unsaved, self._is_saved, self._is_noted = False, SOON, True, False
        self._known = replace(self._known, snapshot=snapshot)
        self._note(self._known.names, ())

    def _forget_executor(self) -> None:
        wrote_too_much = self._executor is not None and self._executor.ended == "disk"
        self.is_dirty = False
        self._end()
        if wrote_too_much:
            with suppress(OSError):
                self._folder.empty()

    def _end(self) -> None:
        if self._executor is not None:
            self._executor.end()
            self._executor = None
        self._folder.release()


def _generation(snapshot: VariablesSnapshot | None) -> str:
    return "" if snapshot is None else snapshot.generation
