"""The two Python environments that LocalStack needs, each made once from its lock."""

import fcntl
import hashlib
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from layers.interpreter import find
from tests.servers.errors import NotInstalled

ROOT = Path(__file__).resolve().parents[3]
BUILD = ROOT / "build" / "servers"
LOCKS = ROOT / "requirements"
PLUGIN = Path(__file__).with_name("plugin")
UV = Path(sys.executable).with_name("uv")
MISSING = (
    "it needs Python 3.13, and none that starts was found. "
    "Install it (`.venv/bin/uv python install 3.13`, or your system's python3.13)"
)


@dataclass(frozen=True, slots=True)
class Environments:
    """The interpreters of LocalStack and of the functions, which know nothing of each other's packages."""

    localstack: Path
    functions: Path


def environments() -> Environments:
    """Both, made where they are missing or another lock's."""
    base = find()
    if base is None:
        raise NotInstalled(MISSING)
    BUILD.mkdir(parents=True, exist_ok=True)
    with (BUILD / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # two test processes may arrive here together
        return Environments(
            localstack=_made(base, "localstack", LOCKS / "localstack.lock", PLUGIN),
            functions=_made(base, "lambda-runtime", LOCKS / "lambda-runtime.lock"),
        )


def _made(base: Path, name: str, lock: Path, plugin: Path | None = None) -> Path:
    folder = BUILD / name
    python, stamp = folder / "bin" / "python", folder / ".installed"
    wanted = _fingerprint(base, lock, plugin)
    if stamp.is_file() and stamp.read_text("ascii") == wanted:
        return python
    shutil.rmtree(folder, ignore_errors=True)
    _uv("venv", "--python", base, folder)
    _uv("pip", "install", "--python", python, "--require-hashes", "--requirements", lock)
    if plugin is not None:
        _uv("pip", "install", "--python", python, "--no-deps", "--no-build-isolation", plugin)
    stamp.write_text(wanted, "ascii")
    return python


def _fingerprint(base: Path, lock: Path, plugin: Path | None) -> str:
    sources = sorted(plugin.rglob("*")) if plugin else []
    said = hashlib.sha256(str(base).encode())
    for file in (lock, *(source for source in sources if source.suffix in (".py", ".toml"))):
        said.update(file.read_bytes())
    return said.hexdigest()


def _uv(*arguments: str | Path) -> None:
    done = subprocess.run([UV, "--quiet", *arguments], capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"uv {' '.join(map(str, arguments))} failed:\n{done.stdout}{done.stderr}")
