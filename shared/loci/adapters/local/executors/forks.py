"""Fresh executors: a fork server that is started when the first is wanted, and one executor that waits to be taken."""

import secrets
import subprocess
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from loci.adapters.local.executors.executor_folders import ExecutorFolders
from loci.core.errors import Unavailable
from loci.sandbox.supervisor.exchange import Bounds, ExecutorEnded
from loci.sandbox.supervisor.executor_process import ExecutorProcess
from loci.sandbox.supervisor.fork_server_client import PACKAGES, ForkServer, interpreter
from loci.sandbox.wall.layers import Layer
from loci.sandbox.wall.probe import Unsafe, offered, strongest

NEW = "executor-"
SERVER_SECONDS = 3600.0
"""All executors of a fork server have the same memory layout, which one may learn: so it does not last."""


@dataclass(frozen=True, slots=True)
class Fresh:
    """An executor that nobody has used, and its place."""

    place: ExecutorFolders
    executor: ExecutorProcess
    born: float

    def end(self) -> None:
        """Nobody wants it."""
        self.executor.end()
        self.place.remove()


def wall(*, allow_none: bool) -> frozenset[Layer]:
    """The layers to put up; `Unavailable` where they are no wall and that was not accepted."""
    found = offered()
    layers = strongest(found)
    if isinstance(layers, Unsafe):
        if allow_none:
            return found.layers
        raise Unavailable(
            f"Code cannot be kept away from this machine here: {layers.missing}",
            f"{layers.advice}. Who trusts all code that is run may set LOCI_ALLOW_UNSANDBOXED=true",
            code="SANDBOX_UNAVAILABLE",
        )
    return layers


def runner_python(runner: Path) -> Path:
    """The interpreter with the runner's packages; `Unavailable` where they were not installed."""
    python = runner / "bin" / "python"
    if not python.exists():
        raise Unavailable(
            f"The packages of the Python runner are not installed (none in {runner})",
            "Run: loci runner install",
            code="SANDBOX_UNAVAILABLE",
        )
    return python


class Forks:
    """Gives executors to any thread. Its fork server ends with this process, and so do they."""

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
        self._spare: Fresh | None = None
        self._filling: threading.Thread | None = None
        self._is_closed = False

    def check(self) -> None:
        """`Unavailable` where no executor can be made."""
        runner_python(self._runner)
        self._layers()

    def prepare(self) -> None:
        """Have an executor waiting soon; returns at once."""
        with self._turn:
            if self._spare is None and not self._is_closed and (self._filling is None or not self._filling.is_alive()):
                self._filling = threading.Thread(target=self._fill, name="executors", daemon=True)
                self._filling.start()

    def take(self) -> Fresh | None:
        """The one that waits, if one does; another will soon."""
        with self._turn:
            fresh, self._spare = self._spare, None
        self.prepare()
        if fresh is not None and self._clock() - fresh.born >= SERVER_SECONDS:
            fresh.end()
            return None
        return fresh

    def place(self) -> ExecutorFolders:
        """A new one, for an executor to be."""
        return ExecutorFolders(self._folder / f"{NEW}{secrets.token_hex(16)}")

    def spawn(self, place: ExecutorFolders) -> ExecutorProcess:
        """An executor in this place, which is taken; `Unavailable` where none comes up."""
        try:
            return self._server().spawn(place.folders, self._bounds)
        except ExecutorEnded as stopped:
            said = bytes(stopped.output.stderr).decode(errors="replace").strip()
            raise Unavailable(
                f"No executor came up{f' ({said[:200]})' if said else ''}",
                "Try again; if it stays, run: loci doctor",
                code="SANDBOX_START",
            ) from None

    def close(self) -> None:
        """End all executors."""
        with self._turn:
            self._is_closed = True
            filling, spare, self._spare = self._filling, self._spare, None
        if filling is not None:
            filling.join()
            with self._turn:
                spare, self._spare = self._spare or spare, None
        if spare is not None:
            spare.end()
        with self._starting, self._turn:
            servers, self._servers = self._servers, []
        for server in servers:
            server.close()

    def _server(self) -> ForkServer:
        """The newest, started where there is none or where it is old. Old ones stay for the executors they have."""
        with self._starting:
            with self._turn:
                self._servers = [one for one in self._servers if one.is_alive]
                if self._servers and self._clock() - self._born < SERVER_SECONDS:
                    return self._servers[-1]
                if self._is_closed:
                    raise ExecutorEnded("start")
            server = self._started()
            with self._turn:
                self._servers.append(server)
                self._born = self._clock()
            return server

    def _started(self) -> ForkServer:
        cache = self._folder / "cache"
        cache.mkdir(parents=True, exist_ok=True, mode=0o700)
        try:
            python = interpreter(runner_python(self._runner))
        except (OSError, subprocess.SubprocessError) as error:
            raise Unavailable(
                f"The runner's Python does not start ({error})", "Run: loci runner install", code="SANDBOX_UNAVAILABLE"
            ) from None
        return ForkServer(python, self._layers(), cache, drawing=self._drawing, packages=self._packages)

    def _fill(self) -> None:
        place = self.place()
        try:
            place.take()
            fresh = Fresh(place, self.spawn(place), self._clock())
        except (Unavailable, OSError):  # whoever wants one is told why
            place.remove()
            return
        with self._turn:
            if self._spare is None and not self._is_closed:
                self._spare = fresh
                return
        fresh.end()
