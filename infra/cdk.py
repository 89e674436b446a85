"""The CDK's command line, pinned, on the Node that came with the Python packages: `python -m infra.cdk synth --all`."""

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
    """What runs the command line, installed first where it is missing or another lock's."""
    with (HERE / "package.json").open() as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # two processes may arrive here together
        wanted = hashlib.sha256((HERE / "package-lock.json").read_bytes()).hexdigest()
        if not STAMP.is_file() or STAMP.read_text() != wanted:
            install = [NODE, NPM, "ci", "--no-progress", "--no-audit", "--no-fund", "--loglevel=error"]
            if subprocess.run(install, cwd=HERE, stdout=sys.stderr, check=False).returncode:  # noqa: S603
                sys.exit("The CDK's command line could not be installed: npm says why above")
            STAMP.write_text(wanted)
    return [str(NODE), str(CDK), *arguments]


def environment(base: Mapping[str, str]) -> dict[str, str]:
    """The variables it runs with."""
    # Its notices are fetched from the network, and it reports how it is used unless it is told not to.
    return {**base, "CDK_DISABLE_CLI_TELEMETRY": "true", "PATH": f"{NODE.parent}{os.pathsep}{base.get('PATH', '')}"}


def main() -> None:
    """Become the command line, in the folder of `cdk.json`."""
    os.chdir(HERE.parent)
    wanted = command([*sys.argv[1:], "--no-notices"])
    os.execve(wanted[0], wanted, environment(os.environ))  # noqa: S606


if __name__ == "__main__":
    main()
