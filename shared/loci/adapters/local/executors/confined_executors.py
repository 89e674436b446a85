"""`Executors` on this machine: processes behind a wall, stopped between runs, saved and ended when they are idle."""

import math
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Generator
from concurrent.futures import Future, wait
from contextlib import contextmanager, suppress
from pathlib import Path

from loci.adapters.local.executors.executor_folder import ExecutorFolder
from loci.adapters.local.executors.executor_session import BUSY_SECONDS, QUIET_SECONDS, ExecutorSession
from loci.adapters.local.executors.executor_starter import PREFIX, ExecutorStarter
from loci.adapters.local.executors.run_places import RunPlaces
from loci.adapters.sandbox import run_results
from loci.adapters.sandbox.snapshots import Snapshots
from loci.code.ports import GivenUp, StoredFiles, never
from loci.code.python_run import ExecutorNow, Ran
from loci.core.deadline import time_to_end
from loci.core.errors import LociError, NotFound
from loci.core.full_disk import disk_error
from loci.core.identity import Owner
from loci.sandbox.supervisor.daemon_threads import in_thread
from loci.sandbox.supervisor.exchange import Bounds
from loci.sandbox.supervisor.executor_process import ExecutorProcess

MOST_HERE = 8
"""Processes. The one that was idle for longest makes room for the next."""
ROOM_PAUSE = 0.02
LOOKS_SECONDS = 1.0
SWEEP_SECONDS = 3600.0
"""Between two searches for executors that have expired."""
SAVED_AT_ONCE = 2
"""Executors of an owner."""
CLOSE_SECONDS = 8.0
"""For all of them together, when the server stops."""
KILLED_SECONDS = 2.0


class ConfinedExecutors:
    """The executors that this process knows. Any thread may call."""

    def __init__(
        self,
        folder: Path,
        starter: ExecutorStarter,
        snapshots: Snapshots,
        bounds: Bounds,
        clock: Callable[[], float],
        *,
        idle_seconds: float,
        kept_seconds: float,
        ages: Callable[[], float] | None = None,
    ) -> None:
        """`ages`: the clock by which an executor has expired."""
        self.folder = folder
        self._starter = starter
        self._snapshots = snapshots
        self._bounds = bounds
        self._clock = clock
        self._ages = ages or clock
        self._idle_seconds = idle_seconds
        self._kept_seconds = kept_seconds
        self._turn = threading.Lock()
        # Each run needs a process, and these share the machine's memory.
        self._places = RunPlaces(MOST_HERE)
        self._saving: dict[str, threading.BoundedSemaphore] = {}
        self._is_tidied: set[str] = set()
        self._sessions: dict[str, ExecutorSession] = {}
        self._closed = threading.Event()
        self._keeper: threading.Thread | None = None

    def open(self, owner: Owner) -> str:
        """Take the spare process. If there is none, the first run starts one."""
        self._starter.check()
        spare = self._starter.take()
        folder = spare.folder if spare else self._starter.new_folder()
        try:
            folder.take()
            folder.set_owner(owner)
            folder.touch(self._clock())
        except OSError as error:
            if spare:
                spare.end()
            folder.remove()
            raise disk_error(error, self.folder) or error from None
        session = self._session(owner, folder, spare.executor if spare else None)
        if spare is None:
            folder.release()
        with self._turn:
            self._sessions[session.id] = session
        self._keep()
        self._beside(self._make_all_room, session)
        return session.id

    def run(
        self,
        owner: Owner,
        id: str,
        code: str,
        files: StoredFiles,
        keep_until: float,
        given_up: GivenUp = never,
        *,
        seconds: float | None = None,
    ) -> Ran:
        self._starter.check()
        with self._turn:
            session = self._sessions.get(id)
            if session is None:
                session = self._sessions[id] = self._session(owner, ExecutorFolder(self.folder / id))
        if session.owner != owner:
            raise NotFound(f"There is no executor {id}", "Make one with create_memory_code_runner()")
        self._keep()
        try:
            return session.run(code, files, keep_until, lambda: self._place(session), given_up, seconds=seconds)
        finally:
            self._beside(self._make_all_room, session)

    def read_file(self, owner: Owner, id: str, name: str, most: int) -> bytes:
        with self._turn:
            session = self._sessions.get(id) or self._session(owner, ExecutorFolder(self.folder / id))
        if session.owner != owner:
            raise NotFound(f"There is no executor {id}", "Make one with create_memory_code_runner()")
        return session.read_file(name, most)

    def look(self, owner: Owner, id: str) -> ExecutorNow:
        with self._turn:
            session = self._sessions.get(id)
        if session is None or session.owner != owner:
            session = self._session(owner, ExecutorFolder(self.folder / id))
        return session.look()

    def forget(self, owner: Owner, id: str) -> None:
        with self._turn:
            session = self._sessions.pop(id, None)
        (session or self._session(owner, ExecutorFolder(self.folder / id))).remove()

    def tidy(self) -> None:
        """Save the executors that are quiet, and put away those that are idle. What fails is tried again later."""
        wait(self._begin_tidying())

    def _begin_tidying(self) -> list["Future[None]"]:
        """The same, but beside each other: code that takes long to be saved keeps no other waiting."""
        now = self._clock()
        begun: list[Future[None]] = []
        for session in self.sessions():
            ago = now - session.used_at
            is_idle = not 0 <= ago < self._idle_seconds  # before it was used: somebody has set the clock back
            is_quiet = session.is_dirty and not 0 <= ago < QUIET_SECONDS
            with self._turn:
                if not session.is_here or not (is_idle or is_quiet) or session.id in self._is_tidied:
                    continue
                self._is_tidied.add(session.id)
            begun.append(in_thread(self._tidy, session, self._turns_to_save(session.owner), is_idle=is_idle))
        return begun

    def _turns_to_save(self, owner: Owner) -> threading.BoundedSemaphore:
        with self._turn:
            return self._saving.setdefault(owner.key, threading.BoundedSemaphore(SAVED_AT_ONCE))

    def _tidy(self, session: ExecutorSession, turns: threading.BoundedSemaphore, *, is_idle: bool) -> None:
        try:
            with turns, suppress(LociError, OSError):
                if is_idle:
                    session.put_away()
                else:
                    session.save()
        finally:
            with self._turn:
                self._is_tidied.discard(session.id)

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
            return
        if now - folder.used_at() < self._kept_seconds:
            return
        with self._turn:
            session = self._sessions.get(folder.id)
        if session is not None:
            session.remove_unused()
            return
        if not folder.take():
            return
        try:
            self._snapshots.remove(owner, folder.id)
            folder.remove()
        finally:
            folder.release()

    def close(self) -> None:
        """Save what is not saved, and end all processes. Runs that go on are interrupted.

        Code that does not let itself be interrupted or saved in time loses its variables, and it is said.
        """
        self._closed.set()
        until = time.monotonic() + time_to_end(CLOSE_SECONDS)
        closed = [in_thread(one.close, until) for one in self.sessions()]
        wait(closed, until - time.monotonic())
        if self._keeper is not None:
            self._keeper.join(max(0.0, until - time.monotonic()))  # it may be removing files
        self._starter.close()
        done, late = wait(closed, KILLED_SECONDS)
        if count := len(late) + sum(not one.result() for one in done):
            print(f"{count} executors: variables that had changed could not be saved", file=sys.stderr, flush=True)

    def _session(
        self, owner: Owner, folder: ExecutorFolder, executor: ExecutorProcess | None = None
    ) -> ExecutorSession:
        return ExecutorSession(owner, folder, self._starter, self._snapshots, self._bounds, self._clock, executor)

    def sessions(self) -> list[ExecutorSession]:
        """The executors that this process knows."""
        with self._turn:
            return list(self._sessions.values())

    @contextmanager
    def _place(self, session: ExecutorSession) -> Generator[int]:
        """A place for a run, beside so many others of its owner.

        An owner with too many processes first waits until one of them is put away.
        """
        with self._places.place(session.owner.key, BUSY_SECONDS) as others:
            self._wait_for_room(session)
            try:
                yield others
            finally:
                session.is_coming = False

    def _wait_for_room(self, session: ExecutorSession) -> None:
        """Put away the owner's other processes that are too many, and wait for those that are being put away.

        Those that cannot be saved stay.
        """
        until = time.monotonic() + BUSY_SECONDS
        is_stuck = False
        while True:
            with self._turn:  # of several that come at once, each counts those that came before it
                own = self._others_here(session, session.owner)
                too_many = len(own) + 1 - MOST_HERE
                leaving = sum(one.is_leaving for one in own)
                session.is_coming = too_many <= 0 or (is_stuck and leaving < too_many)
            if session.is_coming:
                return
            if leaving < too_many and (made := self._make_room(session, session.owner)) is not None:
                is_stuck = not made
            elif time.monotonic() >= until:
                raise run_results.busy(session.id, f"has no room: {too_many} others of yours are still being saved")
            else:
                time.sleep(ROOM_PAUSE)

    def _make_all_room(self, but: ExecutorSession) -> None:
        """Also for those that come meanwhile, and leave it to this thread."""
        while self._make_room(but):
            pass

    def _make_room(self, but: ExecutorSession, of: Owner | None = None) -> int | None:
        """Put away those that were idle for longest, of the owner with most of them, and return how many.

        If one cannot be saved, it stays, and the next one goes. None if as many are being saved as may be at once:
        whoever saves them goes on with the rest.
        """
        with self._turn:
            here = self._others_here(but, of)
        count = Counter(one.owner.key for one in here)
        here.sort(key=lambda one: (-count[one.owner.key], one.used_at))
        made, late, too_many = 0, 0, len(here) + 1 - MOST_HERE
        for session in here:
            if made + (0 if of else late) >= too_many:  # no other owner's go in its stead
                break
            put_away = self._put_away(session)
            made += put_away is True
            late += put_away is None
        return None if late and not made else made

    def _put_away(self, session: ExecutorSession) -> bool | None:
        """False if it stays; None if as many of its owner's are being saved as may be at once."""
        turns, is_saved = self._turns_to_save(session.owner), session.is_dirty
        if is_saved and not turns.acquire(blocking=False):
            return None
        try:
            with suppress(LociError, OSError):
                return session.put_away()
            return False
        finally:
            if is_saved:
                turns.release()

    def _others_here(self, but: ExecutorSession, of: Owner | None) -> list[ExecutorSession]:
        """The other executors that have a process, or get one: the owner's, or everybody's. Take the turn first."""
        others = [one for one in self._sessions.values() if one is not but and of in (None, one.owner)]
        return [one for one in others if one.is_here or one.is_coming]

    def _beside(self, work: Callable[[ExecutorSession], object], session: ExecutorSession) -> None:
        """Do the work on another thread: nobody waits for what another's code takes."""
        if not self._closed.is_set():
            in_thread(work, session)

    def _keep(self) -> None:
        with self._turn:
            if (self._keeper is None or not self._keeper.is_alive()) and not self._closed.is_set():
                self._keeper = threading.Thread(target=self._work, name="executors kept", daemon=True)
                self._keeper.start()

    def _work(self) -> None:
        swept_at = -math.inf
        while True:
            if self._clock() - swept_at >= SWEEP_SECONDS:
                self.sweep()
                swept_at = self._clock()
            if self._closed.wait(LOOKS_SECONDS):
                return
            self._begin_tidying()
