"""How Deno is started: with no permission but to read what is named, and which files it needs to start at all."""

import os
import struct
from collections.abc import Collection
from pathlib import Path

from loci.sandbox.wall.wall import Limits, Rules, View

MB = 1 << 20
SANDBOX = Path(__file__).resolve().parent.parent
PROGRAMS = SANDBOX / "inside" / "typescript"
RUNNER = PROGRAMS / "runner.js"
NOTHING = (
    *("--no-prompt", "--no-remote", "--no-npm", "--cached-only", "--no-config", "--no-lock", "--no-code-cache"),
    *("--deny-import", "--deny-write", "--deny-net", "--deny-env", "--deny-run", "--deny-ffi", "--deny-sys"),
)
# `caches` and `localStorage` keep what they are given in DENO_DIR, for everybody, whatever is denied: there is none.
ENVIRONMENT = {
    "PATH": "/nonexistent",
    "HOME": "/nonexistent",
    "DENO_DIR": "/dev/null/none",
    "DENO_NO_UPDATE_CHECK": "1",
    "NO_COLOR": "1",
    "TZ": "UTC",
}
YOUNG_MB = 16
"""Of V8's young generation, which makes the heap larger by three times as much."""
OUTSIDE_MB = 512
"""For what lies outside V8's heap: array buffers, WebAssembly, the program itself."""
LIBRARIES = ("/usr/lib", "/usr/lib64", "/lib", "/lib64", "/nix/store")
NAMED = ("/etc/ld.so.cache", "/sys/devices/system/cpu")
# Threads of V8 and tokio; Deno has no fallback for the last two.
CALLS = (
    *("sched_setscheduler", "sched_getattr", "set_mempolicy_home_node", "mlock", "memfd_create"),
    *("pkey_alloc", "pkey_free", "pkey_mprotect"),
)


def command(deno: str, heap_mb: int, read: Collection[str]) -> list[str]:
    """The command line. A path with a comma would be two."""
    old = max(16, heap_mb - 3 * YOUNG_MB)
    # The flag with nothing behind it would allow everything.
    reading = f"--allow-read={','.join(read)}" if read else "--deny-read"
    v8 = f"--v8-flags=--max-old-space-size={old},--max-semi-space-size={YOUNG_MB}"
    return [deno, "run", *NOTHING, reading, v8, str(RUNNER)]


def view(deno: str, read: Collection[str]) -> View:
    """What is seen behind the wall: Deno, the libraries that it needs, its programs, and what may be read."""
    libraries = {os.path.realpath(one) for one in LIBRARIES if os.path.isdir(one)}
    named = {os.path.realpath(one) for one in NAMED if os.path.exists(one)}
    real = os.path.realpath(deno)
    loader = interpreter(real)
    return View(
        readable=(*sorted(libraries | named), str(PROGRAMS), str(SANDBOX / "vendored"), *read),
        executable=(real, *([os.path.realpath(loader)] if loader else ())),
    )


def limits(heap_mb: int) -> Limits:
    """What the kernel holds the process to. Heap that V8 does not count is what RLIMIT_DATA is for."""
    return Limits(memory_bytes=(heap_mb + OUTSIDE_MB) * MB, file_bytes=0, open_files=64, processes=128)


def rules() -> Rules:
    """Deno is executed behind the wall, so that call is open; to make a process for it is not."""
    return Rules(may_exec=True, extra=CALLS)


def interpreter(program: str) -> str | None:
    """What loads an ELF program, which the kernel executes beside it."""
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
