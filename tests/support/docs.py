"""The pages of the documentation that are made from the program. Renew them: python -m tests.support.docs."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import cast

from pydantic.fields import FieldInfo
from typer.testing import CliRunner

from loci.cli.main import cli
from loci.core.settings import PREFIX, AwsSettings, Settings
from tests.support.docs_parts import PARTS, renewed

DOCS = Path(__file__).parents[2] / "docs"
COMMANDS = (
    *("", "serve", "ingest", "add", "watch", "reindex", "search", "graph", "forget", "doctor", "call"),
    *("approve", "pin", "connect", "export", "import"),
    *("files", "files list", "files show", "files search", "files read", "files forget"),
    *("tools", "tools add", "tools import", "tools list", "tools test", "tools log", "tools remove"),
    *("tools secret", "tools login", "tools logout"),
    *("tools capabilities", "tools capabilities list", "tools capabilities show", "tools capabilities remove"),
    *("models", "models list", "models pull", "models check"),
    *("keys", "keys create", "keys list", "keys revoke"),
    *("clients", "clients list", "clients revoke"),
    *("runner", "runner install"),
    *("service", "service install", "service uninstall", "service status"),
)

CONFIGURATION = """\
# Configuration

Loci looks for a setting on the command line, then in the environment, then in `config.toml` in the data folder (or in
the file that `--config` or `LOCI_CONFIG` names), and else uses the default. Write a list as an array in the file, and
separated by commas in the environment.

"""
DEPLOYED = """
The templates set these of a deployment on AWS. In `cdk.json` a stage names secrets with those that end in `_from`.

"""
FOLDERS = {"data": "the user's data folder: `~/.local/share/loci` on Linux", "models": "the user's cache folder"}
FOLDERS["runner"] = "`runner` in the environment that Loci is installed in"


def configuration() -> str:
    """Return the page on settings."""
    chosen = {name: field for name, field in Settings.model_fields.items() if name != "aws"}
    return CONFIGURATION + _table(chosen) + DEPLOYED + _table(AwsSettings.model_fields)


def _table(fields: Mapping[str, FieldInfo]) -> str:
    rows = [
        (f"`{name}`", f"`{PREFIX}{name.upper()}`", FOLDERS.get(name) or _shown(field.default), field.description)
        for name, field in fields.items()
    ]
    head = "| in `config.toml` | in the environment | default | meaning |\n|---|---|---|---|\n"
    return head + "".join(f"| {' | '.join(map(str, row))} |\n" for row in rows)


def command_line() -> str:
    """Return the page on commands."""
    parts = [f"\n## loci {name}".rstrip() + f"\n\n```text\n{_help(name)}```\n" for name in COMMANDS]
    return "# Command line\n\nThis is what `--help` prints for each command.\n" + "".join(parts)


def _help(command: str) -> str:
    """As on a terminal of 80 columns, of which two stay free."""
    ended = CliRunner().invoke(cli, [*command.split(), "--help"], prog_name="loci", terminal_width=78)
    assert ended.exit_code == 0, ended.output
    return ended.output


def _shown(default: object) -> str:
    match default:
        case None | ():
            return "none"
        case str() | int() | float():
            return f"`{default}`"
        case _:
            return f"`{', '.join(cast('tuple[str, ...]', default))}`"


def blocks_of(page: str, language: str) -> list[str]:
    """The examples of a page in that language."""
    return re.findall(rf"^```{language}\n(.*?)^```$", (DOCS / page).read_text("utf-8"), re.MULTILINE | re.DOTALL)


def lines_of(page: str, begin: str) -> list[str]:
    """The lines for a terminal on a page that begin so."""
    lines = (line.removeprefix("$ ") for block in blocks_of(page, "console") for line in block.splitlines())
    return [line for line in lines if line.startswith(begin)]


PAGES = {"configuration.md": configuration, "command-line.md": command_line}


if __name__ == "__main__":
    for name, page in PAGES.items():
        (DOCS / name).write_text(page(), "utf-8")
    for name in PARTS:
        (DOCS / name).write_text(renewed(DOCS / name), "utf-8")
