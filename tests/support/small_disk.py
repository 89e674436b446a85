"""A real disk of a few MB that a test can fill: a file system in memory, where this user may mount one."""

import os
import shutil
import subprocess
from collections.abc import Generator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import pytest


@dataclass(frozen=True)
class SmallDisk:
    """A mounted disk."""

    folder: Path

    def fill(self, but: int = 0) -> None:
        """Write until nothing more fits, or until only `free` bytes are left."""
        with suppress(OSError), (self.folder / "filler").open("ab", buffering=0) as filler:
            while not but or self.free > but:
                filler.write(b"x" * 4096)

    def empty(self) -> None:
        """Take away what filled it."""
        (self.folder / "filler").unlink(missing_ok=True)

    @property
    def free(self) -> int:
        """Bytes."""
        return shutil.disk_usage(self.folder).free


@contextmanager
def small_disk(folder: Path, megabytes: int = 64) -> Generator[SmallDisk]:
    """Mount it, as root or with `sudo` if that asks nothing. The test is skipped where neither is possible."""
    folder.mkdir()
    own = f"size={megabytes}m,uid={os.getuid()},gid={os.getgid()},mode=700"
    mount = ["mount", "-t", "tmpfs", "-o", own, "loci", str(folder)]
    for by in ([], ["sudo", "-n"]):
        if shutil.which([*by, "mount"][0]) and not subprocess.run([*by, *mount], check=False).returncode:
            break
    else:
        pytest.skip("this user may not mount a file system, so nothing is tried on a full disk")
    try:
        yield SmallDisk(folder)
    finally:
        subprocess.run([*by, "umount", "-l", str(folder)], check=True)
