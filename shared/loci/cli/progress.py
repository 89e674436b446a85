"""How long it still takes, and lists that are not endless: what commands that take documents in have in common."""

import sys
from collections.abc import Generator, Sequence
from contextlib import contextmanager

import typer

from loci.cli.terminal import printable
from loci.documents.document import MissingFolder
from loci.documents.ingest.index_writer import Progress

SHOWN = 20


@contextmanager
def shown_progress() -> Generator[Progress, None, None]:
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


def listed(title: str, lines: Sequence[str]) -> list[str]:
    """The first of them below the title; nothing where there are none."""
    more = [f"  and {len(lines) - SHOWN:,} more: --json lists them all"] if len(lines) > SHOWN else []
    return [f"{title}:", *(f"  {printable(line)}" for line in lines[:SHOWN]), *more] if lines else []


def kept_line(kept: MissingFolder) -> str:
    """What is said of a folder in which nothing is left."""
    known = f"{kept.documents:,} known from it {'is' if kept.documents == 1 else 'are'} kept until it is back"
    return printable(f"{kept.folder} holds no document now: {known} (or: loci forget {kept.folder})")
