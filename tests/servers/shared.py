"""One server for all workers of a test run: the first that needs it starts it, and ends it when nobody uses it."""

import atexit
import fcntl
from collections.abc import Generator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from pathlib import Path
from typing import TextIO

_ends = ExitStack()
_folder: Path | None = None


def share_in(folder: Path) -> None:
    """Share with the other workers of this run, through this folder."""
    global _folder
    _folder = folder


def shared(name: str, server: AbstractContextManager[str]) -> str:
    """The server's URL. It is there until `end`, or until this process ends."""
    if _folder is None:
        return _ends.enter_context(server)
    return _ends.enter_context(_of_all_workers(_folder, name, server))


def end() -> None:
    """End what this worker has started, once no other worker uses it."""
    _ends.close()


atexit.register(end)


@contextmanager
def _of_all_workers(folder: Path, name: str, server: AbstractContextManager[str]) -> Generator[str]:
    # Who uses it holds a lock of `used`, which a killed worker loses, too; who starts it waits for all these locks.
    url = folder / f"{name}.url"
    with (folder / f"{name}.starting").open("w") as starting, (folder / f"{name}.used").open("w") as used:
        with _locked(starting):
            fcntl.flock(used, fcntl.LOCK_SH)
            started = not url.exists()
            if started:
                url.write_text(server.__enter__(), "ascii")
        try:
            yield url.read_text("ascii")
        finally:
            if started:
                with _locked(starting):
                    url.unlink()
                fcntl.flock(used, fcntl.LOCK_EX)
                server.__exit__(None, None, None)


@contextmanager
def _locked(file: TextIO) -> Generator[None]:
    fcntl.flock(file, fcntl.LOCK_EX)
    try:
        yield
    finally:
        fcntl.flock(file, fcntl.LOCK_UN)
