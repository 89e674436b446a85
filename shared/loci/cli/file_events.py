"""The changes in folders, as the operating system reports them, or found by looking every second."""

import time
from collections.abc import Callable, Iterator, Sequence

from loci.documents.ingest.watched_folder import folder_identity

STEP_MS, LONGEST_MS, TICK_MS = 50, 400, 250
"""The silence that ends a burst, the longest burst, and how often to check that the folders exist."""
SECONDS_BETWEEN_SWEEPS = 30.0
SECONDS_BETWEEN_POLLS = 1.0
ChangedPaths = set[str]


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
