"""`loci watch`: keep the documents of folders up to date."""

import signal
import sys
import threading
from collections.abc import Sequence
from contextlib import suppress
from types import FrameType
from typing import TYPE_CHECKING, Annotated, NoReturn

import typer

from loci.cli.file_events import FileEvents
from loci.cli.terminal import SHOWN, ConfigOption, DataOption, kept_line, open_app, printable, shown_progress
from loci.core.errors import Refused
from loci.core.identity import LOCAL
from loci.core.settings import UPLOADS_OF_LOCAL, Settings
from loci.documents.document import IngestSummary
from loci.documents.ingest.local_files import LocalPath, is_below, local_path
from loci.documents.ingest.watched_folder import (
    FolderEvent,
    FolderIngested,
    FolderUnavailable,
    IngestPostponed,
    WatchedFolder,
)

if TYPE_CHECKING:
    from loci.documents.api import Documents


def watch(
    paths: Annotated[
        list[str] | None,
        typer.Argument(metavar="PATH...", help="Folders to watch. Default: every ingested folder."),
    ] = None,
    poll: Annotated[
        bool, typer.Option("--poll", help="Check the folders every second. Use it if the system reports no changes.")
    ] = False,
    data: DataOption = None,
    config: ConfigOption = None,
) -> None:
    """Watch folders and keep their documents current.

    A search finds what you save, rename or delete there within a second. The command first ingests what has changed
    until now. If a folder disappears, Loci keeps its documents until it is back. A server may run on the same data.
    """
    app = open_app(data, config, _need_files)
    watched = app.documents.watch(LOCAL, [_folder(path) for path in paths or ()])
    messages, stopped = WatchMessages(), threading.Event()

    def stop(_: int, __: FrameType | None) -> NoReturn:
        stopped.set()  # an exception can be lost, for instance in a finalizer
        raise KeyboardInterrupt

    for one in (signal.SIGINT, signal.SIGTERM):
        signal.signal(one, stop)
    with suppress(KeyboardInterrupt):
        _watch(app.documents, watched, messages, stopped, poll=poll)
    say(f"Stopped. Since the start: {messages.totals()}.")


class WatchMessages:
    """Prints what happens to the watched folders, each message once, and counts."""

    def __init__(self) -> None:
        self._processed = self._removed = self._failed = 0
        self._begun = set[str]()
        self._missing = set[str]()
        self._postponed: dict[str, str] = {}

    def report(self, folder: str, happening: FolderEvent) -> None:
        """Print the message of one happening, if it was not printed before."""
        match happening:
            case FolderIngested(summary):
                self._print_summary(folder, summary)
            case FolderUnavailable(is_empty):
                if folder in self._missing:  # the message about an outer folder has named it
                    return
                self._missing.add(folder)
                what, back = ("is empty", "the files are back") if is_empty else ("does not exist", "it is back")
                say(
                    f"{folder} {what} now. Loci keeps its documents until {back} (to remove them: loci forget {folder})"
                )
            case IngestPostponed(reason):
                if self._postponed.get(folder) != reason:
                    self._postponed[folder] = reason
                    say(f"{folder}: {reason} Loci will try again.")

    def totals(self) -> str:
        """Return the counts since the start."""
        return f"{self._processed:,} processed, {self._removed:,} removed, {self._failed:,} failed"

    def _print_summary(self, folder: str, summary: IngestSummary) -> None:
        failed = len(summary.failed)
        self._processed += summary.processed
        self._removed += summary.removed
        self._failed += failed
        self._postponed.pop(folder, None)
        is_first, is_back = folder not in self._begun, folder in self._missing
        self._begun.add(folder)
        self._missing.discard(folder)
        for kept in summary.kept:
            if kept.folder not in self._missing:
                self._missing.add(kept.folder)
                say(kept_line(kept))
        if is_first or is_back or summary.processed or summary.removed or failed:
            counts = f"{summary.processed:,} processed, {summary.unchanged:,} unchanged, {failed:,} failed."
            say(f"{folder}{' is back' if is_back else ''}: {counts} {summary.removed:,} removed.")
        for one in summary.failed[:SHOWN]:
            say(f"  {one.path}: {one.reason}")
        if failed > SHOWN:
            say(f"  and {failed - SHOWN:,} more")


def say(line: str) -> None:
    """Print a line at once: a person or a program may wait for it."""
    typer.echo(printable(line))
    sys.stdout.flush()


def _watch(
    documents: "Documents",
    watched: Sequence[WatchedFolder],
    messages: WatchMessages,
    stopped: threading.Event,
    *,
    poll: bool,
) -> None:
    """Watch until the user interrupts."""
    folders = [one.location.path for one in watched]

    def update(touched: set[str]) -> None:
        for one in watched:
            for happening in one.check({path for path in touched if is_below(path, [one.location.path])}):
                messages.report(one.location.path, happening)

    for one in watched:
        with shown_progress() as progress:
            begun = list(one.ingest_all(progress))
        for happening in begun:
            messages.report(one.location.path, happening)
    documents.upkeep.warm_ingestion()
    events = FileEvents(folders, say, poll=poll)
    update(events.wait())  # for files written before the system began to report changes
    say(f"Watching {', '.join(folders)}. Stop with Ctrl-C.")
    while not stopped.is_set():
        update(events.wait())


def _need_files(settings: Settings) -> None:
    if settings.mode != "embedded":
        upload = f"s3://{settings.bucket or 'BUCKET'}/{UPLOADS_OF_LOCAL}"
        raise Refused("On AWS, Loci reads documents from the bucket", f"Upload them to {upload}", code="NOT_EMBEDDED")


def _folder(path: str) -> LocalPath:
    found = local_path(path)
    if not found.is_folder:
        raise Refused(f"{path} is not a folder", "Name the folder that the file is in", code="NO_FOLDER")
    return found
