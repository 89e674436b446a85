"""Starts executors: through a fork server, which it starts for the first one, with one spare executor that waits."""

import secrets
import subprocess
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from loci.adapters.local.executors.executor_folder import ExecutorFolder
from loci.core.errors import Unavailable
from loci.sandbox.supervisor.exchange import Bounds, ExecutorEnded, failed_to_start
from loci.sandbox.supervisor.executor_process import ExecutorProcess
from loci.sandbox.supervisor.fork_server_client import PACKAGES, ForkServer, interpreter
from loci.sandbox.wall.layers import Layer
from loci.sandbox.wall.probe import Unsafe, offered, strongest

PREFIX = "executor-"
CLOSE_SECONDS = 1.0
ATTEMPTS = 3
"""Fork servers that are asked for an executor, as long as each of them ends meanwhile."""
SERVER_SECONDS = 3600.0
"""Its executors share one memory layout, which code might learn: so a fork server does not serve for ever."""


@dataclass(frozen=True, slots=True)
class SpareExecutor:
    """An executor that nobody has used, and its folder."""

    folder: ExecutorFolder
    executor: ExecutorProcess
    born: float

    def end(self) -> None:
        """End it: nobody wants it."""
        self.executor.end()
        self.folder.remove()


def strongest_wall(*, allow_none: bool) -> frozenset[Layer]:
    """All layers that this machine offers. `Unavailable` if they make no wall, unless `allow_none` accepts that."""
    found = offered()
    layers = strongest(found)
    if isinstance(layers, Unsafe):
        if allow_none:
            return found.layers
        raise Unavailable(
            f"Code cannot be kept away from this machine here: {layers.missing}",
            f"{layers.advice}. If you trust all code that is run, set LOCI_ALLOW_UNSANDBOXED=true",
            code="SANDBOX_UNAVAILABLE",
        )
    return layers


def runner_python(runner: Path) -> Path:
    """The interpreter with the runner's packages; `Unavailable` if they are not installed."""
    python = runner / "bin" / "python"
    if not python.exists():
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
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._folder = folder
        self._runner = runner
        self._bounds = bounds
        self._layers = layers
        self._drawing = drawing
        self._packages = packages
        self._clock = clock
        self._turn = threading.Lock()
        self._starting = threading.Lock()
        self._servers: list[ForkServer] = []
        self._born = 0.0
        self._spare: SpareExecutor | None = None
        self._filling: threading.Thread | None = None
        self._is_closed = False

    def check(self) -> None:
        """`Unavailable` if no executor can be started."""
        runner_python(self._runner)
        self._layers()

    def prepare(self) -> None:
        """Start the spare executor in another thread, unless there is one."""
        with self._turn:
            if self._spare is None and not self._is_closed and (self._filling is None or not self._filling.is_alive()):
                self._filling = threading.Thread(target=self._fill, name="executors", daemon=True)
                self._filling.start()

    def take(self) -> SpareExecutor | None:
        """The spare executor, if there is one; the next is started."""
        with self._turn:
            spare, self._spare = self._spare, None
        self.prepare()
        if spare is not None and self._clock() - spare.born >= SERVER_SECONDS:
            spare.end()
            return None
        return spare

    def new_folder(self) -> ExecutorFolder:
        """A new folder, for an executor that is still to be started."""
        return ExecutorFolder(self._folder / f"{PREFIX}{secrets.token_hex(16)}")

    def spawn(self, folder: ExecutorFolder) -> ExecutorProcess:
        """Start an executor in this folder, which the caller has locked. `ExecutorEnded` if it does not start."""
        for left in reversed(range(ATTEMPTS)):
            try:
                server = self._server()
            except (OSError, subprocess.SubprocessError) as error:
                raise ExecutorEnded("start", failed_to_start(str(error))) from None
            try:
                return server.spawn(folder.work_folders, self._bounds)
            except ExecutorEnded:
                if not left or server.is_alive:
                    raise
        raise AssertionError

    def close(self) -> None:
        """End all executors and their fork servers."""
        with self._turn:
            self._is_closed = True
            filling, spare, self._spare = self._filling, self._spare, None
        if filling is not None:
            filling.join(CLOSE_SECONDS)
            with self._turn:
                spare, self._spare = self._spare or spare, None
        if spare is not None:
            spare.end()
        # One that is still starting ends when it finds that this process has.
        is_quiet = self._starting.acquire(timeout=CLOSE_SECONDS)
        with self._turn:
            servers, self._servers = self._servers, []
        for server in servers:
            server.close()
        if is_quiet:
            self._starting.release()

    def _server(self) -> ForkServer:
        """The newest one; a new one if there is none or it is old. Old ones stay for their executors."""
        with self._starting:
            with self._turn:
                for one in [one for one in self._servers if not one.is_alive]:
                    one.close()
                    self._servers.remove(one)
                if self._servers and self._clock() - self._born < SERVER_SECONDS:
                    return self._servers[-1]
                if self._is_closed:
                    raise ExecutorEnded("start")
            server = self._started()
            with self._turn:
                if not self._is_closed:
                    self._servers.append(server)
                    self._born = self._clock()
                    return server
            server.close()  # nobody else knows of it: `close` has not waited so long
            raise ExecutorEnded("start")

    def _started(self) -> ForkServer:
        cache = self._folder / "cache"
        cache.mkdir(parents=True, exist_ok=True, mode=0o700)
        python = interpreter(runner_python(self._runner))
        return ForkServer(python, self._layers(), cache, drawing=self._drawing, packages=self._packages)

    def _fill(self) -> None:
        folder, born = self.new_folder(), self._clock()  # before: its fork server may be replaced meanwhile
        try:
            folder.take()
            spare = SpareExecutor(folder, self.spawn(folder), born)
        except (ExecutorEnded, Unavailable, OSError):  # the next call says why
            folder.remove()
            return
        with self._turn:
            if self._spare is None and not self._is_closed:
                self._spare = spare
                return
        spare.end()
