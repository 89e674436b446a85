"""`loci ingest`: folders and files into the library."""

import json
import sys
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from typing import Annotated

import typer

from loci.cli.opened import opened
from loci.cli.options import ConfigOption, DataOption, JsonOption
from loci.cli.terminal import printable
from loci.documents.writer import Progress
from loci.errors import Refused
from loci.model.documents import Summary
from loci.model.identity import LOCAL
from loci.settings import UPLOADS_OF_LOCAL, Settings

SHOWN = 20


def ingest(
    paths: Annotated[
        list[str], typer.Argument(metavar="PATH...", help="Folders and files: .md, .markdown, .mdx and .txt.")
    ],
    data: DataOption = None,
    config: ConfigOption = None,
    as_json: JsonOption = False,
) -> None:
    """Take documents in: what is new or changed below each PATH, and out what is gone there.

    A server that runs sees it at once. What was interrupted is completed by the next time.
    """
    app = opened(data, config, _need_files)
    with _shown_progress() as progress:
        summary = app.ingest.run(LOCAL, paths, progress)
    typer.echo(json.dumps(_view(summary)) if as_json else _text(summary))
    if summary.failed:
        raise typer.Exit(1)


def _need_files(settings: Settings) -> None:
    if settings.mode != "embedded":
        upload = f"aws s3 sync FOLDER s3://{settings.bucket or 'BUCKET'}/{UPLOADS_OF_LOCAL}"
        raise Refused("On AWS documents come from the bucket", f"Upload them: {upload}", code="NOT_EMBEDDED")


@contextmanager
def _shown_progress() -> Generator[Progress, None, None]:
    """A bar on a terminal; elsewhere a line at each tenth of the way. Both on standard error."""
    if not sys.stderr.isatty():
        yield _plain
        return
    from rich.console import Console  # 0.1 s, for terminals only
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (BarColumn(), MofNCompleteColumn(), TimeRemainingColumn(), TextColumn("{task.description}", markup=False))
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("", total=None)
        yield lambda done, total, path: bar.update(task, completed=done, total=total, description=printable(path))


def _plain(done: int, total: int, path: str) -> None:  # noqa: ARG001
    if done == total or done * 10 // total > (done - 1) * 10 // total:
        typer.echo(f"{done:,} of {total:,}", err=True)


def _view(summary: Summary) -> dict[str, object]:
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
        "problems": [{"path": path, **asdict(problem)} for path, problem in summary.problems],
    }


def _text(summary: Summary) -> str:
    counts = (
        f"{summary.seen:,} seen: {summary.processed:,} processed, {summary.unchanged:,} unchanged,"
        f" {len(summary.failed):,} failed. {summary.removed:,} removed."
    )
    model = (
        f"{summary.embedded:,} embedded now by {summary.model}" if summary.model else "found by words: no model is here"
    )
    lines = [counts, *([f"{summary.chunks:,} passages, {model}."] if summary.processed else [])]
    lines += _list("Failed", [f"{one.path}: {one.reason}" for one in summary.failed])
    lines += _list("Left out", [f"{one.path}: {one.reason}" for one in summary.skipped])
    lines += _list("Taken in, with a problem", [f"{path}: {problem}" for path, problem in summary.problems])
    return "\n".join(lines)


def _list(title: str, lines: Sequence[str]) -> list[str]:
    more = [f"  and {len(lines) - SHOWN:,} more: --json lists them all"] if len(lines) > SHOWN else []
    return [f"{title}:", *(f"  {printable(line)}" for line in lines[:SHOWN]), *more] if lines else []
