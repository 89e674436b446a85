"""The packages that running code needs: Deno, and an environment of its own for the Python runner, from the lock."""

import hashlib
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Literal

from loci.core.errors import Unavailable
from loci.core.ids import random_id

OLDEST_DENO = (2, 9, 8)
"""Older versions have known ways around their own permissions."""
INSTALL_DENO = "Install it beside Loci: pip install 'loci-mcp[sandbox]' (in a checkout: make setup). Or set LOCI_DENO"
NOT_STARTED = "SANDBOX_START"
"""The code of a run that did not begin, because its interpreter did not."""
WHEN_NOT_STARTED = (
    "If this was the first start, or the machine is busy, call again in a minute: the first start reads all packages."
    " If not, or if it keeps failing, run: loci doctor"
)
LONGEST_REASON = 500
VERSION = re.compile(r"deno (\d{1,9})\.(\d{1,9})\.(\d{1,9})")
STAMP = "loci.lock"
# An installed Loci has its copy beside this file. A checkout has the one that `make lock` writes.
LOCKS = (Path(__file__).with_name("runner.lock"), Path(__file__).parents[3] / "requirements" / "runner.lock")

State = Literal["absent", "outdated", "ready"]


def find_deno(given: Path | None) -> Path:
    """The Deno to use: the given one, else the one installed with Loci, else the one on the PATH.

    Raises `Unavailable` if no Deno is found, or if it is too old.
    """
    beside = Path(sys.executable).parent / ("deno.exe" if os.name == "nt" else "deno")
    named = str(given) if given else str(beside) if beside.is_file() else shutil.which("deno")
    if named is None or not Path(named).is_file():
        where = f" at {named}" if named else ""
        raise Unavailable(f"TypeScript needs Deno, and there is none{where}", INSTALL_DENO, code="SANDBOX_UNAVAILABLE")
    version = deno_version(Path(named))
    if version < OLDEST_DENO:
        what = f"Deno {'.'.join(map(str, version))} at {named} is too old; Loci needs 2.9.8 or newer"
        raise Unavailable(what, INSTALL_DENO, code="SANDBOX_UNAVAILABLE")
    return Path(named)


def deno_version(deno: Path) -> tuple[int, ...]:
    """The version that this Deno reports. Raises `Unavailable` if it does not run."""
    try:
        ran = subprocess.run(  # noqa: S603
            [deno, "--version"], env={"NO_COLOR": "1"}, capture_output=True, text=True, timeout=20, check=False
        )
    except (OSError, subprocess.SubprocessError) as error:
        raise _not_started(deno, str(error)) from None
    if ran.returncode:
        said = ran.stderr.strip()[-LONGEST_REASON:]
        raise _not_started(deno, f"it ended with {ran.returncode}{f': {said}' if said else ''}")
    numbers = VERSION.search(ran.stdout)
    return tuple(map(int, numbers.groups())) if numbers else (0,)


def _not_started(deno: Path, why: str) -> Unavailable:
    return Unavailable(f"{deno} did not start ({why})", INSTALL_DENO, code=NOT_STARTED)


def state(folder: Path) -> State:
    """Say if the Python packages are in this folder, and if they are the packages of the lock."""
    if not (folder / "bin" / "python").exists():
        return "absent"
    stamp = folder / STAMP
    return "ready" if stamp.is_file() and stamp.read_text("ascii").strip() == _digest(_lock()) else "outdated"


def install(folder: Path, say: Callable[[str], None]) -> None:
    """Install the Python packages into this folder: all or none. Earlier ones stay until the new ones are complete."""
    folder = folder.absolute()
    lock = _lock()
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        for left in folder.parent.glob(f".{folder.name}-*"):  # by an installation that was cut off
            shutil.rmtree(left, ignore_errors=True)
        new = folder.with_name(f".{folder.name}-{random_id(8)}")
        say(f"Creating a Python environment for the runner in {folder}")
        _run([sys.executable, "-m", "venv", str(new)], "Install Python's venv module (Debian: python3-venv)")
        say("Installing its packages (about 700 MB on disk)")
        python = str(new / "bin" / "python")
        options = ("--quiet", "--disable-pip-version-check", "--no-deps", "--require-hashes", "--only-binary", ":all:")
        _run([python, "-m", "pip", "install", *options, "-r", str(lock)], "Read pip's message, and try again")
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
        raise Unavailable(f"Could not install the runner's packages: {last[:300]}", advice, code="NOT_INSTALLED")


def _lock() -> Path:
    return next(one for one in LOCKS if one.is_file())


def _digest(lock: Path) -> str:
    return hashlib.sha256(lock.read_bytes()).hexdigest()
