"""The Java to run the servers with."""

import os
import re
import shutil
import subprocess
from pathlib import Path

from tests.servers.errors import NotInstalled

OLDEST = 17
WANTED = f"it needs Java {OLDEST} or newer, as a JDK (Debian: apt install openjdk-17-jdk-headless)"
# One compiler and one collector thread: on two cores a node then starts in half the time, in less memory.
LIGHT = ("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-XX:-UsePerfData")


def java() -> str:
    """The program `java`: JAVA_HOME's, else the one on the path."""
    home = os.environ.get("JAVA_HOME")
    found = str(Path(home, "bin", "java")) if home else shutil.which("java")
    if found is None:
        raise NotInstalled(f"{WANTED}, and none is on the path")
    try:
        told = subprocess.run([found, "-version"], capture_output=True, text=True, check=True).stderr
    except (OSError, subprocess.CalledProcessError):
        raise NotInstalled(f"{WANTED}, and {found} does not start") from None
    version = re.search(r'version "(?:1\.)?(\d+)', told)  # Java 8 calls itself 1.8
    if version is None or int(version[1]) < OLDEST:
        raise NotInstalled(f"{WANTED}, and {found} is another: {told.splitlines()[0]}")
    return found
