"""`loci export` and `loci import`: everything that an owner has, out of Loci and into it."""

import os
import shutil
import time
from collections.abc import Generator
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from loci.cli.stack_address import StackOption, url_or_stack
from loci.cli.terminal import ConfigOption, DataOption, JsonOption, KeyOption, open_app
from loci.core.errors import Refused
from loci.core.identity import LOCAL
from loci.core.json import JsonObject, iso
from loci.core.settings import Settings

if TYPE_CHECKING:
    from loci.app import App
    from loci.cli.remote_place import RemotePlace
    from loci.transfer.moving import Moved
    from loci.transfer.places import Origin

WEB: Final = ("http://", "https://")


class Keep(StrEnum):
    """The choices of an import for things in whose place something else is."""

    HERE = "here"
    BOTH = "both"


KeepOption = Annotated[
    Keep | None,
    typer.Option(
        help="If something else is in the place of a thing: keep what is here, or both. Default: what is here, and the"
        " exit code is 1.",
        show_default=False,
    ),
]
FileArgument = Annotated[
    Path | None, typer.Argument(metavar="FILE", help="The archive to write, a .zip.", show_default=False)
]
PathArgument = Annotated[
    Path | None,
    typer.Argument(metavar="PATH", help="An archive, or what another program keeps.", show_default=False),
]


def export(
    file: FileArgument = None,
    source: Annotated[
        str | None,
        typer.Option("--from", metavar="URL", help="Export what you have on the server at URL.", show_default=False),
    ] = None,
    to: Annotated[
        str | None,
        typer.Option("--to", metavar="URL", help="Send it to the Loci server at URL.", show_default=False),
    ] = None,
    stack: StackOption = None,
    key: KeyOption = None,
    results: Annotated[bool, typer.Option("--results", help="Also remembered results: the scratchpad.")] = False,
    replace: Annotated[bool, typer.Option("--replace", help="Replace FILE if it is there.")] = False,
    data: DataOption = None,
    config: ConfigOption = None,
    as_json: JsonOption = False,
) -> None:
    """Export everything that you have into one archive of plain files.

    Documents with their history, files with their versions, capabilities, tool servers without their secrets, and
    finished workflows. A server may run meanwhile.

    With --to instead of FILE, send all of it to another Loci server. With --from, export from one. With --stack,
    export from that deployment. If an export is interrupted, the same command goes on.
    """
    if stack and file is None:
        raise Refused("An export from a stack goes into a FILE", "Give FILE, or send what is here with --to URL")
    source = url_or_stack(source, stack)
    if (file is None) == (to is None) or (to and source):
        raise Refused("An export goes into a FILE, or to one server", "Give FILE, FILE and --from URL, or --to URL")
    app = open_app(data, config, _embedded)
    names, key = app.transfer.names(with_results=results), key or os.environ.get("LOCI_KEY")
    if file is None:
        moved = _sent(app, str(to), key, names, as_json=as_json)
    else:
        moved = _archived(app, _checked_file(file, replace=replace), source, key, names, as_json=as_json)
    _end(moved, is_settled=False)


def import_(
    path: PathArgument = None,
    source: Annotated[
        str | None,
        typer.Option(
            "--from",
            metavar="WHAT",
            help="What PATH is, if it does not show that: basic-memory, memory-server, obsidian or claude. Without"
            " PATH: the URL of a Loci server.",
            show_default=False,
        ),
    ] = None,
    to: Annotated[
        str | None,
        typer.Option("--to", metavar="URL", help="Import it on the Loci server at URL.", show_default=False),
    ] = None,
    stack: StackOption = None,
    key: KeyOption = None,
    keep: KeepOption = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show what would be imported. Nothing changes.")] = False,
    into: Annotated[
        str | None,
        typer.Option(
            metavar="FOLDER",
            help="The folder for documents of another program. Default: obsidian, claude, …",
            show_default=False,
        ),
    ] = None,
    programs: Annotated[
        bool,
        typer.Option(
            "--programs",
            help="Trust its tool servers: also those that start a program of this machine, or get its variables.",
        ),
    ] = False,
    data: DataOption = None,
    config: ConfigOption = None,
    as_json: JsonOption = False,
) -> None:
    """Import an archive of `loci export`, or the notes of another program.

    An archive is checked from end to end before anything changes. What is here stays, and nothing is overwritten. If
    an import is interrupted, the same command goes on. With --stack, import it into that deployment.
    """
    from loci.cli.moving_text import telling
    from loci.transfer.items import Wish
    from loci.transfer.moving import Mover

    if stack and path is None:
        raise Refused(
            "An import into a stack comes from a PATH", "Give PATH, or send what is here: loci export --to URL"
        )
    to = url_or_stack(to, stack)
    app = open_app(data, config, _embedded)
    key = key or os.environ.get("LOCI_KEY")
    wish = Wish(both=keep is Keep.BOTH, programs=programs)
    there = _server(app, to, key) if to else None
    try:
        with _given(app, path, source, into, key) as origin:
            with telling("Would import" if dry_run else "Imported", as_json=as_json) as shown:
                mover = Mover(origin, app.transfer.parts, shown.told)
                shown.show(mover.moved)
                mover.into(there or app.transfer.of(LOCAL), wish, dry_run=dry_run)
            if there and not dry_run:
                there.end()
    finally:
        app.close()
    _end(mover.moved, is_settled=keep is not None)


def _sent(app: "App", url: str, key: str | None, names: list[str], *, as_json: bool) -> "Moved":
    from loci.cli.moving_text import SENT, telling
    from loci.transfer.items import Wish
    from loci.transfer.moving import Mover

    there = _server(app, url, key)
    with telling(SENT, as_json=as_json) as shown:
        mover = Mover(app.transfer.of(LOCAL, names), app.transfer.parts, shown.told)
        shown.show(mover.moved)
        mover.into(there, Wish())
    there.end()
    return mover.moved


def _archived(
    app: "App", file: Path, source: str | None, key: str | None, names: list[str], *, as_json: bool
) -> "Moved":
    from loci.cli.moving_text import going_on, telling
    from loci.transfer.archive_writer import writing
    from loci.transfer.moving import Mover
    from loci.transfer.unfinished import unfinished

    kept = file.with_name(f".{file.name}.kept")
    origin = _server(app, source, key, names, kept) if source else app.transfer.of(LOCAL, names)
    # What comes from a server is kept in its own folder.
    of: JsonObject = {"data": str(app.settings.data.resolve()), "owner": LOCAL.key, "parts": [*names]}
    with (
        unfinished(file, None if source else of) as part,
        going_on(part),
        telling("Exported", as_json=as_json) as shown,
    ):
        mover = Mover(origin, app.transfer.parts, shown.told)
        with writing(part, app.transfer.parts, lambda: iso(time.time())) as writer:
            mover.into_archive(writer)
        shown.show(mover.moved, str(file))
    if source:
        shutil.rmtree(kept)
    return mover.moved


@contextmanager
def _given(app: "App", path: Path | None, source: str | None, into: str | None, key: str | None) -> "Generator[Origin]":
    """The origin of an import."""
    is_web = source is not None and source.startswith(WEB)
    if (path is None) != is_web:
        raise Refused("An import comes from a PATH, or from one server", "Give PATH, or --from with its URL")
    if path is None or is_web:
        yield _server(app, str(source), key, app.transfer.names(with_results=True))
        return
    from loci.transfer.archive_reader import is_archive, reading

    if source is None and is_archive(path):
        with reading(path, app.transfer.parts) as archive:
            yield archive
        return
    from loci.transfer.elsewhere.known import FromElsewhere

    yield FromElsewhere(path.expanduser(), source, into)


def _server(
    app: "App", url: str, key: str | None, wanted: list[str] | None = None, kept: Path | None = None
) -> "RemotePlace":
    from loci.cli.remote_place import RemotePlace

    return RemotePlace(url, key, app.transfer.parts, wanted or (), kept)


def _end(moved: "Moved", *, is_settled: bool) -> None:
    """The exit code is 1 if something did not come along, and nobody has said that this is fine."""
    if moved.failed or (moved.conflicts and not is_settled):
        raise typer.Exit(1)


def _checked_file(file: Path, *, replace: bool) -> Path:
    if file.exists() and (file.is_dir() or not replace):
        raise Refused(f"{file} is there already", "Choose another name, or give --replace", code="FILE_EXISTS")
    return file


def _embedded(settings: Settings) -> None:
    if settings.mode != "embedded":
        raise Refused(
            "These are the settings of a deployment on AWS", "Name it, on your machine: --stack, --from or --to"
        )
