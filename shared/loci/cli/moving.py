"""`loci export` and `loci import`: move everything that an owner has out of Loci, and into it."""

import json
import os
import sys
import tempfile
from collections import Counter
from collections.abc import Generator, Iterable
from contextlib import AbstractContextManager, contextmanager
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import IO, TYPE_CHECKING, Annotated, Final

import typer

from loci.cli.destination import EndpointOption, url_or_stack
from loci.cli.terminal import (
    ConfigOption,
    DataOption,
    JsonOption,
    KeyOption,
    here_only,
    open_app,
    printable,
    short_list,
    shown_progress,
    value,
)
from loci.core.diagnosis import counted
from loci.core.errors import Refused
from loci.core.identity import LOCAL

if TYPE_CHECKING:
    from loci.app import App
    from loci.cli.remote_loci import RemoteLoci
    from loci.transfer.api import ImportTarget, ReportedItem, ReportProgress, TransferReport
    from loci.transfer.archive import Archive
    from loci.transfer.items import Loaded, UnreadableItem

    OpenedArchive = tuple[Archive, list[ReportedItem]]
    """An archive, and the items that could not be written into it."""

WEB: Final = ("http://", "https://")
WORDS = {
    "documents": "document",
    "deleted": "deleted document",
    "files": "version of a file",
    "capabilities": "capability",
    "servers": "tool server",
    "runs": "finished workflow",
    "results": "remembered result",
}
PLURALS = {"files": "versions of files", "capabilities": "capabilities"}
ELSEWHERE: Final = "Name it, on your machine: --stack, --from or --to"
SENT = "Sent"
"""The verb for items that went to another server."""
FIRST_TOLD = 64
"""Items after which a line reports the progress. The next lines come at twice as many items each."""
FileArgument = Annotated[
    Path | None, typer.Argument(metavar="FILE", help="The archive to write, a .zip.", show_default=False)
]
PathArgument = Annotated[
    Path | None, typer.Argument(metavar="PATH", help="An archive, or an export of another program.", show_default=False)
]


def export(
    file: FileArgument = None,
    source: Annotated[str | None, value("Export from the Loci server at URL.", "--from", "URL")] = None,
    to: Annotated[str | None, value("Send everything to the Loci server at URL.", "--to", "URL")] = None,
    stack: EndpointOption = None,
    key: KeyOption = None,
    okf: Annotated[
        Path | None, value("Write the documents as a bundle of the Open Knowledge Format.", "--okf", "DIR")
    ] = None,
    folder: Annotated[str | None, value("With --okf: only the documents below this folder.", metavar="FOLDER")] = None,
    results: Annotated[bool, typer.Option("--results", help="Include the results in the scratchpad.")] = False,
    replace: Annotated[bool, typer.Option("--replace", help="Replace FILE if it exists.")] = False,
    data: DataOption = None,
    config: ConfigOption = None,
    as_json: JsonOption = False,
) -> None:
    """Export everything that you have into one archive.

    The archive has documents with their history, files with their versions, capabilities, tool servers without their
    secrets, and finished workflows. A server may run meanwhile.

    With --to instead of FILE, send everything to another Loci server. With --from, export from another server. With
    --stack, export from that deployment. With --okf, write markdown files that any program reads.
    """
    if folder and not okf:
        raise Refused("--folder is for --okf", "Add --okf DIR, or leave it out")
    if okf is not None:
        if file or to or results or replace:
            raise Refused("An export with --okf goes into its DIR", "Leave out FILE, --to, --results and --replace")
        app = open_app(data, config, here_only(ELSEWHERE))
        if source := url_or_stack(source, stack):
            items = _server(app, source, key or os.environ.get("LOCI_KEY")).items(["documents"])
        else:
            items = app.transfer.items(LOCAL, ["documents"])
        _export_bundle(app, items, okf.expanduser(), folder, is_here=not source, as_json=as_json)
        return
    if stack and file is None:
        raise Refused("An export from a stack goes into a FILE", "Give FILE, or send this machine's data with --to URL")
    source = url_or_stack(source, stack)
    if (file is None) == (to is None) or (to and source):
        advice = "Give FILE, FILE and --from URL, --to URL, or --okf DIR"
        raise Refused("An export goes into a FILE, or to one server", advice)
    app = open_app(data, config, here_only(ELSEWHERE))
    names, key = app.transfer.names(with_results=results), key or os.environ.get("LOCI_KEY")
    own = app.transfer.items(LOCAL, names)
    if file is None:
        place = _server(app, str(to), key)
        _end(_import(app, _temporary_archive(app, own), place, SENT, dry_run=False, as_json=as_json))
        return
    if file.exists() and (file.is_dir() or not replace):
        raise Refused(f"{file} exists already", "Choose another name, or give --replace", code="FILE_EXISTS")
    with (
        _new_file(file) as opened,
        progress_report("Exported", as_json=as_json, file=str(file)) as (report, on_progress),
    ):
        items = _server(app, source, key).items(names) if source else own
        app.transfer.export(items, opened, on_progress, report)
    _end(report)


def _export_bundle(
    app: "App",
    items: "Iterable[Loaded | UnreadableItem]",
    to: Path,
    folder: str | None,
    *,
    is_here: bool,
    as_json: bool,
) -> None:
    from loci.transfer.okf import bundle_of, write_bundle

    bundle = bundle_of(items, folder, partial(app.code.computation_file, LOCAL) if is_here else None)
    write_bundle(bundle, to)
    if as_json:
        left_out = [asdict(one) for one in bundle.left_out]
        typer.echo(json.dumps({"documents": bundle.concepts, "files": sorted(bundle.files), "left_out": left_out}))
    else:
        typer.echo(f"Exported {counted(bundle.concepts, 'document')} to {printable(str(to))}.")
        typer.echo("\n".join(short_list("Left out", [f"{one.name}: {one.why}" for one in bundle.left_out])), nl=False)
    if bundle.left_out:
        raise typer.Exit(1)


def import_(
    path: PathArgument = None,
    source: Annotated[
        str | None,
        value(
            "The format of PATH: memory-server, claude or chats. Without PATH: the URL of a Loci server.",
            "--from",
            "WHAT",
        ),
    ] = None,
    to: Annotated[str | None, value("Import into the Loci server at URL.", "--to", "URL")] = None,
    stack: EndpointOption = None,
    key: KeyOption = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show what would be imported. Nothing changes.")] = False,
    into: Annotated[
        str | None,
        value("The folder for documents of another program. Default: its format.", metavar="FOLDER"),
    ] = None,
    programs: Annotated[
        bool,
        typer.Option(
            "--programs",
            help="Also import tool servers that start a program on this machine, or get its environment variables.",
        ),
    ] = False,
    data: DataOption = None,
    config: ConfigOption = None,
    as_json: JsonOption = False,
) -> None:
    """Import an archive of `loci export`, or an export of another program.

    Loci checks the whole archive before it changes anything, and overwrites nothing that exists. If an import is
    interrupted, run it again: it skips what was imported already. With --stack, import into that deployment. A folder
    of markdown, also of Obsidian or basic-memory, needs no import: loci ingest FOLDER.
    """
    from loci.transfer.items import Receiver

    if stack and path is None:
        raise Refused(
            "An import into a stack comes from a PATH", "Give PATH, or send this machine's data: loci export --to URL"
        )
    to = url_or_stack(to, stack)
    app = open_app(data, config, here_only(ELSEWHERE))
    key = key or os.environ.get("LOCI_KEY")
    place = _server(app, to, key) if to else app.transfer.target(Receiver(LOCAL, programs=programs))
    verb = "Would import" if dry_run else "Imported"
    try:
        report = _import(
            app, _archive_to_import(app, path, source, into, key), place, verb, dry_run=dry_run, as_json=as_json
        )
    finally:
        app.close()
    _end(report)


def _import(
    app: "App",
    source: "AbstractContextManager[OpenedArchive]",
    place: "ImportTarget",
    verb: str,
    *,
    dry_run: bool,
    as_json: bool,
) -> "TransferReport":
    with source as (archive, failed), progress_report(verb, as_json=as_json) as (report, on_progress):
        report.failed += failed
        app.transfer.import_archive(archive, place, report, on_progress, dry_run=dry_run)
    return report


@contextmanager
def _archive_to_import(
    app: "App", path: Path | None, source: str | None, into: str | None, key: str | None
) -> "Generator[OpenedArchive]":
    """The archive to import, and the items that could not be written into it."""
    from loci.transfer.archive import is_archive, reading

    is_web = source is not None and source.startswith(WEB)
    if (path is None) != is_web:
        raise Refused("An import comes from a PATH, or from one server", "Give PATH, or --from with its URL")
    if path is None or is_web:
        names = app.transfer.names(with_results=True)
        with _temporary_archive(app, _server(app, str(source), key).items(names)) as made:
            yield made
    elif source is None and is_archive(path):
        with reading(path, app.transfer.kinds) as archive:
            yield archive, []
    else:
        from loci.transfer.other_programs import notes_at

        with _temporary_archive(app, notes_at(path.expanduser(), source, into)) as made:
            yield made


@contextmanager
def _temporary_archive(app: "App", items: "Iterable[Loaded | UnreadableItem]") -> "Generator[OpenedArchive]":
    """A temporary archive of these items, and the items that could not be written into it."""
    from loci.transfer.archive import Archive

    with tempfile.TemporaryFile() as file:
        report = app.transfer.export(items, file, lambda _, __: None)
        yield Archive(file, app.transfer.kinds), report.failed


@contextmanager
def _new_file(file: Path) -> Generator[IO[bytes]]:
    """Write a temporary file that replaces this one when it is complete. After an error, the old file stays."""
    try:
        with tempfile.NamedTemporaryFile(dir=file.parent, prefix=f".{file.name}.", delete=False) as opened:
            try:
                yield opened
                opened.flush()
                os.fsync(opened.fileno())
                Path(opened.name).replace(file)
            except BaseException:
                Path(opened.name).unlink()
                raise
    except OSError as error:
        raise Refused(f"{file} cannot be written ({error.strerror})", "Choose another path, or make room") from error


def _server(app: "App", url: str, key: str | None) -> "RemoteLoci":
    from loci.cli.remote_loci import RemoteLoci

    return RemoteLoci(url, key, app.transfer.kinds)


def _end(report: "TransferReport") -> None:
    """Exit with code 1 if an item was not moved."""
    if report.failed or report.conflicts:
        raise typer.Exit(1)


@contextmanager
def progress_report(verb: str, *, as_json: bool, file: str = "") -> "Generator[tuple[TransferReport, ReportProgress]]":
    """Show the progress of a move, and its outcome at the end. Only then is the number of items known."""
    from loci.transfer.api import TransferReport

    report, next_told = TransferReport(), FIRST_TOLD
    taken = "to move" if verb.startswith("Would") else "moved"
    with shown_progress() as progress:

        def show(report: TransferReport, label: str) -> None:
            nonlocal next_told
            if sys.stderr.isatty():
                progress(report.done, report.done, label)
            elif report.done >= next_told:
                typer.echo(_so_far(report, taken), err=True)
                next_told = 2 * report.done

        yield report, show
    typer.echo(json.dumps(_view(report)) if as_json else _text(verb, report, file))


def _view(report: "TransferReport") -> dict[str, object]:
    """The outcome of a move as JSON."""
    named = {"conflicts": report.conflicts, "left_out": report.left_out, "failed": report.failed}
    lists = {name: [asdict(one) for one in some] for name, some in named.items()}
    return {"taken": dict(report.taken), "same": dict(report.same), **lists, "bytes": report.bytes}


def _so_far(report: "TransferReport", taken: str) -> str:
    counts = {
        taken: report.taken.total(),
        "there already": report.same.total(),
        "in conflict": len(report.conflicts),
        "left out": len(report.left_out),
        "failed": len(report.failed),
    }
    told = [f"{number:,} {what}" for what, number in counts.items() if number or what == taken]
    return f"{report.done:,} looked at: {', '.join(told)}"


def _text(verb: str, report: "TransferReport", file: str = "") -> str:
    """The outcome of a move as text."""
    where = f" to {file}" if file else ""
    place = "there" if verb == SENT else "here"
    were = "was" if report.same.total() == 1 else "were"
    same = f" {_counts(report.same)} {were} {place} already." if report.same else ""
    lines = [f"{verb} {_counts(report.taken) if report.taken else 'nothing'}{printable(where)}.{same}"]
    lines += short_list(f"Conflicts: what is {place} stays as it is", [_line(one) for one in report.conflicts])
    lines += short_list("Left out", [_line(one) for one in report.left_out])
    lines += short_list("Failed", [_line(one) for one in report.failed])
    return "\n".join(lines)


def _counts(counts: Counter[str]) -> str:
    told = [_counted(part, counts[part]) for part in WORDS if counts[part]]
    return " and ".join([", ".join(told[:-1]), told[-1]]) if len(told) > 1 else "".join(told)


def _counted(part: str, number: int) -> str:
    if number != 1 and part in PLURALS:
        return f"{number:,} {PLURALS[part]}"
    return counted(number, WORDS[part])


def _line(one: "ReportedItem") -> str:
    return f"{one.name}: {one.why}"
