"""Source archives of other projects, which hold real files. Each is fetched by name, once, and checked by its hash."""

import fcntl
import hashlib
import subprocess
import sys
import tarfile
from pathlib import Path

from tests.servers.errors import NotInstalled
from tests.servers.reporting import only_with

BUILD = Path(__file__).resolve().parents[3] / "build" / "real-files"


def unpacked(requirements: Path) -> Path:
    """A folder with the unpacked archives that this list names. Without the package index its tests are skipped."""
    folder = BUILD / hashlib.sha256(requirements.read_bytes()).hexdigest()[:16]
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # two test processes may arrive here together
        done = folder / ".done"
        if not done.exists():
            _download(requirements, folder)
            for archive in folder.glob("*.tar.gz"):
                with tarfile.open(archive) as packed:
                    packed.extractall(folder, filter="data")
            done.touch()
    return folder


def _download(requirements: Path, folder: Path) -> None:
    pip = (sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check")
    options = ("--no-deps", "--no-binary", ":all:", "--require-hashes", "--dest", str(folder))
    with only_with("real files", "Let pip reach its package index"):
        done = subprocess.run([*pip, *options, "--requirement", str(requirements)], capture_output=True, text=True)
        if done.returncode != 0:
            raise NotInstalled(f"the archives of {requirements.name} cannot be fetched: {done.stderr.strip()[-200:]}")
