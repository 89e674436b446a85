"""`Executors` on this machine: processes behind a wall, stopped between runs, saved and ended when they are idle."""

import math
import sys
import threading
import time
from collections.abc import Callable, Generator
from concurrent.futures import wait
from contextlib import contextmanager, suppress
from pathlib import Path

from loci.adapters import run_results
from loci.adapters.local.executors.executor_folder import ExecutorFolder, SavedBytes
from loci.adapters.local.executors.executor_session import BUSY_SECONDS, ExecutorSession
from loci.adapters.local.executors.executor_starter import PREFIX, ExecutorStarter
from loci.code.ports import Cancelled, ExecutorStatus, PythonResult, StoredFiles, ToolCall, never, no_tools
from loci.core.deadline import time_to_end
from loci.core.errors import LociError, NotFound
from loci.core.full_disk import disk_error
from loci.core.identity import Owner
from loci.sandbox.supervisor.daemon_threads import in_thread
from loci.sandbox.supervisor.limits import Bounds

MOST_HERE = 8
"""Processes of an owner, and of all owners once nothing runs. The one that was idle for longest makes room."""
RUNS = 12
"""Runs at once: they share the machine's memory. The queue of an owner lets four of theirs begin."""
LOOKS_SECONDS = 1.0
SWEEP_SECONDS = 3600.0
"""Between two searches for executors that have expired."""
CLOSE_SECONDS = 8.0
"""Seconds for closing all executors together, when the server stops."""
KILLED_SECONDS = 2.0


class ConfinedExecutors:
    """The executors that this process knows. Any thread may call."""

    def __init__(
        self,
        folder: Path,
        starter: ExecutorStarter,
        bounds: Bounds,
        clock: Callable[[], float],
        *,
        idle_seconds: float,
        kept_seconds: float,
        ages: Callable[[], float] | None = None,
        saved_bytes: SavedBytes | None = None,
    ) -> None:
        """`ages`: the clock by which an executor has expired."""
        self.folder = folder
        self._starter = starter
        self._saved_bytes = saved_bytes or SavedBytes(folder)
        self._bounds = bounds
        self._clock = clock
        self._ages = ages or clock
        self._idle_seconds = idle_seconds
        self._kept_seconds = kept_seconds
        self._turn = threading.Lock()
        self._places = threading.BoundedSemaphore(RUNS)
        self._sessions: dict[str, ExecutorSession] = {}
        self._closed = threading.Event()
        self._wake = threading.Event()
        """Set when there are too many processes, or when the server stops."""
        self._keeper: threading.Thread | None = None

    def open(self, owner: Owner) -> str:
        """Take the spare process. Without one, or for an owner with far too many, the first run starts one."""
        self._starter.check()
        with self._turn:
            is_room = len(self._here(owner)) < 2 * MOST_HERE
        folder, executor = (self._starter.take_spare() if is_room else None) or (self._starter.new_folder(), None)
        try:
            folder.acquire()
            folder.set_owner(owner)
            folder.touch(self._clock())
        except OSError as error:
            if executor is not None:
                executor.end()
            folder.remove()
            raise disk_error(error, self.folder) or error from None
        if executor is None:
            folder.release()
        session = ExecutorSession(owner, folder, self._starter, self._saved_bytes, self._bounds, self._clock, executor)
        with self._turn:
            self._sessions[session.id] = session
        self._keep()
        return session.id

    def run(
        self,
        owner: Owner,
        id: str,
        code: str,
        files: StoredFiles,
        keep_until: float,  # noqa: ARG002 (a sweep removes what was not used for long)
        cancelled: Cancelled = never,
        *,
        call: ToolCall = no_tools,
        seconds: float | None = None,
    ) -> PythonResult:
        session = self._session(owner, id, is_kept=True)
        return session.run(code, files, lambda: self._place(session), cancelled, call=call, seconds=seconds)

    def read_file(self, owner: Owner, id: str, name: str, most: int) -> bytes:
        return self._session(owner, id).read_file(name, most)

    def status(self, owner: Owner, id: str) -> ExecutorStatus:
        with self._turn:
            known = self._sessions.get(id)
        return (known if known and known.owner == owner else self._new_session(owner, id)).status()

    def forget(self, owner: Owner, id: str) -> None:
        session = self._session(owner, id)
        with self._turn:
            self._sessions.pop(id, None)
        session.remove()

    def tidy(self) -> None:
        """Put away the executors that are idle, and those idle for longest if there are too many.

        What fails is tried again later.
        """
        with self._turn:
            here = [one for one in self._here() if one.is_here]
        too_many = len(here) - MOST_HERE
        for session in here:
            ago = self._clock() - session.used_at
            is_idle = not 0 <= ago < self._idle_seconds  # before it was used: somebody has set the clock back
            with suppress(LociError, OSError):
                if is_idle or too_many > 0:
                    too_many -= session.put_away()
                else:
                    session.check()

    def sweep(self) -> None:
        """Remove executors that have expired, and what a crash left. What fails is tried again later."""
        now = self._ages()
        for path in self.folder.glob(f"{PREFIX}*"):
            with suppress(LociError, OSError):
                self._remove_expired(ExecutorFolder(path), now)
        with self._turn:
            for session in list(self._sessions.values()):
                if not session.is_here and now - session.used_at >= self._kept_seconds:
                    del self._sessions[session.id]

    def _remove_expired(self, folder: ExecutorFolder, now: float) -> None:
        owner = folder.owner()
        if owner is None:  # a server was killed before it had given it to somebody, or keeps it as a spare
            folder.remove_left()
        elif now - folder.used_at() >= self._kept_seconds:
            self._session(owner, folder.id).remove_unused()

    def close(self) -> None:
        """Save what is not saved, and end all processes. Runs that go on are interrupted.

        Code that does not let itself be interrupted or saved in time loses its variables, and it is said.
        """
        self._closed.set()
        self._wake.set()
        until = time.monotonic() + time_to_end(CLOSE_SECONDS)
        closed = [in_thread(one.close, until) for one in self.sessions()]
        wait(closed, until - time.monotonic())
        if self._keeper is not None:
            self._keeper.join(max(0.0, until - time.monotonic()))  # it may be removing files
        self._starter.close()
        done, late = wait(closed, KILLED_SECONDS)
        if count := len(late) + sum(not one.result() for one in done):
            print(f"{count} executors: variables that had changed could not be saved", file=sys.stderr, flush=True)

    def sessions(self) -> list[ExecutorSession]:
        """The executors that this process knows."""
        with self._turn:
            return list(self._sessions.values())

    def _session(self, owner: Owner, id: str, *, is_kept: bool = False) -> ExecutorSession:
        """The owner's executor. `NotFound` if another owner has one with this id."""
        with self._turn:
            session = self._sessions.get(id) or self._new_session(owner, id)
            if is_kept:
                self._sessions[id] = session
        if session.owner != owner:
            raise NotFound(f"There is no executor {id}", "Make one with create_memory_code_runner()")
        return session

    def _new_session(self, owner: Owner, id: str) -> ExecutorSession:
        folder = ExecutorFolder(self.folder / id)
        return ExecutorSession(owner, folder, self._starter, self._saved_bytes, self._bounds, self._clock)

    @contextmanager
    def _place(self, session: ExecutorSession) -> Generator[None]:
        """Hold a place for a run, and room for its process. Raises `Refused` if neither comes free in time."""
        if not self._places.acquire(timeout=BUSY_SECONDS):
            raise run_results.executor_busy(session.id, "has no place: too many others run code")
        try:
            self._make_room(session)
            yield
        finally:
            session.is_coming = False
            self._keep()
            self._places.release()

    def _make_room(self, session: ExecutorSession) -> None:
        """Put away the owner's processes that were idle for longest, as long as there are too many."""
        while True:
            with self._turn:  # of several that come at once, each counts those that came before it
                others = [one for one in self._here(session.owner) if one is not session]
                session.is_coming = len(others) <= MOST_HERE  # the keeper puts away the one that is too many
            if session.is_coming:
                return
            if not any(map(_is_put_away, others)):
                raise run_results.executor_busy(
                    session.id, f"has no room: {len(others)} others of yours cannot be saved now"
                )

    def _here(self, owner: Owner | None = None) -> list[ExecutorSession]:
        """The executors that have a process or get one, of the owner or of everybody: the one idle for longest first.

        Take the turn before.
        """
        of_owner = [one for one in self._sessions.values() if owner in (None, one.owner)]
        return sorted((one for one in of_owner if one.is_here or one.is_coming), key=lambda one: one.used_at)

    def _keep(self) -> None:
        with self._turn:
            if len(self._here()) > MOST_HERE:
                self._wake.set()
            if (self._keeper is None or not self._keeper.is_alive()) and not self._closed.is_set():
                self._keeper = threading.Thread(target=self._work, name="executors kept", daemon=True)
                self._keeper.start()

    def _work(self) -> None:
        swept_at = -math.inf
        while True:
            if self._clock() - swept_at >= SWEEP_SECONDS:
                self.sweep()
                swept_at = self._clock()
            self._wake.wait(LOOKS_SECONDS)
            self._wake.clear()
            if self._closed.is_set():
                return
            self.tidy()


def _is_put_away(session: ExecutorSession) -> bool:
    with suppress(LociError, OSError):
        return session.is_here and session.put_away()
    return False
