"""Starts Deno processes behind the wall, through a launcher, with no permission but to read what is named."""

import contextlib
import itertools
import json
import os
import socket
import struct
import subprocess
import sys
import tempfile
import threading
from collections import deque
from collections.abc import Callable, Collection
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import IO

from loci.sandbox.supervisor.control_groups import GroupLimits, limited
from loci.sandbox.supervisor.deno_process import DenoProcess, NotStartedError
from loci.sandbox.supervisor.executor_process import stderr_tail
from loci.sandbox.wall.layers import Layer
from loci.sandbox.wall.wall import ProcessLimits, SystemCallRules, View

MB = 1 << 20
CLOSE_SECONDS = 2.0
SANDBOX = Path(__file__).resolve().parent.parent
PROGRAMS = SANDBOX / "inside" / "typescript"
RUNNER = PROGRAMS / "runner.js"
START = SANDBOX / "start.py"
NO_PERMISSIONS = (
    *("--no-prompt", "--no-remote", "--no-npm", "--cached-only", "--no-config", "--no-lock", "--no-code-cache"),
    *("--deny-import", "--deny-write", "--deny-net", "--deny-env", "--deny-run", "--deny-ffi", "--deny-sys"),
)
# `caches` and `localStorage` store in DENO_DIR, for everybody and whatever is denied: so there is no such folder.
ENVIRONMENT = {
    "PATH": "/nonexistent",
    "HOME": "/nonexistent",
    "DENO_DIR": "/dev/null/none",
    "DENO_NO_UPDATE_CHECK": "1",
    "NO_COLOR": "1",
    "TZ": "UTC",
}
YOUNG_MB = 16
"""V8's young generation. It makes the heap larger by three times as much."""
OUTSIDE_MB = 512
"""Memory outside V8's heap: array buffers, WebAssembly, the program itself."""
LIBRARY_FOLDERS = ("/usr/lib", "/usr/lib64", "/lib", "/lib64", "/nix/store")
SYSTEM_FILES = ("/etc/ld.so.cache", "/sys/devices/system/cpu")
# Threads of V8 and tokio; Deno has no fallback for the last two.
SYSTEM_CALLS = (
    *("sched_setscheduler", "sched_getattr", "set_mempolicy_home_node", "mlock", "memfd_create"),
    *("pkey_alloc", "pkey_free", "pkey_mprotect"),
)
READY_SECONDS = 20.0
QUIET_SECONDS = 0.02
"""The pause before the next process starts, which then takes no processor time from the run that has just begun."""
IDLE_SECONDS = 900.0


@dataclass(frozen=True, slots=True)
class ProcessShape:
    """Settings that a process starts with, and cannot be given later."""

    heap_mb: int
    read: tuple[str, ...] = ()


class DenoStarter:
    """Starts processes, from any thread. It starts its launcher when it first needs one, and again if that ended."""

    def __init__(self, deno: str, layers: frozenset[Layer]) -> None:
        self._deno = deno
        self._layers = layers
        self._numbers = itertools.count(1)
        self._lock = threading.Lock()
        self._launcher: subprocess.Popen[bytes] | None = None
        self._socket: socket.socket | None = None
        self._errors: IO[bytes] | None = None
        self._is_closed = False

    def start(self, shape: ProcessShape) -> DenoProcess:
        """Start a process; its `ready` waits until it takes a job."""
        number = next(self._numbers)
        try:
            view = _view(self._deno, shape.read)
        except (OSError, ValueError, struct.error) as error:
            raise NotStartedError(f"{self._deno} cannot be started: {error}") from None
        request: dict[str, object] = {
            "start": number,
            "command": command(self._deno, shape.heap_mb, shape.read),
            "environment": ENVIRONMENT,
            "layers": sorted(self._layers),
            "view": asdict(view),
            "limits": asdict(_limits(shape.heap_mb)),
            "rules": asdict(_rules()),
        }
        ends = [os.pipe() for _ in range(4)]
        theirs = [ends[0][0], *(writing for _, writing in ends[1:])]
        ours = (ends[0][1], ends[1][0], ends[2][0], ends[3][0])
        try:
            self._ask(request, theirs)
        except OSError as error:
            for one in ours:
                os.close(one)
            why = f"the launcher cannot be reached: {self._last_words() or error}"
            raise NotStartedError(why, is_killed=not self._is_closed) from None
        finally:
            for one in theirs:
                os.close(one)
        limits = _limits(shape.heap_mb)
        shares = GroupLimits(limits.memory_bytes or 0, limits.processes or 0, max(1, min(4, os.cpu_count() or 1)))
        return DenoProcess(ours, lambda: self._end(number), self._last_words, lambda process: limited(process, shares))

    def close(self) -> None:
        """End the launcher, and every process that it started. After that nothing starts."""
        with self._lock:
            self._is_closed = True
            if self._socket is not None:
                self._socket.close()
            self._wait_for_launcher()
            self._socket = self._launcher = None
            if self._errors is not None:
                self._errors.close()
            self._errors = None

    def _last_words(self) -> str:
        """The end of what the launcher wrote: it only writes if it fails."""
        return stderr_tail(self._errors) if self._errors else ""

    def _end(self, number: int) -> None:
        with self._lock:
            if self._socket is not None:
                try:
                    _send(self._socket, {"kill": number}, [])
                except OSError:  # it has ended, and so has every process that it started
                    return

    def _ask(self, request: dict[str, object], descriptors: list[int]) -> None:
        with self._lock:
            if self._is_closed:
                raise ConnectionAbortedError("this server is ending")
            if self._socket is not None:
                try:
                    _send(self._socket, request, descriptors)
                except OSError:
                    self._socket.close()
                    self._socket = None
                else:
                    return
            _send(self._start_launcher(), request, descriptors)

    def _start_launcher(self) -> socket.socket:
        self._wait_for_launcher()
        if self._errors is None:
            self._errors = tempfile.TemporaryFile()  # noqa: SIM115 (it lives as long as this)
        ours, theirs = socket.socketpair()
        command = [sys.executable, "-I", "-S", str(START), "inside.deno_launcher"]
        with theirs:
            # An interpreter of its own, with an empty environment: this process has threads and secrets.
            self._launcher = subprocess.Popen(  # noqa: S603
                command,
                stdin=theirs.fileno(),
                stdout=subprocess.DEVNULL,
                stderr=self._errors,
                env={},
                cwd="/",
                start_new_session=True,  # a signal to this process's group must not end its runs before it does
            )
        self._socket = ours
        return ours

    def _wait_for_launcher(self) -> None:
        """Wait until it has ended. One that does not is killed, and what it started ends with it."""
        if self._launcher is None:
            return
        try:
            self._launcher.wait(CLOSE_SECONDS)
        except subprocess.TimeoutExpired:
            self._launcher.kill()
            self._launcher.wait()


def _send(launcher: socket.socket, request: dict[str, object], descriptors: list[int]) -> None:
    text = json.dumps(request).encode()
    head = struct.pack("<I", len(text))
    if descriptors:
        socket.send_fds(launcher, [head], descriptors)
    else:
        launcher.sendall(head)
    launcher.sendall(text)


def command(deno: str, heap_mb: int, read: Collection[str]) -> list[str]:
    """The command line. A path with a comma would be read as two paths."""
    old = max(16, heap_mb - 3 * YOUNG_MB)
    # The flag with nothing behind it would allow everything.
    reading = f"--allow-read={','.join(read)}" if read else "--deny-read"
    v8 = f"--v8-flags=--max-old-space-size={old},--max-semi-space-size={YOUNG_MB}"
    return [deno, "run", *NO_PERMISSIONS, reading, v8, str(RUNNER)]


def _view(deno: str, read: Collection[str]) -> View:
    """The files that are visible behind the wall: Deno, its libraries, Loci's programs, and files that may be read."""
    libraries = {os.path.realpath(one) for one in LIBRARY_FOLDERS if os.path.isdir(one)}
    named = {os.path.realpath(one) for one in SYSTEM_FILES if os.path.exists(one)}
    real = os.path.realpath(deno)
    loader = _elf_interpreter(real)
    return View(
        readable=(*sorted(libraries | named), str(PROGRAMS), str(SANDBOX / "vendored"), *read),
        executable=(real, *([os.path.realpath(loader)] if loader else ())),
    )


def _limits(heap_mb: int) -> ProcessLimits:
    """The kernel's limits. RLIMIT_DATA is for memory that V8 does not count as heap."""
    return ProcessLimits(memory_bytes=(heap_mb + OUTSIDE_MB) * MB, file_bytes=0, open_files=64, processes=128)


def _rules() -> SystemCallRules:
    """System calls for Deno. It is executed behind the wall, so `execve` is open; starting processes is not."""
    return SystemCallRules(may_exec=True, extra=SYSTEM_CALLS)


def _elf_interpreter(program: str) -> str | None:
    """The loader of an ELF program, which the kernel executes beside it."""
    with open(program, "rb") as opened:
        head = opened.read(64)
        if head[:5] != b"\x7fELF\x02":
            return None
        offset, size, count = struct.unpack_from("<Q", head, 32)[0], *struct.unpack_from("<HH", head, 54)
        opened.seek(offset)
        table = opened.read(size * count)
        for at in range(0, len(table), size):
            kind, start, length = struct.unpack_from("<I4xQ16xQ", table, at)
            if kind == 3:  # PT_INTERP
                opened.seek(start)
                return opened.read(length).rstrip(b"\0").decode()
    return None


class SpareProcesses:
    """Processes of one shape, started before there is a job. The first call starts them; 15 idle minutes end them."""

    def __init__(self, start: Callable[[ProcessShape], DenoProcess], shape: ProcessShape, size: int) -> None:
        self._start = start
        self._shape = shape
        self._size = size
        self._ready: deque[DenoProcess] = deque()
        self._changed = threading.Condition()
        self._filler: threading.Thread | None = None
        self._closed = False

    def take(self, shape: ProcessShape, *, is_new: bool = False) -> DenoProcess:
        """A process that waits for a job: a spare one, or a new one if none has that shape or `is_new` asks for it."""
        if shape == self._shape and self._size and not is_new:
            while (spare := self._next()) is not None:
                spare.wait(0, ())
                if spare.ended is None and not spare.is_silent:
                    return spare
                spare.close()  # something has killed it
        return self._start(shape).ready(READY_SECONDS)

    def close(self) -> None:
        """End them all, but do not wait long for one that is just being started."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()
            filler = self._filler
        if filler is not None:
            filler.join(CLOSE_SECONDS)
        self._drop()

    def _next(self) -> DenoProcess | None:
        with self._changed:
            found = self._ready.popleft() if self._ready else None
            if self._filler is None and not self._closed:
                self._filler = threading.Thread(target=self._fill, name="spares", daemon=True)
                self._filler.start()
            self._changed.notify_all()
            return found

    def _fill(self) -> None:
        while True:
            with self._changed:
                if not self._changed.wait_for(self._is_wanted, IDLE_SECONDS) or self._closed:
                    self._filler = None
                    break
            threading.Event().wait(QUIET_SECONDS)
            try:
                child = self._start(self._shape).ready(READY_SECONDS)
            except NotStartedError:  # the next call says why
                with self._changed:
                    self._filler = None
                return
            with self._changed:
                self._ready.append(child)
        self._drop()

    def _is_wanted(self) -> bool:
        return self._closed or len(self._ready) < self._size

    def _drop(self) -> None:
        with contextlib.suppress(IndexError):
            while True:
                self._ready.popleft().close()
