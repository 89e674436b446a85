"""The Deno that runs TypeScript: where it is, and whether it is new enough."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

from loci.core.errors import Unavailable

OLDEST = (2, 9, 8)
"""Older ones have known ways around their own permissions."""
INSTALL = "Install it beside Loci: pip install 'loci-mcp[sandbox]' (in a checkout: make setup). Or set LOCI_DENO"


def found(given: Path | None) -> Path:
    """The Deno that is used; `Unavailable` where there is none, or none that is new enough."""
    beside = Path(sys.executable).parent / ("deno.exe" if os.name == "nt" else "deno")
    named = str(given) if given else str(beside) if beside.is_file() else shutil.which("deno")
    if named is None or not Path(named).is_file():
        where = f" at {named}" if named else ""
        raise Unavailable(f"TypeScript runs in Deno, which is not here{where}", INSTALL, code="SANDBOX_UNAVAILABLE")
    here = version(Path(named))
    if here < OLDEST:
        told = f"Deno {'.'.join(map(str, here))} at {named} is too old; 2.9.8 is the oldest"
        raise Unavailable(told, INSTALL, code="SANDBOX_UNAVAILABLE")
    return Path(named)


def version(deno: Path) -> tuple[int, ...]:
    """What it says of itself; `Unavailable` where it does not run."""
    try:
        told = subprocess.run(  # noqa: S603
            [deno, "--version"], env={"NO_COLOR": "1"}, capture_output=True, text=True, timeout=20, check=True
        ).stdout
    except (OSError, subprocess.SubprocessError) as error:
        raise Unavailable(f"{deno} does not run ({error})", INSTALL, code="SANDBOX_UNAVAILABLE") from None
    numbers = re.search(r"deno (\d+)\.(\d+)\.(\d+)", told)
    return tuple(map(int, numbers.groups())) if numbers else (0,)
