"""`loci ingest`: add folders and files to the library, on this machine or on another Loci server."""

import json
import os
import sys
from collections.abc import Callable, Collection, Iterable, Sequence
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from loci.cli.terminal import (
    ConfigOption,
    DataOption,
    ExcludeOption,
    JsonOption,
    KeyOption,
    YesOption,
    here_only,
    kept_line,
    left_out_lines,
    open_app,
    printable,
    short_list,
    shown_progress,
    value,
)
from loci.core.diagnosis import counted
from loci.core.errors import Refused
from loci.core.identity import LOCAL
from loci.core.settings import load_settings
from loci.core.storage_keys import UPLOADS_OF_LOCAL
from loci.documents.checks import check_languages
from loci.documents.ingest.folder_scan import PLAIN_SCAN, FolderScan
from loci.documents.ingest.index_writer import no_progress
from loci.documents.ingest.local_files import LocalPath, is_below, local_path
from loci.documents.ingest.outcome import IngestSummary
from loci.sessions.consent import HOME, Consent

if TYPE_CHECKING:
    from loci.app import App

INTERRUPTED = 130
MANY_DOCUMENTS: Final = 5_000
MANY_BYTES: Final = 1_000_000_000


def ingest(
    paths: Annotated[
        list[str] | None, typer.Argument(metavar="PATH...", help="Folders and files: .md, .markdown, .mdx and .txt.")
    ] = None,
    sessions: Annotated[
        bool,
        typer.Option(
            "--sessions",
            help="Read the sessions of Claude Code, Codex, Gemini CLI and Cursor below your home folder, or in each"
            " PATH, and allow a server to go on with it.",
        ),
    ] = False,
    exclude_repository: Annotated[
        list[str] | None,
        value("Leave out the sessions in the repository NAME, from now on.", "--exclude-repository", "NAME"),
    ] = None,
    exclude: ExcludeOption = None,
    yes: YesOption = False,
    to: Annotated[str | None, value("Send the documents to the Loci server at URL.", "--to", "URL")] = None,
    key: KeyOption = None,
    data: DataOption = None,
    config: ConfigOption = None,
    as_json: JsonOption = False,
) -> None:
    """Ingest documents from folders and files.

    Loci adds the new and changed documents below each PATH, and removes those whose files are gone. A running server
    sees the result at once. If a run is interrupted, the next one completes it.

    With --to, send the documents to another Loci server. Documents that it has already are not sent.

    With --sessions, make a document of each session with a coding agent, without the secrets in it.
    """
    _check(paths or [], exclude_repository or [], sessions=sessions)
    app, gone, scan = None, None, None
    if sessions:
        app = open_app(data, config, here_only("Send them from your machine: --sessions --to URL"), exclude=exclude)
        gone = _collect(app, paths or [], exclude_repository or [], is_remembered=to is None)
        paths, scan = [app.sessions.folder.path], PLAIN_SCAN
    paths = paths or []
    if to is not None:
        settings = load_settings({"data": data, "exclude": exclude}, config)
        scan = scan or FolderScan(settings.use_gitignore, settings.exclude)
        _send(paths, to, key or os.environ.get("LOCI_KEY"), scan, yes=yes, as_json=as_json, gone=gone)
        return
    advice = here_only(f"Upload them: aws s3 sync FOLDER s3://BUCKET/{UPLOADS_OF_LOCAL}")
    app = app or open_app(data, config, advice, exclude=exclude)
    locations = [local_path(path) for path in paths]

    def confirm(files: Collection[str]) -> None:
        if not yes:
            confirm_new(app, locations, files)

    if exclude and app.settings.follow_folders:
        what = f"exclude = {json.dumps(exclude)}"
        typer.echo(
            printable(f"Write {what} into {app.settings.data / 'config.toml'}: servers watch the folders"), err=True
        )
    with shown_progress() as progress:
        summary = app.documents.ingest(LOCAL, paths, progress, confirm)
    typer.echo(json.dumps(_view(summary)) if as_json else _text(summary))
    if summary.processed and not as_json and (found := check_languages(app, LOCAL)):
        typer.echo(f"{found.what}. {found.advice}.")
    if summary.failed:
        raise typer.Exit(1)


def _collect(app: "App", paths: Sequence[str], excluded: Sequence[str], *, is_remembered: bool) -> Collection[str]:
    """Make documents of all sessions. Returns the paths of documents that were made once, and are out now."""
    folders = [one for one in paths if Path(one).expanduser().is_dir()]
    files = [one for one in paths if one not in folders]
    places = folders if paths else [HOME]
    before = app.sessions.consent(LOCAL)
    if is_remembered:
        consent = app.sessions.agree(LOCAL, places, excluded)
    else:
        consent = Consent(tuple(places), (*(before.excluded if before else ()), *excluded))
    with shown_progress() as progress:
        found = app.sessions.collect(LOCAL, consent, files, progress)
    told = f"{counted(len(found.written), 'session')} read, {found.unchanged:,} unchanged, {found.excluded:,} left out"
    typer.echo(f"{told}. Their texts are in {printable(app.sessions.folder.path)}", err=True)
    for line in short_list("Not read", found.unread):
        typer.echo(line, err=True)
    gone = app.sessions.gone(LOCAL)
    if not any(Path(app.sessions.folder.path).rglob("*.md")) and (is_remembered or not gone):
        where = ", ".join(paths) or "your home folder"
        raise Refused(f"No session is left in {where}", "Name the folder of the transcripts", code="NO_SESSIONS")
    return gone


def _check(paths: Sequence[str], excluded: Sequence[str], *, sessions: bool) -> None:
    if not paths and not sessions:
        raise Refused("There is nothing to ingest", "Name folders and files, or give --sessions", code="NO_PATH")
    if excluded and not sessions:
        raise Refused("Only sessions have repositories", "Give --sessions, too")


def confirm_new(app: "App", locations: Sequence[LocalPath], files: Iterable[str]) -> None:
    """Ask before folders with very many documents are ingested for the first time."""
    known = [one.path for one in app.documents.parts.folders.all(LOCAL)]
    if not all(is_below(one.path, known) for one in locations):
        _confirm_many(locations, {*files})


def _confirm_many(
    locations: Iterable[LocalPath], files: Collection[str], is_known: Callable[[LocalPath], bool] = lambda _: False
) -> None:
    """Ask if there are very many documents in these folders, and not all are known. Without a terminal, refuse."""
    size = 0
    for file in files:
        with suppress(OSError):
            size += os.lstat(file).st_size
    where = ", ".join(one.path for one in locations if one.is_folder)
    if not where or (len(files) <= MANY_DOCUMENTS and size <= MANY_BYTES) or all(map(is_known, locations)):
        return
    what = f"There are {len(files):,} documents in {where}, {size / 1e6:,.0f} MB"
    question = printable(f"{what}. (--exclude GLOB leaves some out.) Ingest all?")
    if not (sys.stdin.isatty() and typer.confirm(question, err=True)):
        raise Refused(what, "Go on with --yes, or leave some out with --exclude GLOB", code="MANY_DOCUMENTS")


def _view(summary: IngestSummary) -> dict[str, object]:
    """Return the summary as JSON: first the counts, then the lists."""
    return {
        "seen": summary.seen,
        "processed": summary.processed,
        "unchanged": summary.unchanged,
        "failed": len(summary.failed),
        "removed": summary.removed,
        "chunks": summary.chunks,
        "embedded": summary.embedded,
        "model": summary.model,
        "failures": [asdict(one) for one in summary.failed],
        "skipped": [asdict(one) for one in summary.skipped],
        "left_out": asdict(summary.left_out),
        "kept": [asdict(one) for one in summary.kept],
        "problems": [{"path": path, **asdict(problem)} for path, problem in summary.problems],
    }


def _text(summary: IngestSummary) -> str:
    counts = (
        f"{summary.seen:,} seen: {summary.processed:,} processed, {summary.unchanged:,} unchanged,"
        f" {len(summary.failed):,} failed. {summary.removed:,} removed."
    )
    model = (
        f"{summary.embedded:,} embedded now by {summary.model}"
        if summary.model
        else "searchable by words only: no model is installed"
    )
    lines = [counts, *([f"{counted(summary.chunks, 'passage')}, {model}."] if summary.processed else [])]
    lines += left_out_lines(summary.left_out)
    lines += [kept_line(one) for one in summary.kept]
    lines += short_list("Failed", [f"{one.path}: {one.reason}" for one in summary.failed])
    lines += short_list("Skipped", [f"{one.path}: {one.reason}" for one in summary.skipped])
    lines += short_list("Ingested with a problem", [f"{path}: {problem}" for path, problem in summary.problems])
    return "\n".join(lines)


def _send(
    paths: Sequence[str],
    url: str,
    key: str | None,
    scan: FolderScan,
    *,
    yes: bool,
    as_json: bool,
    gone: Collection[str] | None = None,
) -> None:
    """Synchronise these folders and files to another server. The exit code is 1 if a document failed.

    `gone`: the only documents to remove there. Without it, those whose files are not here.
    """
    from loci.cli.folder_sync import FolderSync, sources, text, view  # only `--to` needs them

    folders = {one: scan.of(one) for one in sources(paths)}
    if not yes:
        earlier = FolderSync(url, key, no_progress)
        files = {file for found in folders.values() for file in found.files}
        _confirm_many(folders, files, lambda one: bool(earlier.stored_hashes(one.name)))
    with shown_progress() as progress:
        sync = FolderSync(url, key, progress)
        is_complete = False
        try:
            for folder, found in folders.items():
                sync.run(folder, found, gone)
            is_complete = True
        except KeyboardInterrupt:
            raise typer.Exit(INTERRUPTED) from None
        finally:
            if is_complete or sync.summary.seen:
                typer.echo(json.dumps(view(sync.summary)) if as_json else text(sync.summary))
    if sync.summary.failed or sync.summary.not_removed:
        raise typer.Exit(1)
