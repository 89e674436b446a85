"""`loci ingest`: add folders and files to the library, on this machine or on another Loci server."""

import json
import os
from collections.abc import Sequence
from dataclasses import asdict
from typing import Annotated

import typer

from loci.cli.terminal import (
    ConfigOption,
    DataOption,
    JsonOption,
    KeyOption,
    here_only,
    kept_line,
    left_out_lines,
    open_app,
    short_list,
    shown_progress,
    value,
)
from loci.core.identity import LOCAL
from loci.core.settings import load_settings
from loci.core.storage_keys import UPLOADS_OF_LOCAL
from loci.documents.ingest.folder_scan import FolderScan
from loci.documents.ingest.outcome import IngestSummary

INTERRUPTED = 130


def ingest(
    paths: Annotated[
        list[str], typer.Argument(metavar="PATH...", help="Folders and files: .md, .markdown, .mdx and .txt.")
    ],
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
    """
    if to is not None:
        scan = FolderScan(load_settings({"data": data}, config).use_gitignore)
        _send(paths, to, key or os.environ.get("LOCI_KEY"), scan, as_json=as_json)
        return
    app = open_app(data, config, here_only(f"Upload them: aws s3 sync FOLDER s3://BUCKET/{UPLOADS_OF_LOCAL}"))
    with shown_progress() as progress:
        summary = app.documents.ingest(LOCAL, paths, progress)
    typer.echo(json.dumps(_view(summary)) if as_json else _text(summary))
    if summary.failed:
        raise typer.Exit(1)


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
    lines = [counts, *([f"{summary.chunks:,} passages, {model}."] if summary.processed else [])]
    lines += left_out_lines(summary.left_out)
    lines += [kept_line(one) for one in summary.kept]
    lines += short_list("Failed", [f"{one.path}: {one.reason}" for one in summary.failed])
    lines += short_list("Skipped", [f"{one.path}: {one.reason}" for one in summary.skipped])
    lines += short_list("Ingested with a problem", [f"{path}: {problem}" for path, problem in summary.problems])
    return "\n".join(lines)


def _send(paths: Sequence[str], url: str, key: str | None, scan: FolderScan, *, as_json: bool) -> None:
    """Synchronise these folders and files to another server. The exit code is 1 if a document failed."""
    from loci.cli.folder_sync import FolderSync, sources, text, view  # only `--to` needs them

    folders = sources(paths)
    with shown_progress() as progress:
        sync = FolderSync(url, key, progress, scan)
        is_complete = False
        try:
            for folder in folders:
                sync.run(folder)
            is_complete = True
        except KeyboardInterrupt:
            raise typer.Exit(INTERRUPTED) from None
        finally:
            if is_complete or sync.summary.seen:
                typer.echo(json.dumps(view(sync.summary)) if as_json else text(sync.summary))
    if sync.summary.failed or sync.summary.not_removed:
        raise typer.Exit(1)
