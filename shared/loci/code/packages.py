"""The packages that running code needs: Deno, and an environment of its own for the Python runner, from the lock."""

import fcntl
import hashlib
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryFile
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
PACKAGE = re.compile(r"^[a-z0-9][\w.-]*==", re.MULTILINE)
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
        if is_being_installed(folder):
            what = f"The runner's packages are just being installed in {folder}"
            raise Unavailable(what, "Wait until that is done", code="BEING_INSTALLED")
        for left in _unfinished(folder):  # by an installation that was cut off
            shutil.rmtree(left, ignore_errors=True)
        new = folder.with_name(f".{folder.name}-{random_id(8)}")
        new.mkdir()
        lock_of_new = os.open(new, os.O_RDONLY)
    except OSError as error:
        raise _not_written(folder, error) from None
    try:
        fcntl.flock(lock_of_new, fcntl.LOCK_EX)
        say(f"Creating a Python environment for the runner in {folder}")
        _run([sys.executable, "-m", "venv", str(new)], "Install Python's venv module (Debian: python3-venv)")
        count, at = len(PACKAGE.findall(lock.read_text("utf-8"))), 0
        say(f"Installing its {count} packages (about 700 MB on disk)")
        python = str(new / "bin" / "python")
        options = ("--disable-pip-version-check", "--no-deps", "--require-hashes", "--only-binary", ":all:")

        def tell(line: str) -> None:
            nonlocal at
            if line.startswith("Collecting "):
                at += 1
                say(f"  {at} of {count}: {line.split()[1].partition('==')[0]}")

        again = "Read pip's message, then repeat it: loci runner install"
        _run([python, "-m", "pip", "install", *options, "-r", str(lock)], again, tell)
        (new / STAMP).write_text(_digest(lock), "ascii")
        _put(new, folder)
    except OSError as error:
        raise _not_written(folder, error) from None
    finally:
        os.close(lock_of_new)


def is_being_installed(folder: Path) -> bool:
    """True while a process installs the packages into this folder: it holds a lock on the unfinished one."""
    return any(map(_is_locked, _unfinished(folder.absolute())))


def _unfinished(folder: Path) -> Iterator[Path]:
    return folder.parent.glob(f".{folder.name}-*")


def _is_locked(folder: Path) -> bool:
    try:
        opened = os.open(folder, os.O_RDONLY)
    except OSError:  # it has just been put in its place
        return False
    try:
        fcntl.flock(opened, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(opened)
    return False


def _not_written(folder: Path, error: OSError) -> Unavailable:
    what = f"Cannot write to {folder.parent} ({error.strerror})"
    return Unavailable(what, "Choose another folder with LOCI_RUNNER", code="DISK")


def _put(new: Path, folder: Path) -> None:
    old = folder.with_name(f".{folder.name}-{random_id(8)}")
    if folder.exists():
        folder.rename(old)
    new.rename(folder)
    shutil.rmtree(old, ignore_errors=True)


def _run(command: Sequence[str], advice: str, tell: Callable[[str], None] = lambda _: None) -> None:
    """Run the command, and tell each line of its output as it comes."""
    last = ""
    with TemporaryFile("w+") as errors:
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=errors, text=True) as ran:  # noqa: S603
            for line in ran.stdout or ():
                last = line.strip() or last
                tell(line)
        errors.seek(0)
        told = errors.read().strip().splitlines()
    if ran.returncode != 0:
        why = told[-1] if told else last or f"exit code {ran.returncode}"
        raise Unavailable(f"Could not install the runner's packages: {why[:300]}", advice, code="NOT_INSTALLED")


def _lock() -> Path:
    return next(one for one in LOCKS if one.is_file())


def _digest(lock: Path) -> str:
    return hashlib.sha256(lock.read_bytes()).hexdigest()
