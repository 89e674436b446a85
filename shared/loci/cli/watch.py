"""`loci watch`: keep the documents of folders up to date."""

import fcntl
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from pathlib import Path
from types import FrameType
from typing import Annotated, Final, NoReturn

import typer

from loci.app import App
from loci.cli.ingest import confirm_new
from loci.cli.terminal import (
    SHOWN,
    ConfigOption,
    DataOption,
    ExcludeOption,
    YesOption,
    here_only,
    kept_line,
    open_app,
    printable,
    shown_progress,
)
from loci.core.atomic_write import open_lock
from loci.core.errors import LociError, Refused
from loci.core.identity import LOCAL
from loci.core.storage_keys import UPLOADS_OF_LOCAL
from loci.documents.ingest.index_writer import Progress, no_progress
from loci.documents.ingest.local_files import LocalPath, is_below, local_path
from loci.documents.ingest.outcome import IngestSummary
from loci.documents.ingest.watched_folder import (
    FolderEvent,
    FolderIngested,
    FolderUnavailable,
    IngestPostponed,
    WatchedFolder,
    folder_identity,
)

LOCK: Final = "following.lock"
SECONDS_BETWEEN_TRIES: Final = 2.0
STEPS_BETWEEN_LOOKS: Final = 4
SECONDS_BETWEEN_SESSIONS: Final = 60.0
"""Seconds between two looks for sessions, and for which a session must be quiet to be read."""
ShownProgress = Callable[[], AbstractContextManager[Progress]]
STEP_MS, LONGEST_MS, TICK_MS = 50, 400, 250
"""The silence that ends a burst, the longest burst, and the interval of checks that the folders exist."""
SECONDS_BETWEEN_SWEEPS = 30.0
SECONDS_BETWEEN_POLLS = 1.0
ChangedPaths = set[str]


def watch(
    paths: Annotated[
        list[str] | None,
        typer.Argument(metavar="PATH...", help="More folders to watch from now on, besides the ingested ones."),
    ] = None,
    exclude: ExcludeOption = None,
    yes: YesOption = False,
    poll: Annotated[
        bool, typer.Option("--poll", help="Check the folders every second. Use it if the system reports no changes.")
    ] = False,
    data: DataOption = None,
    config: ConfigOption = None,
) -> None:
    """Watch the ingested folders and keep their documents current, until Ctrl-C.

    Searches reflect what you save, rename or delete there within a second. The command first ingests what has changed
    until now. If a folder disappears, Loci keeps its documents until it is back. A running server watches by itself:
    only one process watches at a time, and the command waits until the server ends.
    """
    advice = here_only(f"Upload the documents below s3://BUCKET/{UPLOADS_OF_LOCAL}")
    app = open_app(data, config, advice, exclude=exclude)
    folders = [_folder(path) for path in paths or ()]
    if not yes:
        confirm_new(app, folders, (file for one in folders for file in app.documents.parts.scan.of(one).files))
    if not app.documents.watch(LOCAL, folders):
        raise Refused("No folder has been ingested yet", "Name one: loci watch FOLDER", code="NOTHING_TO_WATCH")
    stopped = threading.Event()
    watching = FolderWatch(app, say, stopped, shown_progress, poll=poll)

    def stop(_: int, __: FrameType | None) -> NoReturn:
        stopped.set()  # an exception can be lost, for instance in a finalizer
        raise KeyboardInterrupt

    for one in (signal.SIGINT, signal.SIGTERM):
        signal.signal(one, stop)
    with suppress(KeyboardInterrupt):
        watching.run("A server or another loci watch watches the folders. This one waits until that ends.")
    say(f"Stopped. Since the start: {watching.messages.totals()}.")


def say(line: str) -> None:
    """Print a line at once: a person or a program may wait for it."""
    typer.echo(printable(line))
    sys.stdout.flush()


def _folder(path: str) -> LocalPath:
    found = local_path(path)
    if not found.is_folder:
        raise Refused(f"{path} is not a folder", "Name the folder that the file is in", code="NO_FOLDER")
    return found


class FileEvents:
    """The paths that changed, in bursts. The path of a watched folder stands for everything in it."""

    def __init__(
        self,
        folders: Sequence[str],
        say: Callable[[str], None],
        *,
        poll: bool,
        reports: Callable[[Sequence[str]], Iterator[ChangedPaths]] | None = None,
        pause: Callable[[float], None] = time.sleep,
    ) -> None:
        self._folders = folders
        self._say = say
        self._reports = reports or _system_reports
        self._pause = pause
        self._stream: Iterator[ChangedPaths] | None = None
        self._watched: dict[str, tuple[int, int]] = {}
        self._swept = time.monotonic()
        self._polls = poll

    def wait(self) -> ChangedPaths:
        """Return the paths that changed since the last call; empty if nothing changed for a while."""
        if self._polls:
            self._pause(SECONDS_BETWEEN_POLLS)
            return set(self._folders)
        here = {folder: seen for folder in self._folders if (seen := folder_identity(folder))}
        if here != self._watched:  # a folder was removed or made again: watch the new one
            self._stream, self._watched = self._reports(list(here)) if here else None, here
            return self._next() | set(self._folders)
        return self._next() | self._sweep()

    def _next(self) -> ChangedPaths:
        if self._stream is None:
            self._pause(TICK_MS / 1000)
            return set()
        try:
            return next(self._stream)
        # notify raises RuntimeError if no watch is left for a folder that was added later.
        except (OSError, RuntimeError) as error:
            if any(folder_identity(folder) != seen for folder, seen in self._watched.items()):
                self._stream, self._watched = None, {}  # the folder has just gone
                return set()
            self._start_polling(str(error).partition(" about [")[0])
            return set(self._folders)

    def _sweep(self) -> ChangedPaths:
        """Return all folders now and then: the system drops events if too many come at once."""
        now = time.monotonic()
        if now - self._swept < SECONDS_BETWEEN_SWEEPS:
            return set()
        self._swept = now
        return set(self._folders)

    def _start_polling(self, reason: str) -> None:
        self._polls, self._stream = True, None
        self._say(
            f"Checking the folders every {SECONDS_BETWEEN_POLLS:g} s, as the system cannot report changes ({reason})"
        )


def _system_reports(folders: Sequence[str]) -> Iterator[ChangedPaths]:
    from watchfiles import watch  # polling does not need it

    bursts = watch(
        *folders,
        watch_filter=None,
        debounce=LONGEST_MS,
        step=STEP_MS,
        rust_timeout=TICK_MS,
        yield_on_timeout=True,
        force_polling=False,  # its own polling compares whole seconds, and misses folders that come back
        ignore_permission_denied=True,
    )
    for burst in bursts:
        yield {path for _, path in burst}


class FolderWatch:
    """Keeps the documents of the ingested folders current, unless another process does."""

    def __init__(
        self,
        app: App,
        say: Callable[[str], None],
        stopped: threading.Event,
        progress: ShownProgress = lambda: nullcontext(no_progress),
        *,
        poll: bool = False,
    ) -> None:
        self.messages = WatchMessages(say)
        self._app = app
        self._say = say
        self._stopped = stopped
        self._progress = progress
        self._poll = poll
        self._watched: list[WatchedFolder] = []
        self._events = FileEvents([], say, poll=poll)
        self._collected: float | None = None
        """When sessions were last looked for."""

    def run(self, waiting: str | None = None) -> None:
        """Watch until it is stopped. `waiting` is printed while another process watches."""
        told: str | None = None
        while not self._stopped.is_set():
            line = waiting
            try:
                with _exclusive_lock(self._app.settings.data / LOCK) as is_ours:
                    if is_ours:
                        self._follow()
            except _WatchStoppedError:
                return
            except LociError as error:
                line = f"Loci cannot follow the folders for now. {error}"
            if line is not None and line != told:
                told = line
                self._say(line)
            self._stopped.wait(SECONDS_BETWEEN_TRIES)

    def _follow(self) -> None:
        """Watch all ingested folders, including folders that are ingested later, until it is stopped."""
        while not self._stopped.is_set():
            self._collect_sessions()
            if self._begin(self._app.documents.watch(LOCAL)):
                self._app.documents.upkeep.warm_ingestion()
                self._step()  # for files written before the system began to report changes
                self._say(f"Watching {', '.join(one.location.path for one in self._watched)}.")
            if not self._watched:
                self._stopped.wait(SECONDS_BETWEEN_TRIES)
            for _ in range(STEPS_BETWEEN_LOOKS if self._watched else 0):
                if not self._stopped.is_set():
                    self._step()

    def _collect_sessions(self) -> None:
        """Make documents of sessions that have grown, if the person agreed to it. What is watched then ingests them."""
        now, before = time.monotonic(), self._collected
        if before is not None and now - before < SECONDS_BETWEEN_SESSIONS:
            return
        self._collected = now
        if consent := self._app.sessions.consent(LOCAL):
            quiet = 0.0 if before is None else SECONDS_BETWEEN_SESSIONS
            found = self._app.sessions.collect(LOCAL, consent, progress=self._stoppable(no_progress), quiet=quiet)
            for one in found.unread:
                self._say(f"A session cannot be read: {one}")

    def _begin(self, wanted: Sequence[WatchedFolder]) -> bool:
        """Start to watch these folders, and ingest the new ones. Return False if they are watched already."""
        before = {(one.location.path, one.excluded): one for one in self._watched}
        if before.keys() == {(one.location.path, one.excluded) for one in wanted}:
            return False
        if not sys.modules.get("watchfiles", sys):  # it was kept from uvicorn
            del sys.modules["watchfiles"]
        self._watched = []
        for one in wanted:
            known = before.get((one.location.path, one.excluded))
            if known is None:
                with self._progress() as shown:
                    begun = one.ingest_all(self._stoppable(shown))
                self.messages.report(one.location.path, begun)
            self._watched.append(known or one)
        self._events = FileEvents([one.location.path for one in wanted], self._say, poll=self._poll)
        return bool(wanted)

    def _step(self) -> None:
        """Wait for changes for a short time, and ingest what changed."""
        touched = self._events.wait()
        for one in self._watched:
            happening = one.check({path for path in touched if is_below(path, [one.location.path])})
            if happening:
                self.messages.report(one.location.path, happening)

    def _stoppable(self, progress: Progress) -> Progress:
        def shown(done: int, total: int, path: str, note: str = "", /) -> None:
            if self._stopped.is_set():
                raise _WatchStoppedError
            progress(done, total, path, note)

        return shown


class WatchMessages:
    """Prints what happens to the watched folders, each message once, and counts."""

    def __init__(self, say: Callable[[str], None]) -> None:
        self._say = say
        self._processed = self._removed = self._failed = 0
        self._begun = set[str]()
        self._missing = set[str]()
        self._postponed: dict[str, str] = {}

    def report(self, folder: str, happening: FolderEvent) -> None:
        """Print the message of an event, unless it was printed before."""
        match happening:
            case FolderIngested(summary):
                self._tell_summary(folder, summary)
            case FolderUnavailable(is_empty):
                if folder in self._missing:  # the message about an outer folder has named it
                    return
                self._missing.add(folder)
                what, back = ("is empty", "the files are back") if is_empty else ("does not exist", "it is back")
                self._say(
                    f"{folder} {what} now. Loci keeps its documents until {back} (to remove them: loci forget {folder})"
                )
            case IngestPostponed(reason):
                if self._postponed.get(folder) != reason:
                    self._postponed[folder] = reason
                    self._say(f"{folder}: {reason} Loci will try again.")

    def totals(self) -> str:
        """Return the counts since the start."""
        return f"{self._processed:,} processed, {self._removed:,} removed, {self._failed:,} failed"

    def _tell_summary(self, folder: str, summary: IngestSummary) -> None:
        failed = len(summary.failed)
        self._processed += summary.processed
        self._removed += summary.removed
        self._failed += failed
        self._postponed.pop(folder, None)
        is_first, is_back = folder not in self._begun, folder in self._missing
        self._begun.add(folder)
        self._missing.discard(folder)
        for kept in summary.kept:
            if kept.folder not in self._missing:
                self._missing.add(kept.folder)
                self._say(kept_line(kept))
        if is_first or is_back or summary.processed or summary.removed or failed:
            counts = f"{summary.processed:,} processed, {summary.unchanged:,} unchanged, {failed:,} failed."
            self._say(f"{folder}{' is back' if is_back else ''}: {counts} {summary.removed:,} removed.")
        self._list([f"+ {path}" for path in summary.taken])
        self._list([f"- {path}" for path in summary.gone])
        self._list([f"{one.path}: {one.reason}" for one in summary.failed])

    def _list(self, lines: Sequence[str]) -> None:
        for line in lines[:SHOWN]:
            self._say(f"  {line}")
        if len(lines) > SHOWN:
            self._say(f"  and {len(lines) - SHOWN:,} more")


@contextmanager
def _exclusive_lock(lock: Path) -> Generator[bool]:
    """Take the lock for the block. Yields False if another process has it."""
    descriptor = open_lock(lock)
    is_ours = False
    try:
        with suppress(BlockingIOError):
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            is_ours = True
        yield is_ours
    finally:
        # Closing is not enough: a program that another thread is just starting has it open, too, for a moment.
        fcntl.flock(descriptor, fcntl.LOCK_UN)
        os.close(descriptor)


class _WatchStoppedError(Exception):
    """The process ends during an ingest; the next start completes it."""
