"""`loci watch`: keep the documents of folders up to date."""

import signal
import sys
import threading
from contextlib import suppress
from types import FrameType
from typing import Annotated, NoReturn

import typer

from loci.cli.folder_watch import FolderWatch
from loci.cli.terminal import ConfigOption, DataOption, here_only, open_app, printable, shown_progress
from loci.core.errors import Refused
from loci.core.identity import LOCAL
from loci.core.layout import UPLOADS_OF_LOCAL
from loci.documents.ingest.local_files import LocalPath, local_path


def watch(
    paths: Annotated[
        list[str] | None,
        typer.Argument(metavar="PATH...", help="Folders to watch from now on, besides those that were ingested."),
    ] = None,
    poll: Annotated[
        bool, typer.Option("--poll", help="Check the folders every second. Use it if the system reports no changes.")
    ] = False,
    data: DataOption = None,
    config: ConfigOption = None,
) -> None:
    """Watch the ingested folders and keep their documents current, until Ctrl-C.

    A search finds what you save, rename or delete there within a second. The command first ingests what has changed
    until now. If a folder disappears, Loci keeps its documents until it is back. A running server does all this by
    itself: only one process watches, and the command waits until that ends.
    """
    app = open_app(data, config, here_only(f"Upload the documents below s3://BUCKET/{UPLOADS_OF_LOCAL}"))
    if not app.documents.watch(LOCAL, [_folder(path) for path in paths or ()]):
        raise Refused("No folder has been ingested yet", "Name one: loci watch FOLDER", code="NOTHING_TO_WATCH")
    stopped = threading.Event()
    watching = FolderWatch(app, say, stopped, shown_progress, poll=poll)

    def stop(_: int, __: FrameType | None) -> NoReturn:
        stopped.set()  # an exception can be lost, for instance in a finalizer
        raise KeyboardInterrupt

    for one in (signal.SIGINT, signal.SIGTERM):
        signal.signal(one, stop)
    with suppress(KeyboardInterrupt):
        watching.run("A server or another loci watch watches the folders. This one waits until that ends.")
    say(f"Stopped. Since the start: {watching.messages.totals()}.")


def say(line: str) -> None:
    """Print a line at once: a person or a program may wait for it."""
    typer.echo(printable(line))
    sys.stdout.flush()


def _folder(path: str) -> LocalPath:
    found = local_path(path)
    if not found.is_folder:
        raise Refused(f"{path} is not a folder", "Name the folder that the file is in", code="NO_FOLDER")
    return found
