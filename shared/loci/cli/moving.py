"""`loci export` and `loci import`: everything that an owner has, out of Loci and into it."""

import time
from collections.abc import Generator
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from loci.cli.terminal import ConfigOption, DataOption, JsonOption, open_app
from loci.core.errors import Refused
from loci.core.identity import LOCAL
from loci.core.json import iso
from loci.core.settings import Settings

if TYPE_CHECKING:
    from loci.app import App
    from loci.transfer.places import Origin


class Keep(StrEnum):
    """What an import does with things in whose place something else is."""

    HERE = "here"
    BOTH = "both"


def export(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="The archive to write, a .zip.")],
    results: Annotated[bool, typer.Option("--results", help="Also remembered results: the scratchpad.")] = False,
    replace: Annotated[bool, typer.Option("--replace", help="Replace FILE if it is there.")] = False,
    data: DataOption = None,
    config: ConfigOption = None,
    as_json: JsonOption = False,
) -> None:
    """Export everything that you have into one archive of plain files.

    Documents with their history, files with their versions, capabilities, tool servers without their secrets, and
    finished workflows. A server may run meanwhile.
    """
    from loci.cli.moving_text import telling
    from loci.transfer.archive_writer import writing
    from loci.transfer.moving import Mover

    file = _checked_file(file, replace=replace)
    app = open_app(data, config, _embedded)
    transfer = app.transfer
    with telling("Exported", as_json=as_json) as shown:
        origin = transfer.of(LOCAL, transfer.names(with_results=results))
        mover = Mover(origin, transfer.parts, shown.told)
        shown.show(mover.moved, str(file))
        with writing(file, transfer.parts, lambda: iso(time.time())) as writer:
            mover.into_archive(writer)
    if mover.moved.failed:
        raise typer.Exit(1)


def import_(
    path: Annotated[
        Path, typer.Argument(metavar="PATH", help="An archive, or what another program has.", show_default=False)
    ],
    keep: Annotated[
        Keep | None,
        typer.Option(
            help="What to do with things in whose place something else is: keep what is here, or both."
            " Default: here, and the exit code is 1.",
            show_default=False,
        ),
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show what would be imported. Nothing changes.")] = False,
    programs: Annotated[
        bool, typer.Option("--programs", help="Also tool servers that start a program of this machine.")
    ] = False,
    data: DataOption = None,
    config: ConfigOption = None,
    as_json: JsonOption = False,
) -> None:
    """Import an archive of `loci export`, or the notes of another program.

    An archive is checked from end to end before anything changes. What is here already stays, and nothing is
    overwritten. If an import is interrupted, the same command goes on.
    """
    from loci.cli.moving_text import telling
    from loci.transfer.items import Wish
    from loci.transfer.moving import Mover

    app = open_app(data, config, _embedded)
    wish = Wish(both=keep is Keep.BOTH, programs=programs)
    try:
        with _given(app, path) as origin, telling("Would import" if dry_run else "Imported", as_json=as_json) as shown:
            mover = Mover(origin, app.transfer.parts, shown.told)
            shown.show(mover.moved)
            mover.into(app.transfer.of(LOCAL), wish, dry_run=dry_run)
    finally:
        app.close()
    if mover.moved.failed or (mover.moved.conflicts and keep is None):
        raise typer.Exit(1)


@contextmanager
def _given(app: "App", path: Path) -> "Generator[Origin]":
    """What the path has."""
    from loci.transfer.archive_reader import reading

    with reading(path, app.transfer.parts) as archive:
        yield archive


def _checked_file(file: Path, *, replace: bool) -> Path:
    if file.exists() and (file.is_dir() or not replace):
        raise Refused(f"{file} is there already", "Choose another name, or give --replace", code="FILE_EXISTS")
    return file


def _embedded(settings: Settings) -> None:
    if settings.mode != "embedded":
        raise Refused("These are the settings of a deployment on AWS", "Name its URL, on your machine")
