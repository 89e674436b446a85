"""The Python runner's packages: an environment of their own, from the lock, and as it was locked."""

import hashlib
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Literal

from loci.core.errors import Unavailable
from loci.core.ids import random_id

STAMP = "loci.lock"
# An installed Loci has its copy beside this file; in a checkout there is the one that is made by `make lock`.
LOCKS = (Path(__file__).with_name("runner.lock"), Path(__file__).parents[3] / "requirements" / "runner.lock")

State = Literal["absent", "outdated", "ready"]


def state(folder: Path) -> State:
    """Whether the packages are in this folder, and are those of the lock."""
    if not (folder / "bin" / "python").exists():
        return "absent"
    stamp = folder / STAMP
    return "ready" if stamp.is_file() and stamp.read_text("ascii").strip() == _digest(_lock()) else "outdated"


def install(folder: Path, say: Callable[[str], None]) -> None:
    """Bring the packages into this folder: all of them or none. What was there stays until then."""
    folder = folder.absolute()
    lock = _lock()
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        for left in folder.parent.glob(f".{folder.name}-*"):  # of one that was cut off
            shutil.rmtree(left, ignore_errors=True)
        new = folder.with_name(f".{folder.name}-{random_id(8)}")
        say(f"Making a Python environment for the runner in {folder}")
        _run([sys.executable, "-m", "venv", str(new)], "Python's venv module is needed (Debian: python3-venv)")
        say("Bringing its packages (about 500 MB on the disk)")
        python = str(new / "bin" / "python")
        options = ("--quiet", "--disable-pip-version-check", "--require-hashes", "--only-binary", ":all:")
        _run([python, "-m", "pip", "install", *options, "-r", str(lock)], "Look at what pip says, and try again")
        (new / STAMP).write_text(_digest(lock), "ascii")
        _put(new, folder)
    except OSError as error:
        raise Unavailable(
            f"Cannot write to {folder.parent} ({error.strerror})", "Choose another folder with LOCI_RUNNER", code="DISK"
        ) from None


def _put(new: Path, folder: Path) -> None:
    old = folder.with_name(f".{folder.name}-{random_id(8)}")
    if folder.exists():
        folder.rename(old)
    new.rename(folder)
    shutil.rmtree(old, ignore_errors=True)


def _run(command: Sequence[str], advice: str) -> None:
    ran = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603
    if ran.returncode != 0:
        last = (ran.stderr.strip() or ran.stdout.strip() or f"exit code {ran.returncode}").splitlines()[-1]
        raise Unavailable(f"The runner's packages were not installed: {last[:300]}", advice, code="NOT_INSTALLED")


def _lock() -> Path:
    return next(one for one in LOCKS if one.is_file())


def _digest(lock: Path) -> str:
    return hashlib.sha256(lock.read_bytes()).hexdigest()
