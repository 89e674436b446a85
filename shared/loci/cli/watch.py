"""`loci watch`: folders whose documents are kept up to date."""

import signal
import time
from contextlib import suppress
from types import FrameType
from typing import Annotated, NoReturn

import typer

from loci.app import App
from loci.cli.file_events import FileEvents
from loci.cli.open_app import opened
from loci.cli.options import ConfigOption, DataOption
from loci.cli.progress import shown_progress
from loci.cli.watch_messages import WatchMessages, say
from loci.core.errors import LociError, Refused
from loci.core.identity import LOCAL
from loci.core.settings import UPLOADS_OF_LOCAL, Settings
from loci.documents.ingest.roots import LocalPath, is_below, local_path
from loci.documents.ingest.watched_folder import WatchedFolder


def watch(
    paths: Annotated[
        list[str] | None, typer.Argument(metavar="PATH...", help="Folders; all that are known without.")
    ] = None,
    poll: Annotated[bool, typer.Option("--poll", help="Look every second, where the system tells nothing.")] = False,
    data: DataOption = None,
    config: ConfigOption = None,
) -> None:
    """Follow folders: what is written, renamed or deleted there is searched so at once.

    First it takes in what has changed until now. A folder that goes away keeps its documents until it is back. A
    server may run on the same data.
    """
    app = opened(data, config, _need_files)
    places = _with_inner(app, [_folder(path) for path in paths]) if paths else _known(app)
    signal.signal(signal.SIGTERM, _interrupt)
    happenings = WatchMessages()
    with suppress(KeyboardInterrupt):
        _follow(app, {one.path: one for one in places}, happenings, poll=poll)
    say(f"Stopped. Since the start: {happenings.in_all()}.")


def _follow(app: App, places: dict[str, LocalPath], happenings: WatchMessages, *, poll: bool) -> None:
    """Until it is interrupted."""
    followed = [
        WatchedFolder(
            app.documents.ingest, LOCAL, one, [other for other in places if _is_inside(other, one.path)], time.time
        )
        for one in places.values()
    ]

    def look(touched: set[str]) -> None:
        for one in followed:
            for happening in one.check({path for path in touched if is_below(path, [one.location.path])}):
                happenings.tell(one.location.path, happening)

    for one in followed:
        with shown_progress() as progress:
            begun = list(one.ingest_all(progress))
        for happening in begun:
            happenings.tell(one.location.path, happening)
    _warm(app)
    events = FileEvents(list(places), say, poll=poll)
    look(events.wait())  # at what was written before the system began to tell
    say(f"Following {', '.join(places)}. Stop with Ctrl-C.")
    while True:
        look(events.wait())


def _need_files(settings: Settings) -> None:
    if settings.mode != "embedded":
        upload = f"s3://{settings.bucket or 'BUCKET'}/{UPLOADS_OF_LOCAL}"
        raise Refused("On AWS documents come from the bucket", f"Upload them to {upload}", code="NOT_EMBEDDED")


def _folder(path: str) -> LocalPath:
    found = local_path(path)
    if not found.is_folder:
        raise Refused(f"{path} is no folder", "Name the folder that it is in", code="NO_FOLDER")
    return found


def _with_inner(app: App, places: list[LocalPath]) -> list[LocalPath]:
    """The places, and the known folders in them: each of these may go away and come back by itself."""
    inner = [one for one in _roots(app) if any(_is_inside(one.path, outer.path) for outer in places)]
    return [*places, *inner]


def _known(app: App) -> list[LocalPath]:
    places = _roots(app)
    if not places:
        raise Refused("No folder is known yet", "Name one: loci watch FOLDER", code="NOTHING_TO_WATCH")
    return places


def _roots(app: App) -> list[LocalPath]:
    return [LocalPath(root.folder, True, root.name) for root in app.documents.catalog.roots(LOCAL).values()]


def _warm(app: App) -> None:
    """Load the model now: the first save would wait for it."""
    with suppress(LociError):
        if app.documents.embedder.model():
            app.documents.embedder.passages(["warm"])


def _is_inside(path: str, folder: str) -> bool:
    return path != folder and is_below(path, [folder])


def _interrupt(_: int, __: FrameType | None) -> NoReturn:
    raise KeyboardInterrupt
