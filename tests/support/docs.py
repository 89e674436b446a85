"""The parts of the documentation that the program itself knows. Renew them: python -m tests.support.docs."""

import os
import subprocess
import sys
from pathlib import Path
from typing import cast

from loci.core.settings import PREFIX, Settings

DOCS = Path(__file__).parents[2] / "docs"
COMMANDS = (
    *("", "serve", "ingest", "watch", "search", "graph", "forget", "doctor"),
    *("models", "models list", "models pull", "models check"),
    *("keys", "keys create", "keys list", "keys revoke"),
    *("runner", "runner install"),
)

CONFIGURATION = """\
# Configuration

A setting comes from the command line, else from the environment, else from `config.toml` in the data folder (or from
the file that `--config` or `LOCI_CONFIG` names), else it has its default. A list is an array in the file, and
separated by commas in the environment.

| in `config.toml` | in the environment | default | what it is |
|---|---|---|---|
"""
FOLDERS = {"data": "the user's data folder: `~/.local/share/loci` on Linux", "models": "the user's cache folder"}
FOLDERS["runner"] = "beside Loci's own packages"


def configuration() -> str:
    """The page on settings."""
    rows = [
        (f"`{name}`", f"`{PREFIX}{name.upper()}`", FOLDERS.get(name) or _shown(field.default), field.description)
        for name, field in Settings.model_fields.items()
    ]
    return CONFIGURATION + "".join(f"| {' | '.join(map(str, row))} |\n" for row in rows)


def command_line() -> str:
    """The page on commands."""
    parts = [f"\n## loci {name}".rstrip() + f"\n\n```text\n{_help(name)}```\n" for name in COMMANDS]
    return "# Command line\n\nEach of these is what `--help` prints.\n" + "".join(parts)


def _help(command: str) -> str:
    return subprocess.run(
        [sys.executable, "-m", "loci", *command.split(), "--help"],
        env={**os.environ, "COLUMNS": "90", "TERMINAL_WIDTH": "90"},
        capture_output=True,
        text=True,
        check=True,
    ).stdout


def _shown(default: object) -> str:
    match default:
        case None | ():
            return "none"
        case str() | int() | float():
            return f"`{default}`"
        case _:
            return f"`{', '.join(cast('tuple[str, ...]', default))}`"


PAGES = {"configuration.md": configuration, "command-line.md": command_line}


if __name__ == "__main__":
    for name, page in PAGES.items():
        (DOCS / name).write_text(page(), "utf-8")
