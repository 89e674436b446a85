"""The changes in folders, as the operating system reports them, or found by looking every second."""

import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from loci.documents.ingest.folder_snapshot import folder_identity

STEP_MS, LONGEST_MS, TICK_MS = 50, 400, 250
"""The silence that ends a burst, the longest burst, and how often to check that the folders exist."""
SECONDS_BETWEEN_SWEEPS = 30.0
SECONDS_BETWEEN_POLLS = 1.0
MOUNTS = Path("/proc/self/mountinfo")
REMOTE = frozenset(
    {"9p", "afs", "ceph", "cifs", "fuse.s3fs", "fuse.rclone", "fuse.sshfs", "glusterfs", "nfs", "nfs4"}
    | {"prl_fs", "smb3", "smbfs", "vboxsf", "virtiofs", "vmhgfs"}
)
"""File systems of another machine: nothing reports what is written there."""

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
        kind = next((kind for folder in folders if (kind := remote_kind(folder))), None)
        self._polls = poll or kind is not None
        if kind and not poll:
            self._start_polling(f"{kind} does not report changes")

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


def remote_kind(folder: str, mounts: Path = MOUNTS) -> str | None:
    """Return the kind of file system if the folder is on another machine; None if it is not, or nobody knows."""
    try:
        lines = mounts.read_text("utf-8", "surrogateescape").splitlines()
    except OSError:  # not Linux
        return None
    kinds = dict(_point_and_kind(line) for line in lines)
    for above in (folder, *map(str, Path(folder).parents)):
        if above in kinds:
            return kinds[above] if kinds[above] in REMOTE else None
    return None


def _point_and_kind(line: str) -> tuple[str, str]:
    before, _, after = line.partition(" - ")
    point = before.split(" ")[4]
    for code, letter in (("\\040", " "), ("\\011", "\t"), ("\\012", "\n"), ("\\134", "\\")):
        point = point.replace(code, letter)
    return point, after.split(" ")[0]


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
