"""Where something happened in folders: as the system tells it, or by looking."""

import time
from collections.abc import Callable, Iterator, Sequence

from loci.cli.mounts import remote_kind
from loci.documents.ingest.folder_snapshot import folder_identity

STEP_MS, LONGEST_MS, TICK_MS = 50, 400, 250
"""Quiet that ends a burst, the longest that a burst is waited for, and how often to look whether folders are there."""
SECONDS_BETWEEN_SWEEPS = 30.0
SECONDS_BETWEEN_POLLS = 1.0

Touched = set[str]


class FileEvents:
    """The paths that something happened at, in bursts. A folder itself stands for all that is in it."""

    def __init__(
        self,
        folders: Sequence[str],
        say: Callable[[str], None],
        *,
        poll: bool,
        told: Callable[[Sequence[str]], Iterator[Touched]] | None = None,
        pause: Callable[[float], None] = time.sleep,
    ) -> None:
        self._folders = folders
        self._say = say
        self._told = told or _told
        self._pause = pause
        self._stream: Iterator[Touched] | None = None
        self._watched: dict[str, tuple[int, int]] = {}
        self._swept = time.monotonic()
        kind = next((kind for folder in folders if (kind := remote_kind(folder))), None)
        self._polls = poll or kind is not None
        if kind and not poll:
            self._poll(f"{kind} does not tell of changes")

    def wait(self) -> Touched:
        """What was touched since; nothing, where nothing was for a while."""
        if self._polls:
            self._pause(SECONDS_BETWEEN_POLLS)
            return set(self._folders)
        here = {folder: seen for folder in self._folders if (seen := folder_identity(folder))}
        if here != self._watched:  # those that were made anew are watched anew
            self._stream, self._watched = self._told(list(here)) if here else None, here
            return self._next() | set(self._folders)
        return self._next() | self._swept_now()

    def _next(self) -> Touched:
        if self._stream is None:
            self._pause(TICK_MS / 1000)
            return set()
        try:
            return next(self._stream)
        # Also RuntimeError: what notify says of a folder that was added later, when there is no watch left for it.
        except (OSError, RuntimeError) as error:
            if any(folder_identity(folder) != seen for folder, seen in self._watched.items()):
                self._stream, self._watched = None, {}  # it has just gone
                return set()
            self._poll(str(error).partition(" about [")[0])
            return set(self._folders)

    def _swept_now(self) -> Touched:
        """All folders now and then: the system forgets events when too many come at once."""
        now = time.monotonic()
        if now - self._swept < SECONDS_BETWEEN_SWEEPS:
            return set()
        self._swept = now
        return set(self._folders)

    def _poll(self, reason: str) -> None:
        self._polls, self._stream = True, None
        self._say(f"Looking every {SECONDS_BETWEEN_POLLS:g} s: the system cannot tell what happens ({reason})")


def _told(folders: Sequence[str]) -> Iterator[Touched]:
    from watchfiles import watch  # not needed where folders are polled

    bursts = watch(
        *folders,
        watch_filter=None,
        debounce=LONGEST_MS,
        step=STEP_MS,
        rust_timeout=TICK_MS,
        yield_on_timeout=True,
        force_polling=False,  # its own polling sees seconds, and knows nothing of folders that come back
        ignore_permission_denied=True,
    )
    for burst in bursts:
        yield {path for _, path in burst}
