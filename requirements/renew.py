"""Renew the hash-pinned locks from pyproject.toml. They record no download address. Run by `make lock`."""

import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent
LOCKS = {
    "laptop.lock": ["--group", "build"],
    "dev.lock": ["--extra", "aws", "--group", "build", "--group", "dev", "--constraint", "requirements/laptop.lock"],
}
OPTIONS = ["--universal", "--python-version", "3.11", "--generate-hashes", "--no-header", "--no-annotate", "--quiet"]


def main() -> None:
    """Write each lock in turn; the second is bound to the first's versions."""
    uv = Path(sys.executable).with_name("uv")
    for name, what in LOCKS.items():
        command = [uv, "pip", "compile", "pyproject.toml", *OPTIONS, *what, *sys.argv[1:], "--output-file", HERE / name]
        subprocess.run(command, check=True, cwd=HERE.parent)  # noqa: S603


if __name__ == "__main__":
    main()
