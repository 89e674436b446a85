"""How `loci export` and `loci import` tell what they did."""

import json
import signal
import sys
from collections import Counter
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import asdict

import typer

from loci.cli.terminal import printable, short_list, shown_progress
from loci.core.finding import counted
from loci.documents.ingest.index_writer import Progress
from loci.transfer.moving import Moved, Named
from loci.transfer.unfinished import Unfinished

WORDS = {
    "documents": "document",
    "deleted": "deleted document",
    "files": "version of a file",
    "capabilities": "capability",
    "servers": "tool server",
    "runs": "finished workflow",
    "results": "remembered result",
}
SENT = "Sent"
"""The verb for things that went to another server."""
PLURALS = {"files": "versions of files", "capabilities": "capabilities"}


FIRST_TOLD = 64
"""Items after which a line tells how far it is; the next ones come at twice as many."""


class Shown:
    """Tells how a move goes on, and how it ended."""

    def __init__(self, progress: Progress, taken: str) -> None:
        self._progress = progress
        self._taken = taken
        self._next = FIRST_TOLD
        self.moved: Moved | None = None
        self.file: str | None = None

    def show(self, moved: Moved, file: str | None = None) -> None:
        """Tell this at the end, also if it is interrupted."""
        self.moved, self.file = moved, file

    def told(self, moved: Moved, label: str) -> None:
        """Tell how far it is: nobody knows of how many."""
        done = moved.done
        if sys.stderr.isatty():
            self._progress(done, done, label)
        elif done >= self._next:
            typer.echo(_so_far(moved, self._taken), err=True)
            self._next = 2 * done


@contextmanager
def telling(verb: str, *, as_json: bool) -> Generator[Shown]:
    """Tell what has moved when it is over. Nothing is told if nothing was begun."""
    with shown_progress() as progress:
        shown = Shown(progress, "to move" if verb.startswith("Would") else "moved")
        yield shown
    if shown.moved is not None:
        typer.echo(json.dumps(view(shown.moved)) if as_json else text(verb, shown.moved, shown.file))


@contextmanager
def going_on(part: Unfinished) -> Generator[None]:
    """Tell what there is of an export that was interrupted, and how this one goes on if it is.

    SIGTERM ends it as Ctrl-C does.
    """
    if part.fault:
        typer.echo(printable(f"Begins again: {part.fault}."), err=True)
    elif part.found:
        typer.echo(
            f"Goes on: {counted(part.found, 'file')} of the archive {_were(part.found)} there already.", err=True
        )
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    except KeyboardInterrupt:
        if part.is_worth_keeping:
            typer.echo(printable(f"Interrupted. {part.advice}."), err=True)
        raise
    finally:
        signal.signal(signal.SIGTERM, before)


def _so_far(moved: Moved, taken: str) -> str:
    """How many of the items were moved, and what became of the others."""
    counts = {
        taken: moved.taken.total(),
        "there already": moved.same.total(),
        "in conflict": len(moved.conflicts),
        "left out": len(moved.left_out),
        "failed": len(moved.failed),
    }
    told = [f"{number:,} {what}" for what, number in counts.items() if number or what == taken]
    return f"{moved.done:,} looked at: {', '.join(told)}"


def view(moved: Moved) -> dict[str, object]:
    """The outcome of a move, for programs."""
    return {
        "taken": dict(moved.taken),
        "same": dict(moved.same),
        "conflicts": [asdict(one) for one in moved.conflicts],
        "left_out": [asdict(one) for one in moved.left_out],
        "failed": [asdict(one) for one in moved.failed],
        "bytes": moved.bytes,
    }


def text(verb: str, moved: Moved, file: str | None = None) -> str:
    """The outcome of a move, for people."""
    where = f" to {file}" if file else ""
    place = "there" if verb == SENT else "here"
    same = f" {_counts(moved.same)} {_were(moved.same.total())} {place} already." if moved.same else ""
    lines = [f"{verb} {_counts(moved.taken) if moved.taken else 'nothing'}{printable(where)}.{same}"]
    lines += short_list(f"Conflicts: what is {place} stays as it is", [_line(one) for one in moved.conflicts])
    lines += short_list("Left out", [_line(one) for one in moved.left_out])
    lines += short_list("Failed", [_line(one) for one in moved.failed])
    return "\n".join(lines)


def _were(number: int) -> str:
    return "was" if number == 1 else "were"


def _counts(counts: Counter[str]) -> str:
    told = [_counted(part, counts[part]) for part in WORDS if counts[part]]
    return " and ".join([", ".join(told[:-1]), told[-1]]) if len(told) > 1 else "".join(told)


def _counted(part: str, number: int) -> str:
    if number != 1 and part in PLURALS:
        return f"{number:,} {PLURALS[part]}"
    return counted(number, WORDS[part])


def _line(one: Named) -> str:
    return f"{one.name}: {one.why}"
