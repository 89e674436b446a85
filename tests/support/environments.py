"""A Python environment of other packages than ours, made once from its lock."""

import fcntl
import hashlib
import shutil
import subprocess
import sys
from pathlib import Path

UV = Path(sys.executable).with_name("uv")


def made(folder: Path, base: Path, lock: Path, plugin: Path | None = None) -> Path:
    """Its interpreter. The environment is made if it is missing, or another lock's."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    python, stamp = folder / "bin" / "python", folder / ".installed"
    wanted = _fingerprint(base, lock, plugin)
    with (folder.parent / ".lock").open("w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)  # two test processes may arrive here together
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
