"""The interpreter of Lambda's version, if this machine has it, on the path or elsewhere."""

import shutil
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

VERSION = "3.13"
PLACES = (
    "~/.pyenv/versions/{version}*/bin",
    "~/.local/share/uv/python/cpython-{version}*/bin",
    "~/.local/share/mise/installs/python/{version}*/bin",
    "~/.asdf/installs/python/{version}*/bin",
    "/opt/python/{version}*/bin",
    "/opt/hostedtoolcache/Python/{version}*/x64/bin",
    "/usr/local/bin",
    "/opt/homebrew/bin",
    "/Library/Frameworks/Python.framework/Versions/{version}/bin",
)
PROBE = "import sys; print('%d.%d' % sys.version_info[:2])"


@cache
def find() -> Path | None:
    """Return a Python of Lambda's version that starts: the one on the path may be a shim that fails."""
    return next((path for path in _candidates() if _runs(path)), None)


def _candidates() -> Iterator[Path]:
    name = f"python{VERSION}"
    yield Path(sys.executable)
    if on_path := shutil.which(name):
        yield Path(on_path)
    for place in PLACES:
        root = Path(place.format(version=VERSION)).expanduser()
        # `glob` needs a relative pattern below an absolute folder.
        for folder in sorted(Path(root.anchor).glob(str(root.relative_to(root.anchor))), reverse=True):
            if (folder / name).is_file():
                yield folder / name


def _runs(python: Path) -> bool:
    try:
        done = subprocess.run([python, "-c", PROBE], capture_output=True, text=True, timeout=20, check=False)  # noqa: S603
    except (OSError, subprocess.TimeoutExpired):
        return False
    return done.stdout.strip() == VERSION
