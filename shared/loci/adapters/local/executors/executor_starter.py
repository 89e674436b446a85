"""Starts executors: through a fork server, which it starts for the first one, with one spare executor that waits."""

import functools
import secrets
import threading
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from loci.adapters.local.executors.executor_folder import ExecutorFolder
from loci.code.packages import is_being_installed
from loci.core.errors import Unavailable
from loci.sandbox.supervisor.executor_process import ExecutorEnded, ExecutorProcess
from loci.sandbox.supervisor.fork_server_client import PACKAGES, Forks
from loci.sandbox.supervisor.limits import Bounds
from loci.sandbox.wall.layers import Layer, Unsafe, offered, strongest

PREFIX = "executor-"
CLOSE_SECONDS = 1.0


@functools.cache
def strongest_wall(*, allow_none: bool) -> frozenset[Layer]:
    """All layers that this machine offers. `Unavailable` if they make no wall, unless `allow_none` accepts that."""
    found = offered()
    layers = strongest(found)
    if isinstance(layers, Unsafe):
        if allow_none:
            return found.layers
        raise Unavailable(
            f"Code cannot be isolated on this machine: {layers.missing}",
            f"{layers.advice}. If you trust all code that is run, set LOCI_ALLOW_UNSANDBOXED=true",
            code="SANDBOX_UNAVAILABLE",
        )
    return layers


def runner_python(runner: Path) -> Path:
    """The interpreter with the runner's packages; `Unavailable` if they are not installed."""
    python = runner / "bin" / "python"
    if not python.exists():
        if is_being_installed(runner):
            what = "The packages of the Python runner are still being installed"
            raise Unavailable(what, "Call again in a few minutes", code="SANDBOX_UNAVAILABLE")
        raise Unavailable(
            f"The packages of the Python runner are not installed (none in {runner})",
            "Run: loci runner install",
            code="SANDBOX_UNAVAILABLE",
        )
    return python


class ExecutorStarter:
    """Starts executors for any thread. They and their fork server end with this process."""

    def __init__(
        self,
        folder: Path,
        runner: Path,
        bounds: Bounds,
        *,
        layers: Callable[[], frozenset[Layer]],
        drawing: bool,
        packages: Sequence[str] = PACKAGES,
    ) -> None:
        self._folder = folder
        self._runner = runner
        self._bounds = bounds
        self._layers = layers
        python, cache = partial(runner_python, runner), folder / "cache"
        self._forks = Forks(python, layers, cache, drawing=drawing, packages=packages)
        self._turn = threading.Lock()
        self._spare: tuple[ExecutorFolder, ExecutorProcess] | None = None
        self._filling: threading.Thread | None = None
        self._is_closed = False

    def check(self) -> None:
        """`Unavailable` if no executor can be started."""
        runner_python(self._runner)
        self._layers()

    def prepare(self) -> None:
        """Start the spare executor in another thread, unless there is one."""
        with self._turn:
            if self._spare is None and not self._is_closed and self._filling is None:
                self._filling = threading.Thread(target=self._fill, name="executors", daemon=True)
                self._filling.start()

    def take_spare(self) -> tuple[ExecutorFolder, ExecutorProcess] | None:
        """Take the spare executor and its folder, if there is one, and start the next. Nobody has used it yet."""
        with self._turn:
            spare, self._spare = self._spare, None
        self.prepare()
        return spare

    def new_folder(self) -> ExecutorFolder:
        """A new folder, for an executor that is still to be started."""
        return ExecutorFolder(self._folder / f"{PREFIX}{secrets.token_hex(16)}")

    def spawn(self, folder: ExecutorFolder) -> ExecutorProcess:
        """Start an executor in this folder, which the caller has locked. `ExecutorEnded` if it does not start."""
        return self._forks.spawn(folder.work_folders, self._bounds)

    def close(self) -> None:
        """End all executors and their fork server."""
        with self._turn:
            self._is_closed = True
            filling = self._filling
        if filling is not None:
            filling.join(CLOSE_SECONDS)
        with self._turn:
            spare, self._spare = self._spare, None
        if spare is not None:
            _end(*spare)
        self._forks.close()

    def _fill(self) -> None:
        made: tuple[ExecutorFolder, ExecutorProcess] | None = None
        try:
            made = self._made()
        finally:
            with self._turn:
                self._filling = None  # here: who takes the spare at once would still find this thread alive
                if made is not None and self._spare is None and not self._is_closed:
                    self._spare, made = made, None
        if made is not None:
            _end(*made)

    def _made(self) -> tuple[ExecutorFolder, ExecutorProcess] | None:
        """A spare executor; None if none can be started. The next call says why."""
        folder = self.new_folder()
        try:
            folder.acquire()
            return folder, self.spawn(folder)
        except (ExecutorEnded, Unavailable, OSError):
            folder.remove()
            return None


def _end(folder: ExecutorFolder, executor: ExecutorProcess) -> None:
    """End an executor that is not needed."""
    executor.end()
    folder.remove()
