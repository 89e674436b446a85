"""The jars of a server, brought by Maven once, kept under `build/servers`.

Maven pins versions and not contents, so each file is compared with the list beside the pom. After a change of a pom
renew its list: `python -m tests.servers.java renew`.
"""

import fcntl
import hashlib
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Literal, get_args

from tests.servers.errors import NotInstalled, NotStarted

Name = Literal["opensearch", "opensearch3", "dynamodb"]

HERE = Path(__file__).resolve().parent
BUILT = HERE.parents[2] / "build" / "servers"
PATIENCE = 900


def assembled(name: Name, into: Path = BUILT) -> Path:
    """The folder with the jars. Of two processes that ask at once, the second gets what the first has made."""
    listed = _list(name).read_text("ascii")
    # Named after what it is, and moved here whole: if it is there, it is right.
    jars = into / f"{name}-{hashlib.sha256(listed.encode()).hexdigest()[:12]}"
    into.mkdir(parents=True, exist_ok=True)
    with (into / f".{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not jars.is_dir():
            with tempfile.TemporaryDirectory(dir=into, prefix=f".{name}-") as scratch:
                brought = _bring(name, Path(scratch))
                check(brought, listed)
                brought.rename(jars)
    return jars


def renew() -> None:
    """Write the lists anew, from what Maven brings today."""
    for name in get_args(Name):
        with tempfile.TemporaryDirectory() as scratch:
            _list(name).write_text(listing(_bring(name, Path(scratch))), "ascii")


def listing(jars: Path) -> str:
    """Every file with its hash, as `sha256sum` writes and checks them."""
    files = sorted(jars.iterdir())
    return "".join(f"{hashlib.sha256(file.read_bytes()).hexdigest()}  {file.name}\n" for file in files)


def check(jars: Path, wanted: str) -> None:
    """Refuse a folder that is not exactly what the list says."""
    differing = set(listing(jars).splitlines()) ^ set(wanted.splitlines())
    if differing:
        names = ", ".join(sorted({line.split()[1] for line in differing}))
        raise NotStarted(
            f"Maven brought other files than tests/servers/java lists: {names}. "
            "If a pom was changed, renew the lists: python -m tests.servers.java renew"
        )


def maven() -> str:
    """The program `mvn`, which only the first start needs."""
    found = shutil.which("mvn")
    if found is None:
        raise NotInstalled("it needs Maven to bring its jars (Debian: apt install maven), and none is on the path")
    return found


def _bring(name: Name, scratch: Path) -> Path:
    program = maven()
    print(f"Maven brings the jars of {name}; that happens once.", file=sys.stderr)
    command = [program, "--quiet", "--batch-mode", "--file", str(_pom(name)), f"-Dinto={scratch}", "package"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, check=False)
    except subprocess.TimeoutExpired:
        raise NotStarted(f"Maven did not bring the jars of {name} in {PATIENCE} seconds: try again") from None
    if done.returncode:
        raise NotStarted(f"Maven could not bring the jars of {name}:\n{done.stdout}{done.stderr}")
    return scratch / "jars"


def _pom(name: Name) -> Path:
    return HERE / "jars_of" / name / "pom.xml"


def _list(name: Name) -> Path:
    return HERE / "jars_of" / name / "jars.sha256"
