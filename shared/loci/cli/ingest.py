"""`loci ingest`: folders and files into the library."""

import json
import os
from dataclasses import asdict
from typing import Annotated

import typer

from loci.cli.open_app import opened
from loci.cli.options import ConfigOption, DataOption, JsonOption
from loci.cli.progress import kept_line, listed, shown_progress
from loci.core.errors import Refused
from loci.core.identity import LOCAL
from loci.core.settings import UPLOADS_OF_LOCAL, Settings
from loci.documents.document import IngestSummary


def ingest(
    paths: Annotated[
        list[str], typer.Argument(metavar="PATH...", help="Folders and files: .md, .markdown, .mdx and .txt.")
    ],
    to: Annotated[
        str | None, typer.Option("--to", metavar="URL", help="The endpoint of a Loci elsewhere.", show_default=False)
    ] = None,
    key: Annotated[
        str | None,
        typer.Option("--key", metavar="KEY", help="An API key that is good there (or LOCI_KEY).", show_default=False),
    ] = None,
    data: DataOption = None,
    config: ConfigOption = None,
    as_json: JsonOption = False,
) -> None:
    """Take documents in: what is new or changed below each PATH, and out what is gone there.

    A server that runs sees it at once. What was interrupted is completed by the next time.

    With --to, a Loci elsewhere takes them in: only what it does not have is sent.
    """
    if to is not None:
        from loci.cli.ingest_to import ingest_elsewhere  # nothing of it is needed here

        ingest_elsewhere(paths, to, key or os.environ.get("LOCI_KEY"), as_json=as_json)
        return
    app = opened(data, config, _need_files)
    with shown_progress() as progress:
        summary = app.documents.ingest.run(LOCAL, paths, progress)
    typer.echo(json.dumps(_view(summary)) if as_json else _text(summary))
    if summary.failed:
        raise typer.Exit(1)


def _need_files(settings: Settings) -> None:
    if settings.mode != "embedded":
        upload = f"aws s3 sync FOLDER s3://{settings.bucket or 'BUCKET'}/{UPLOADS_OF_LOCAL}"
        raise Refused("On AWS documents come from the bucket", f"Upload them: {upload}", code="NOT_EMBEDDED")


def _view(summary: IngestSummary) -> dict[str, object]:
    """The summary for programs: counts first, then the lists behind them."""
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
        "kept": [asdict(one) for one in summary.kept],
        "problems": [{"path": path, **asdict(problem)} for path, problem in summary.problems],
    }


def _text(summary: IngestSummary) -> str:
    counts = (
        f"{summary.seen:,} seen: {summary.processed:,} processed, {summary.unchanged:,} unchanged,"
        f" {len(summary.failed):,} failed. {summary.removed:,} removed."
    )
    model = (
        f"{summary.embedded:,} embedded now by {summary.model}" if summary.model else "found by words: no model is here"
    )
    lines = [counts, *([f"{summary.chunks:,} passages, {model}."] if summary.processed else [])]
    lines += [kept_line(one) for one in summary.kept]
    lines += listed("Failed", [f"{one.path}: {one.reason}" for one in summary.failed])
    lines += listed("Left out", [f"{one.path}: {one.reason}" for one in summary.skipped])
    lines += listed("Taken in, with a problem", [f"{path}: {problem}" for path, problem in summary.problems])
    return "\n".join(lines)
