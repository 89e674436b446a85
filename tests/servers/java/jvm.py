"""The Java to run the servers with."""

import os
import re
import shutil
import subprocess
from contextlib import suppress
from pathlib import Path

from tests.servers.errors import NotInstalled

OLDEST = 17
INSTALLED = Path("/usr/lib/jvm")
VERSION = re.compile(r'version "(?:1\.)?(\d+)')  # Java 8 calls itself 1.8
# One compiler and one collector thread: on two cores a node then starts in half the time, in less memory.
LIGHT = ("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-XX:-UsePerfData")


def java(oldest: int = OLDEST) -> str:
    """The program `java`: JAVA_HOME's, else the one on the path. Where that is too old for a server, another's here."""
    home = os.environ.get("JAVA_HOME")
    found = str(Path(home, "bin", "java")) if home else shutil.which("java")
    try:
        return _not_older(found, oldest)
    except NotInstalled:
        for other in sorted(INSTALLED.glob("*/bin/java")) if oldest > OLDEST else ():
            with suppress(NotInstalled):
                return _not_older(str(other), oldest)
        raise


def _not_older(found: str | None, oldest: int) -> str:
    wanted = f"it needs Java {oldest} or newer, as a JDK (Debian: apt install openjdk-{oldest}-jdk-headless)"
    if found is None:
        raise NotInstalled(f"{wanted}, and none is on the path")
    try:
        told = subprocess.run([found, "-version"], capture_output=True, text=True, check=True).stderr
    except (OSError, subprocess.CalledProcessError):
        raise NotInstalled(f"{wanted}, and {found} does not start") from None
    version = VERSION.search(told)
    if version is None or int(version[1]) < oldest:
        raise NotInstalled(f"{wanted}, and {found} is another: {told.splitlines()[0]}")
    return found
