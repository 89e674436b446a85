"""How `loci export` and `loci import` tell what they did."""

import json
import sys
from collections import Counter
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import asdict

import typer

from loci.cli.terminal import printable, short_list, shown_progress
from loci.core.finding import counted
from loci.documents.ingest.index_writer import Progress
from loci.transfer.api import Named, Report

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
SENT = "Sent"
"""The verb for things that went to another server."""
FIRST_TOLD = 64
"""Items after which a line tells how far it is; the next ones come at twice as many."""


class Shown:
    """Tells how a move goes on, and how it ended."""

    def __init__(self, progress: Progress, taken: str) -> None:
        self._progress = progress
        self._taken = taken
        self._next = FIRST_TOLD
        self.report = Report()
        self.file = ""

    def told(self, report: Report, label: str) -> None:
        """Tell how far it is: how many there are is known at the end."""
        if sys.stderr.isatty():
            self._progress(report.done, report.done, label)
        elif report.done >= self._next:
            typer.echo(_so_far(report, self._taken), err=True)
            self._next = 2 * report.done


@contextmanager
def telling(verb: str, *, as_json: bool) -> Generator[Shown]:
    """Tell the outcome when it is over."""
    with shown_progress() as progress:
        shown = Shown(progress, "to move" if verb.startswith("Would") else "moved")
        yield shown
    typer.echo(json.dumps(_view(shown.report)) if as_json else text(verb, shown.report, shown.file))


def _view(report: Report) -> dict[str, object]:
    """The outcome of a move, for programs."""
    named = {"conflicts": report.conflicts, "left_out": report.left_out, "failed": report.failed}
    lists = {name: [asdict(one) for one in some] for name, some in named.items()}
    return {"taken": dict(report.taken), "same": dict(report.same), **lists, "bytes": report.bytes}


def _so_far(report: Report, taken: str) -> str:
    counts = {
        taken: report.taken.total(),
        "there already": report.same.total(),
        "in conflict": len(report.conflicts),
        "left out": len(report.left_out),
        "failed": len(report.failed),
    }
    told = [f"{number:,} {what}" for what, number in counts.items() if number or what == taken]
    return f"{report.done:,} looked at: {', '.join(told)}"


def text(verb: str, report: Report, file: str = "") -> str:
    """The outcome of a move, for people."""
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


def _line(one: Named) -> str:
    return f"{one.name}: {one.why}"
