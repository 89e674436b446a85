"""Our side of the fork server: starts it, and gets executors from it."""

import contextlib
import json
import os
import select
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from loci.sandbox.supervisor.control_groups import GroupLimits, limited
from loci.sandbox.supervisor.executor_process import (
    STDERR_TAIL,
    ExecutorEnded,
    ExecutorOutput,
    ExecutorProcess,
    failed_to_start,
    stderr_tail,
)
from loci.sandbox.supervisor.limits import Bounds, ProcessHandle
from loci.sandbox.wall.layers import Layer
from loci.sandbox.wall.restrictions import ProcessLimits

START = Path(__file__).parent.parent / "start.py"
UP_SECONDS = 60.0
SPAWN_SECONDS = 20.0
CLOSE_SECONDS = 1.0
ATTEMPTS = 3
"""Fork servers that are asked for an executor, as long as each of them ends meanwhile."""
RESERVED = 4 << 30
"""Addresses that libraries may reserve without using them: stacks and heaps of threads. Their tables take 8 MB."""
PACKAGES = (
    *("numpy", "pandas", "openpyxl", "xlrd", "scipy.stats", "sklearn.ensemble", "sklearn.linear_model"),
    *("sklearn.metrics", "sklearn.model_selection", "sklearn.preprocessing", "xgboost", "threadpoolctl"),
    "loci.sandbox.inside.table_query",
)
DRAWING = ("matplotlib.pyplot",)
READERS = ("loci.files.extract.program", "pypdfium2", "python_calamine")
"""Reads stored files."""
STANDARD = ("collections", "csv", "datetime", "decimal", "fractions", "io", "itertools", "math", "re", "statistics")
SYSTEM_FILES = ("/usr/lib", "/usr/lib64", "/lib", "/lib64", "/usr/share/zoneinfo", "/etc/localtime", "/etc/ld.so.cache")
"""The parts of the system that Python and its packages read."""


@dataclass(frozen=True)
class Interpreter:
    """The Python that executors run."""

    path: Path
    readable: tuple[str, ...]
    """The folders that it needs."""


@dataclass(frozen=True)
class WorkFolders:
    """The folders of one executor: it writes to the first two, and reads the third."""

    work: Path
    scratch: Path
    memory: Path


def interpreter(path: Path) -> Interpreter:
    """Ask the interpreter at this path which folders it needs."""
    asked = (
        "import sys, json; print(json.dumps([[sys.prefix, sys.exec_prefix], [sys.base_prefix, sys.base_exec_prefix]]))"
    )
    ran = subprocess.run([path, "-I", "-c", asked], capture_output=True, check=False, timeout=30)  # noqa: S603
    if ran.returncode:
        said = ran.stderr.decode("utf-8", "replace").strip()[-STDERR_TAIL:]
        raise OSError(f"{path} ended with {ran.returncode}{f': {said}' if said else ''}")
    try:
        own, base = json.loads(ran.stdout)
    except ValueError:
        raise OSError(f"{path} is no Python: it does not say which folders it needs") from None
    # A virtual environment needs all of its own folder. Its base may be all of /usr: of that, only the libraries.
    needed = {one for one in own if one not in base}
    needed |= {f"{one}/{part}" for one in base for part in ("lib", "lib64", "local/lib", "share/zoneinfo")}
    # Python looks for its modules at the paths that it was started with, which may be links.
    return Interpreter(path, tuple(sorted(needed | {os.path.realpath(one) for one in needed})))


class ForkServer:
    """Forks executors that have all packages imported. Any thread may ask it; it ends with this process."""

    def __init__(
        self,
        python: Interpreter,
        layers: frozenset[Layer],
        cache: Path,
        *,
        drawing: bool = True,
        packages: Sequence[str] = PACKAGES,
    ) -> None:
        self._python = python
        self._layers = layers
        self._drawing = drawing
        self._turn = threading.Lock()
        ours, its = socket.socketpair()
        names = (*STANDARD, *packages, *(DRAWING if drawing else ()), "cloudpickle")
        command = [str(python.path), "-I", str(START), "inside.fork_server", str(its.fileno()), ",".join(names)]
        self._errors = tempfile.TemporaryFile(dir=cache)  # noqa: SIM115 (it lives as long as the process)
        with its:
            self._process = subprocess.Popen(  # noqa: S603
                command,
                env=_environment(cache),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,  # with stdio, this process's own stdout is the protocol
                stderr=self._errors,
                cwd="/",
                pass_fds=[its.fileno()],
                start_new_session=True,  # Ctrl-C and clients send signals to whole groups: executors are saved first
            )
        self._socket = ours
        self._socket.settimeout(UP_SECONDS)
        try:
            is_up = self._socket.recv(1) != b""
        except OSError:
            is_up = False
        said = stderr_tail(self._errors)
        if not is_up:
            is_late = self.is_alive
            self.close()
            why = f"was not up after {UP_SECONDS:g} s" if is_late else f"ended with {self._process.returncode}"
            raise ExecutorEnded("start", failed_to_start(said or f"its fork server {why}"))
        if said:  # such as a package that is not installed
            sys.stderr.write(f"{said}\n")
        self._socket.settimeout(SPAWN_SECONDS)

    def spawn(self, folders: WorkFolders, bounds: Bounds) -> ExecutorProcess:
        """A new executor, confined and waiting; `ExecutorEnded` if none starts."""
        there: list[int] = []
        here: list[int] = []
        for is_request in (True, False, False, False):
            reading, writing = os.pipe()
            here.append(writing if is_request else reading)
            there.append(reading if is_request else writing)
        ours, its = socket.socketpair()
        try:
            with its:
                self._fork(self._spawn_request(folders, bounds), [*there, its.fileno()])
        except OSError as error:
            with contextlib.ExitStack() as closing:
                for one in here:
                    closing.callback(os.close, one)
                closing.callback(ours.close)
            raise ExecutorEnded("start", failed_to_start(stderr_tail(self._errors) or str(error))) from None
        finally:
            for one in there:
                os.close(one)
        handle = _handle(ours)
        if handle is None:
            said = _error_text(here[3])
            if not said.stderr:  # it failed before it had an output of its own
                said = failed_to_start(stderr_tail(self._errors) or "it ended before its wall was up")
            for one in here:
                os.close(one)
            raise ExecutorEnded("start", said)
        writable = (str(folders.work), str(folders.scratch))
        group = limited(handle.id, _group_limits(bounds))
        executor = ExecutorProcess(handle, (here[0], here[1], here[2], here[3]), writable, bounds, group)
        try:
            executor.wait_until_ready(SPAWN_SECONDS)
        except ExecutorEnded as ended:  # no code has run in it
            why = f"it was not ready after {SPAWN_SECONDS:g} s" if ended.why == "time" else f"it stopped: {ended.why}"
            raise ExecutorEnded("start", ended.output if ended.output.stderr else failed_to_start(why)) from None
        return executor

    @property
    def is_alive(self) -> bool:
        return self._process.poll() is None

    def close(self) -> None:
        """End it, and with it all executors that it forked."""
        self._socket.close()
        self._process.kill()
        self._process.wait()
        self._errors.close()

    def _fork(self, asked: Mapping[str, object], descriptors: Sequence[int]) -> None:
        with self._turn:
            socket.send_fds(self._socket, [json.dumps(asked).encode()], list(descriptors))
            if not self._socket.recv(1):
                raise ConnectionResetError

    def _spawn_request(self, folders: WorkFolders, bounds: Bounds) -> dict[str, object]:
        work, scratch = str(folders.work), str(folders.scratch)
        limits = ProcessLimits(
            memory_bytes=bounds.memory_bytes + bounds.base_bytes,
            more_address_bytes=bounds.memory_bytes + RESERVED,
            file_bytes=bounds.disk_bytes,
            processes=bounds.threads,
        )
        threads = _threads()
        return {
            "layers": sorted(self._layers),
            "work": work,
            "readable": [*self._python.readable, *SYSTEM_FILES, str(folders.memory)],
            "writable": [work, scratch],
            "limits": asdict(limits),
            "threads": threads,
            "refused": [] if self._drawing else ["matplotlib"],
            "environment": {
                "HOME": work,
                "USER": "sandbox",  # getpass asks for it; there is nobody in here
                "LOGNAME": "sandbox",
                "TMPDIR": scratch,
                "TZ": "UTC",
                "LANG": "C.UTF-8",
                "OMP_NUM_THREADS": str(threads),
                "JOBLIB_MULTIPROCESSING": "0",
                "MPLBACKEND": "Agg",
            },
        }


class Forks:
    """A fork server, which is started when it is first needed, and again if it has ended. Any thread may ask it."""

    def __init__(
        self,
        python: Callable[[], Path],
        layers: Callable[[], frozenset[Layer]],
        cache: Path,
        *,
        drawing: bool = True,
        packages: Sequence[str] = PACKAGES,
    ) -> None:
        self._python = python
        self._layers = layers
        self._cache = cache
        self._drawing = drawing
        self._packages = packages
        self._starting = threading.Lock()
        self._server: ForkServer | None = None
        self._is_closed = False

    def prepare(self) -> None:
        """Import everything before somebody waits for it. If that fails, the next `spawn` says why."""
        with contextlib.suppress(ExecutorEnded):
            self._started()

    def spawn(self, folders: WorkFolders, bounds: Bounds) -> ExecutorProcess:
        """A new executor, confined and waiting; `ExecutorEnded` if none starts."""
        for left in reversed(range(ATTEMPTS)):
            server = self._started()
            try:
                return server.spawn(folders, bounds)
            except ExecutorEnded:
                if not left or server.is_alive:
                    raise
        raise AssertionError

    def close(self) -> None:
        """End all executors and the fork server. One that is just starting is ended when it is up."""
        self._is_closed = True
        if self._starting.acquire(timeout=CLOSE_SECONDS):
            if self._server is not None:
                self._server.close()
            self._starting.release()

    def _started(self) -> ForkServer:
        with self._starting:
            if self._is_closed:
                raise ExecutorEnded("start")
            if self._server is not None and not self._server.is_alive:
                self._server.close()
                self._server = None
            if self._server is None:
                try:
                    self._cache.mkdir(parents=True, exist_ok=True, mode=0o700)
                    python, drawing, packages = interpreter(self._python()), self._drawing, self._packages
                    self._server = ForkServer(python, self._layers(), self._cache, drawing=drawing, packages=packages)
                except (OSError, subprocess.SubprocessError) as error:
                    raise ExecutorEnded("start", failed_to_start(f"{type(error).__name__}: {error}")) from None
                if self._is_closed:  # meanwhile: `close` has not waited so long
                    self._server.close()
                    raise ExecutorEnded("start")
            return self._server


def _threads() -> int:
    """The number of threads that libraries start in an executor: one for each processor, up to four."""
    return max(1, min(4, os.cpu_count() or 1))


def _group_limits(bounds: Bounds) -> GroupLimits:
    """Files that it has written count, too, as long as they are in memory."""
    return GroupLimits(bounds.memory_bytes + bounds.base_bytes + bounds.disk_bytes, bounds.threads, _threads())


def _environment(cache: Path) -> dict[str, str]:
    # A second thread in the fork server would make its children hang (libgomp). No semaphores exist behind the wall.
    one = dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    paths = {"PATH": "/usr/bin:/bin", "HOME": str(cache), "MPLCONFIGDIR": str(cache), "LANG": "C.UTF-8", "TZ": "UTC"}
    # Each heap of threads reserves 64 MB of addresses, and without this there may be eight for each processor.
    heaps = {"MALLOC_ARENA_MAX": "8"}
    return {**one, **paths, **heaps, "JOBLIB_MULTIPROCESSING": "0", "MPLBACKEND": "Agg"}


def _handle(announced: socket.socket) -> ProcessHandle | None:
    """The process, as its wall announced it before any of the caller's code ran; None if it did not."""
    with announced:
        announced.settimeout(SPAWN_SECONDS)
        try:
            said, descriptors, _, _ = socket.recv_fds(announced, 32, 1)
        except OSError:
            return None
    return ProcessHandle(int(said), descriptors[0] if descriptors else None) if said else None


def _error_text(errors: int) -> ExecutorOutput:
    """The last words of an executor that did not start."""
    output = ExecutorOutput()
    waiting = select.poll()  # unlike `select`, it takes any descriptor
    waiting.register(errors, select.POLLIN)
    if waiting.poll(1000):
        output.append("stderr", os.read(errors, STDERR_TAIL), STDERR_TAIL)
    return output
