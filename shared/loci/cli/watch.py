"""`loci watch`: keep the documents of folders up to date."""

import signal
import sys
import time
from contextlib import suppress
from types import FrameType
from typing import Annotated, NoReturn

import typer

from loci.app import App
from loci.cli.file_events import FileEvents
from loci.cli.terminal import SHOWN, ConfigOption, DataOption, kept_line, open_app, printable, shown_progress
from loci.core.errors import LociError, Refused
from loci.core.identity import LOCAL
from loci.core.settings import UPLOADS_OF_LOCAL, Settings
from loci.documents.document import Summary
from loci.documents.ingest.roots import RootLocation, is_below, place
from loci.documents.ingest.watch import Happening, MissingFolder, Postponed, Took, WatchedFolders


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
    places = _with_inner(app, [_folder(path) for path in paths]) if paths else _ingested(app)
    signal.signal(signal.SIGTERM, _interrupt)
    messages = WatchMessages()
    with suppress(KeyboardInterrupt):
        _watch(app, {one.path: one for one in places}, messages, poll=poll)
    say(f"Stopped. Since the start: {messages.totals()}.")


class WatchMessages:
    """Prints what happens to the watched folders, each message once, and counts."""

    def __init__(self) -> None:
        self._processed = self._removed = self._failed = 0
        self._begun = set[str]()
        self._missing = set[str]()
        self._postponed: dict[str, str] = {}

    def report(self, folder: str, happening: Happening) -> None:
        """Print the message of one happening, if it was not printed before."""
        match happening:
            case Took(summary):
                self._print_summary(folder, summary)
            case MissingFolder(is_away):
                if folder in self._missing:  # the message about an outer folder has named it
                    return
                self._missing.add(folder)
                what, back = ("does not exist", "it is back") if is_away else ("is empty", "the files are back")
                say(
                    f"{folder} {what} now. Loci keeps its documents until {back} (to remove them: loci forget {folder})"
                )
            case Postponed(reason):
                if self._postponed.get(folder) != reason:
                    self._postponed[folder] = reason
                    say(f"{folder}: {reason} Loci will try again.")

    def totals(self) -> str:
        """Return the counts since the start."""
        return f"{self._processed:,} processed, {self._removed:,} removed, {self._failed:,} failed"

    def _print_summary(self, folder: str, summary: Summary) -> None:
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


def _watch(app: App, places: dict[str, RootLocation], messages: WatchMessages, *, poll: bool) -> None:
    """Watch until the user interrupts."""
    watched = [
        WatchedFolders(
            app.documents.ingest, LOCAL, one, [other for other in places if _is_inside(other, one.path)], time.time
        )
        for one in places.values()
    ]

    def update(touched: set[str]) -> None:
        for one in watched:
            for happening in one.look({path for path in touched if is_below(path, [one.place.path])}):
                messages.report(one.place.path, happening)

    for one in watched:
        with shown_progress() as progress:
            begun = list(one.begin(progress))
        for happening in begun:
            messages.report(one.place.path, happening)
    _warm(app)
    events = FileEvents(list(places), say, poll=poll)
    update(events.wait())  # for files written before the system began to report changes
    say(f"Watching {', '.join(places)}. Stop with Ctrl-C.")
    while True:
        update(events.wait())


def _need_files(settings: Settings) -> None:
    if settings.mode != "embedded":
        upload = f"s3://{settings.bucket or 'BUCKET'}/{UPLOADS_OF_LOCAL}"
        raise Refused("On AWS, Loci reads documents from the bucket", f"Upload them to {upload}", code="NOT_EMBEDDED")


def _folder(path: str) -> RootLocation:
    found = place(path)
    if not found.is_folder:
        raise Refused(f"{path} is not a folder", "Name the folder that the file is in", code="NO_FOLDER")
    return found


def _with_inner(app: App, places: list[RootLocation]) -> list[RootLocation]:
    """Return these folders and the ingested folders inside them, each of which may disappear by itself."""
    inner = [one for one in _roots(app) if any(_is_inside(one.path, outer.path) for outer in places)]
    return [*places, *inner]


def _ingested(app: App) -> list[RootLocation]:
    places = _roots(app)
    if not places:
        raise Refused("No folder has been ingested yet", "Name one: loci watch FOLDER", code="NOTHING_TO_WATCH")
    return places


def _roots(app: App) -> list[RootLocation]:
    return [RootLocation(root.folder, True, root.name) for root in app.documents.catalog.roots(LOCAL).values()]


def _warm(app: App) -> None:
    """Load the model now, so that the first save does not wait for it."""
    with suppress(LociError):
        if app.documents.embedder.model():
            app.documents.embedder.passages(["warm"])


def _is_inside(path: str, folder: str) -> bool:
    return path != folder and is_below(path, [folder])


def _interrupt(_: int, __: FrameType | None) -> NoReturn:
    raise KeyboardInterrupt
