"""An executor of this server from run to run: its process, its folder, and what is known of its variables."""

import threading
import time
from collections.abc import Callable, Generator
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import replace
from functools import partial

from loci.adapters import run_results
from loci.adapters.local.executors.executor_folder import (
    ExecutorFolder,
    SavedBytes,
    StoredFileCopies,
    VariablesWriter,
    keep_only,
    read_variables,
)
from loci.adapters.local.executors.executor_starter import ExecutorStarter
from loci.adapters.run_results import NOT_SAVED, KnownVariables, condition_after_end, describe_other_run
from loci.code.ports import (
    Cancelled,
    ExecutorCondition,
    ExecutorStatus,
    PythonResult,
    StoredFiles,
    ToolCall,
    WrittenFile,
    never,
    no_tools,
)
from loci.core.errors import LociError, Refused, Unavailable
from loci.core.full_disk import disk_error
from loci.core.identity import Owner
from loci.sandbox.supervisor import variables
from loci.sandbox.supervisor.executor_files import NoSuchFileError, file_stamps, read_file, written_files
from loci.sandbox.supervisor.executor_process import ExecutorEnded, ExecutorProcess
from loci.sandbox.supervisor.limits import MB, Bounds, memory_use
from loci.sandbox.supervisor.variables import Kept, New, Unsaved

BUSY_SECONDS = 2.0
"""A run waits so long for its turn."""
ATTEMPTS = 3
"""Processes that a run is given to, as long as each of them ends before it has read it."""
MOST_SAVED = 2 << 30
"""Bytes of variables."""
SAVE_SECONDS = 20.0
"""Seconds to save the variables. If it takes longer, it may be code that never ends."""
UNSAVED = "they are saved when the executor is put away, or when the server stops"


class ExecutorSession:
    """Serves one run at a time."""

    def __init__(
        self,
        owner: Owner,
        folder: ExecutorFolder,
        starter: ExecutorStarter,
        saved_bytes: SavedBytes,
        bounds: Bounds,
        clock: Callable[[], float],
        executor: ExecutorProcess | None = None,
    ) -> None:
        self.id = folder.id
        self.owner = owner
        self.used_at = clock()
        self.is_coming = False
        """True while a run has a place for its process."""
        self.is_dirty = False
        """True if a run has begun since the variables were saved."""
        self._folder = folder
        self._starter = starter
        self._saved_bytes = saved_bytes
        self._bounds = bounds
        self._clock = clock
        self._turn = threading.Lock()
        self._executor = executor
        self._known = KnownVariables()
        self._noted: KnownVariables | None = None
        """The variables that the folder's note has."""
        self._is_checked = True
        """False if a run may have left files that are only mapped."""
        self._running_since: float | None = None
        self._ends_by: float | None = None
        """The time when its code is ended at the latest."""
        self._is_unwanted = False

    @property
    def is_here(self) -> bool:
        """True if it has a process."""
        return self._executor is not None

    def run(
        self,
        code: str,
        files: StoredFiles,
        place: Callable[[], AbstractContextManager[None]],
        cancelled: Cancelled = never,
        *,
        call: ToolCall = no_tools,
        seconds: float | None = None,
    ) -> PythonResult:
        """Run the code in a place, which it takes at its turn. `Refused` if another run does not end in time.

        Raises `Unavailable` if it was given up before.
        """
        is_unwanted = lambda: self._is_unwanted or cancelled()  # noqa: E731 (it is asked while the code runs)
        bounds = replace(self._bounds, seconds=seconds or self._bounds.seconds)
        with self._turn_to_run(), place():
            if is_unwanted():
                raise Unavailable("The call was cancelled before its code began", "Call again", code="GIVEN_UP")
            for left in reversed(range(ATTEMPTS)):
                if (ran := self._ran(code, files, call, is_unwanted, bounds, is_last=not left)) is not None:
                    return ran
            raise AssertionError

    def _ran(
        self,
        code: str,
        files: StoredFiles,
        call: ToolCall,
        is_unwanted: Cancelled,
        bounds: Bounds,
        *,
        is_last: bool,
    ) -> PythonResult | None:
        """Run the code once. None if its process ended before it had read the code, unless this try is the last."""
        limits = run_results.limit_values(bounds)
        try:
            executor, condition = self._started()
        except OSError as error:
            self._end()
            raise disk_error(error, self._folder.path) or error from None
        except ExecutorEnded as ended:
            self._end()
            return run_results.ended_result(ended, ExecutorCondition("lost"), 0.0, limits)
        self._folder.touch(self._clock())
        work = self._folder.work_folders.work
        before, began = file_stamps(work), time.monotonic()
        self.is_dirty, self._is_checked = True, False
        self._folder.begin_run()
        self._ends_by = began + bounds.seconds + bounds.grace_seconds
        copies = StoredFileCopies(self._folder, files, self.owner)
        try:
            reply = executor.run(
                code, copies, is_unwanted, call=partial(run_results.text_answer, call), seconds=bounds.seconds
            )
        except ExecutorEnded as ended:
            self._folder.end_run()
            self._forget_executor()
            if not (ended.has_begun or is_last):
                return None
            after = condition_after_end(condition, ended.why)
            return run_results.ended_result(ended, after, time.monotonic() - began, limits)
        finally:
            self.used_at = self._clock()
        names = run_results.variable_names(reply.said, condition.kept)
        with suppress(OSError):  # the run has its answer; the next one notes them again
            self._note(KnownVariables(names, self._known.snapshot, is_changed=True))
        self._folder.end_run()
        made = tuple(WrittenFile(name, size) for name, size in written_files(before, file_stamps(work)))
        return run_results.python_result(reply, replace(condition, unsaved=UNSAVED if names else None), limits, made)

    def read_file(self, name: str, most: int) -> bytes:
        """A file of the work folder. `Refused` while code runs."""
        with self._taken(0 if self._running_since else BUSY_SECONDS) as is_mine:
            if not is_mine:
                raise self._busy()
            if not self._folder.acquire():
                raise run_results.executor_busy(self.id, "is used by another Loci on this machine")
            try:
                return read_file(self._folder.work_folders.work, name, most)
            except NoSuchFileError as error:
                raise run_results.no_such_file(name, str(error)) from None
            finally:
                if self._executor is None:
                    self._folder.release()

    def status(self) -> ExecutorStatus:
        """The state of the executor, without waiting for its turn."""
        executor = self._executor
        known = self._folder.known() if self._folder.owner() == self.owner else KnownVariables()
        held = executor is not None and executor.ended is None
        saved = "saved" if known.snapshot is not None and known.snapshot.kept else "new"
        return ExecutorStatus(
            "running" if self._running_since else "idle" if held and known.names else saved,
            memory_use(executor.id).bytes / MB if executor is not None and held else None,
            known.names,
            known.names if known.is_changed else (),
            known.snapshot.size if known.snapshot else None,
        )

    def check(self) -> None:
        """End the process between two runs if it holds more files than it may: to look takes too long in each run."""
        with self._taken(0) as is_mine:
            if is_mine and self._executor is not None and not self._is_checked:
                self._is_checked = True
                try:
                    self._executor.check_between_runs()
                except ExecutorEnded:
                    self._note_why("the executor held more files than it may, and was ended")
                    self._forget_executor()

    def put_away(self) -> bool:
        """Save the variables and end the process. False if code runs in it. `LociError` if they cannot be kept."""
        with self._taken(0) as is_mine:
            if is_mine:
                self._save(SAVE_SECONDS)
                self._end()
            return is_mine

    def close(self, until: float) -> bool:
        """Interrupt its run, save the variables, and end the process. False if what changed is not saved by then."""
        self._is_unwanted = True
        with self._taken(max(0.0, until - time.monotonic())) as is_mine:
            if is_mine:
                with suppress(LociError, OSError):
                    self._save(max(0.1, until - time.monotonic()))
            is_saved = not self.is_dirty
            if is_mine:
                self._end()
        return is_saved

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
        if self._folder.acquire():  # if another server has it, that one removes it
            self._folder.remove()
            self._saved_bytes.forget(self.owner, self.id)

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
        with self._taken(BUSY_SECONDS) as is_mine:
            if not is_mine:
                raise self._busy()
            self._running_since = time.monotonic()
            try:
                yield
            finally:
                self._running_since = self._ends_by = None

    def _busy(self) -> Refused:
        began, ends, now = self._running_since, self._ends_by, time.monotonic()
        why = "is saving its variables" if began is None else describe_other_run(now - began, ends and ends - now)
        return run_results.executor_busy(self.id, why)

    def _started(self) -> tuple[ExecutorProcess, ExecutorCondition]:
        """The process with the variables of the last run, and the condition of these."""
        here = self._executor
        if here is not None and here.is_alive:
            return here, self._known.condition(Kept() if here.has_run else New())
        if here is not None:
            here.end()  # something else has ended it, perhaps before it had a run
        self._starter.check()
        if not self._folder.acquire():
            raise run_results.executor_busy(self.id, "is used by another Loci on this machine")
        self._folder.set_owner(self.owner)
        self._known = self._noted = self._folder.known()
        saved = self._known.snapshot and partial(read_variables, self._folder, self._known.snapshot)
        self._executor, start = variables.start(None, partial(self._starter.spawn, self._folder), saved)
        return self._executor, self._known.condition(start)

    def _note(self, known: KnownVariables) -> None:
        """Note the variables before the answer goes out: if Loci is killed, the next run can name the lost ones."""
        self._known = known
        if known != self._noted:
            self._folder.note(known)
            self._noted = known

    def _note_why(self, lost: str) -> None:
        """Note why the variables are lost that were not saved."""
        with suppress(OSError):
            self._note(replace(self._known, why_not_saved=lost))

    def _save(self, seconds: float) -> None:
        """Save the variables. If the process does not hand them over, the note has the reason."""
        executor = self._executor
        if executor is None or executor.ended is not None or not self.is_dirty:
            return
        count = partial(self._saved_bytes.count, self.owner, self.id)
        before = self._known.snapshot.size if self._known.snapshot else 0
        room = self._saved_bytes.room(self.owner, self.id)
        most = min(MOST_SAVED, room - room // 8)  # the names of variables come on top
        writer = VariablesWriter(self._folder, count, self._saved_bytes.most)
        try:
            saved = variables.save(executor, writer.write, most, all_of_it=False, seconds=seconds)
        except BaseException:
            writer.abandon()
            raise
        if isinstance(saved, Unsaved):
            writer.abandon()
            count(before)
            self._note_why(saved.why)
            return
        try:
            snapshot = writer.finish(*run_results.saved_variables(saved.said))
        except LociError:
            count(before)
            raise
        self._note(replace(self._known, snapshot=snapshot, is_changed=False, why_not_saved=NOT_SAVED))
        keep_only(self._folder, snapshot)
        self.is_dirty = False

    def _forget_executor(self) -> None:
        wrote_too_much = self._executor is not None and self._executor.ended == "disk"
        self._end()
        if wrote_too_much:
            with suppress(OSError):
                self._folder.empty()

    def _end(self) -> None:
        if self._executor is not None:
            self._executor.end()
            self._executor = None
        self.is_dirty = False
        self._folder.release()
