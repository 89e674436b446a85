"""What `loci watch` says of the folders that it follows, each thing once."""

import sys

import typer

from loci.cli.progress import kept_line
from loci.cli.terminal import printable
from loci.documents.document import IngestSummary
from loci.documents.ingest.watched_folder import FolderEvent, FolderIngested, FolderUnavailable, IngestPostponed

SHOWN = 20


class WatchMessages:
    """Told line by line, and counted."""

    def __init__(self) -> None:
        self._processed = self._removed = self._failed = 0
        self._begun = set[str]()
        self._lost = set[str]()
        self._postponed: dict[str, str] = {}

    def tell(self, folder: str, happening: FolderEvent) -> None:
        match happening:
            case FolderIngested(summary):
                self._tell_taken(folder, summary)
            case FolderUnavailable(is_empty):
                if folder in self._lost:  # the one that it lies in has said so
                    return
                self._lost.add(folder)
                what = "holds no document any more" if is_empty else "is not there"
                say(f"{folder} {what}: what is known from it is kept until it is back (or: loci forget {folder})")
            case IngestPostponed(reason):
                if self._postponed.get(folder) != reason:
                    self._postponed[folder] = reason
                    say(f"{folder}: {reason} It is tried again.")

    def in_all(self) -> str:
        """What was done since the start."""
        return f"{self._processed:,} processed, {self._removed:,} removed, {self._failed:,} failed"

    def _tell_taken(self, folder: str, summary: IngestSummary) -> None:
        failed = len(summary.failed)
        self._processed += summary.processed
        self._removed += summary.removed
        self._failed += failed
        self._postponed.pop(folder, None)
        is_first, is_back = folder not in self._begun, folder in self._lost
        self._begun.add(folder)
        self._lost.discard(folder)
        for kept in summary.kept:
            if kept.folder not in self._lost:
                self._lost.add(kept.folder)
                say(kept_line(kept))
        if is_first or is_back or summary.processed or summary.removed or failed:
            counts = f"{summary.processed:,} processed, {summary.unchanged:,} unchanged, {failed:,} failed."
            say(f"{folder}{' is back' if is_back else ''}: {counts} {summary.removed:,} removed.")
        for one in summary.failed[:SHOWN]:
            say(f"  {one.path}: {one.reason}")
        if failed > SHOWN:
            say(f"  and {failed - SHOWN:,} more")


def say(line: str) -> None:
    """A line, at once: somebody or a program may wait for it."""
    typer.echo(printable(line))
    sys.stdout.flush()
