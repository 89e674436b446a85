"""Code behind a wall, in a process of its own."""

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from loci.sandbox.wall.layers import Layer

SHARED = Path(__file__).parents[2] / "shared"
BEHIND = """
import sys
sys.path.insert(0, sys.argv[1])
from loci.sandbox.wall.layers import Layer
from loci.sandbox.wall.wall import ProcessLimits, SystemCallRules, View, put_up
sys.path.remove(sys.argv[1])
readable = (sys.prefix, sys.base_prefix, "/usr/lib", *sys.argv[5:])
view = View(readable=readable, writable=(sys.argv[4],))
limits = ProcessLimits(memory_bytes=256 << 20, file_bytes=1 << 20, open_files=64, processes=32)
import ctypes, errno, os, resource, signal, socket, threading
os.chdir(sys.argv[4])
put_up(frozenset(Layer(one) for one in sys.argv[2].split(",")), view, limits, SystemCallRules(), (0, 1, 2))
def refused(do, *given):
    try:
        do(*given)
    except OSError as error:
        return errno.errorcode[error.errno]
    return "done"
"""
AS_NOBODY = ("setpriv", "--reuid=993", "--regid=993", "--clear-groups", "--bounding-set=-all")


def walled(
    code: str,
    layers: Sequence[Layer],
    work: Path,
    *,
    readable: Sequence[Path] = (),
    interpreter: str = sys.executable,
    before: Sequence[str] = (),
) -> subprocess.CompletedProcess[str]:
    """The end and the output of the code behind these layers. `refused` tells why something failed."""
    given = [str(SHARED), ",".join(layers), "-", str(work), *map(str, readable)]
    command = [*before, interpreter, "-I", "-c", BEHIND + code, *given]
    return subprocess.run(command, capture_output=True, text=True, timeout=30, env={"HOME": "/"}, check=False)
