"""The CDK's command line, pinned, on the Node of the Python packages: `python -m infra.cdk synth --all`."""

import fcntl
import hashlib
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from infra.node import NODE, NPM

HERE = Path(__file__).resolve().parent
CDK = HERE / "node_modules" / "aws-cdk" / "bin" / "cdk"
STAMP = HERE / "node_modules" / ".installed"


def command(arguments: Sequence[str]) -> list[str]:
    """Return the command; install the command line first if it is missing or does not fit the lock."""
    with (HERE / "package.json").open() as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # two processes may do this at the same time
        wanted = hashlib.sha256((HERE / "package-lock.json").read_bytes()).hexdigest()
        if not STAMP.is_file() or STAMP.read_text() != wanted:
            install = [NODE, NPM, "ci", "--no-progress", "--no-audit", "--no-fund", "--loglevel=error"]
            if subprocess.run(install, cwd=HERE, stdout=sys.stderr, check=False).returncode:  # noqa: S603
                sys.exit("The CDK's command line could not be installed: the output of npm above says why")
            STAMP.write_text(wanted)
    return [str(NODE), str(CDK), *arguments]


def environment(base: Mapping[str, str]) -> dict[str, str]:
    """Return the environment variables of the command line."""
    # By default it reports how it is used.
    return {**base, "CDK_DISABLE_CLI_TELEMETRY": "true", "PATH": f"{NODE.parent}{os.pathsep}{base.get('PATH', '')}"}


def main() -> None:
    """Replace this process by the command line, in the folder of `cdk.json`."""
    os.chdir(HERE.parent)
    wanted = command([*sys.argv[1:], "--no-notices"])
    os.execve(wanted[0], wanted, environment(os.environ))  # noqa: S606


if __name__ == "__main__":
    main()
