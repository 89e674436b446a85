"""`loci skills export`: write skills as folders, which clients that read skills from files load."""

import hashlib
import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from loci.cli.destination import OwnersTools, for_owner
from loci.cli.terminal import JsonOption, printable
from loci.core.diagnosis import counted
from loci.core.errors import Refused

if TYPE_CHECKING:
    from loci.mcp.skills import Skill

MARK: Final = 'metadata:\n  loci-digest: "{}"\n'
MARKED: Final = re.compile(MARK.format("([0-9a-f]{64})"))
FRONT: Final = "---\n"
EXAMPLES: Final = """Example:

  loci skills export ~/.claude/skills"""
FolderArgument = Annotated[Path, typer.Argument(metavar="DIR", help="The folder of skills.", show_default=False)]

cli = typer.Typer(
    help="Write skills for clients that read them from files: how Loci's tools are used, and code that worked.",
    no_args_is_help=True,
    rich_markup_mode=None,
)


@cli.callback()
def skills() -> None:
    """Write skills for clients that read them from files: how Loci's tools are used, and code that worked."""


@cli.command(epilog=EXAMPLES)
@for_owner
def export(
    folder: FolderArgument,
    *,
    opened: OwnersTools,
    as_json: JsonOption = False,
) -> None:
    """Write each skill as DIR/NAME/SKILL.md.

    There is one for documents, files and procedures each, and one for each capability that has proved itself, with the
    runs in which it worked. Run it again to renew them. Nothing is written if a file is in the way that Loci did not
    write, or that was edited since.
    """
    from loci.gateway.own_skills import all_skills  # slow to load

    texts = {
        folder.expanduser() / one.name / "SKILL.md": _marked(one)
        for one in all_skills(opened.tools.capabilities, opened.owner)
    }
    try:
        known = {file: file.read_bytes() if file.exists() else b"" for file in texts}
        if foreign := [str(file) for file, old in known.items() if old and not _is_own(old)]:
            what = f"Loci did not write {', '.join(foreign)}, or somebody edited it"
            raise Refused(what, "Move it away, or choose another folder", code="FILE_EXISTS")
        changed = [file for file, text in texts.items() if known[file] != text]
        for file in changed:
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(texts[file])
    except OSError as error:
        raise Refused(
            f"{folder} cannot be written ({error.strerror})", "Choose another folder, or make room"
        ) from error
    same = [file for file in texts if file not in changed]
    if as_json:
        typer.echo(json.dumps({"written": [*map(str, changed)], "unchanged": [*map(str, same)]}))
        return
    for file in changed:
        typer.echo(printable(f"Wrote {file}"))
    if same:
        typer.echo(f"{counted(len(same), 'skill')} had not changed.")


def _marked(skill: "Skill") -> bytes:
    """The file of the skill, with its digest: later, it tells whether the file is still as Loci wrote it."""
    before, front, body = skill.text.split(FRONT, 2)
    mark = MARK.format(hashlib.sha256(skill.text.encode()).hexdigest())
    return f"{before}{FRONT}{front}{mark}{FRONT}{body}".encode()


def _is_own(file: bytes) -> bool:
    """True if Loci wrote this file."""
    text = file.decode("utf-8", "replace")
    found = MARKED.search(text)
    if found is None:
        return False
    plain = text[: found.start()] + text[found.end() :]
    return hashlib.sha256(plain.encode()).hexdigest() == found[1]
