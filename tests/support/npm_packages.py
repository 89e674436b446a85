"""npm packages, pinned by a lock in a folder of the tests, and run by the Node of the Python packages."""

import fcntl
import hashlib
import subprocess
from pathlib import Path

from infra.node import NODE, NPM


def install(folder: Path) -> None:
    """Install the folder's locked packages, unless this very lock is installed already."""
    wanted, stamp = _fingerprint(folder), folder / "node_modules" / ".installed"
    with (folder / "package.json").open() as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # two test processes may arrive here together
        if stamp.is_file() and stamp.read_text() == wanted:
            return
        done = subprocess.run(
            [NODE, NPM, "ci", "--no-progress"],
            cwd=folder,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=600,
            check=False,
        )
        if done.returncode:
            raise RuntimeError(f"npm ci failed:\n{done.stdout}{done.stderr}")
        stamp.write_text(wanted)


def _fingerprint(folder: Path) -> str:
    files = (folder / name for name in ("package.json", "package-lock.json", ".npmrc"))
    node = str(NODE.stat().st_size)
    return hashlib.sha256(b"\0".join([node.encode(), *(file.read_bytes() for file in files)])).hexdigest()
