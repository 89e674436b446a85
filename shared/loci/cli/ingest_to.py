"""`loci ingest --to`: what it does, and how it is told."""

import json
from collections.abc import Sequence

import typer

from loci.cli.progress import shown_progress
from loci.cli.remote_client import RemoteClient
from loci.cli.sync import FolderSync
from loci.cli.sync_summary import text, view
from loci.core.errors import Refused
from loci.documents.ingest.roots import LocalPath, local_path

INTERRUPTED = 130


def ingest_elsewhere(paths: Sequence[str], url: str, key: str | None, *, as_json: bool) -> None:
    """Send what is new or changed; the exit code is 1 where something failed."""
    places = _places(paths)
    with shown_progress() as progress:
        feed = FolderSync(RemoteClient(url, key), progress)
        is_whole = False
        try:
            for one in places:
                feed.run(one)
            is_whole = True
        except KeyboardInterrupt:
            raise typer.Exit(INTERRUPTED) from None
        finally:
            if is_whole or feed.fed.seen:
                typer.echo(json.dumps(view(feed.fed)) if as_json else text(feed.fed))
    if feed.fed.failed or feed.fed.not_removed:
        raise typer.Exit(1)


def _places(paths: Sequence[str]) -> list[LocalPath]:
    """Each folder and file once; `Refused` where two folders would be one there."""
    found = dict.fromkeys(local_path(path) for path in paths)
    folders: dict[str, str] = {}
    for one in found:
        if folders.setdefault(one.name, one.folder) != one.folder:
            what = f"{folders[one.name]} and {one.folder} would both be {one.name}/ there"
            raise Refused(what, "Rename one of them", code="SAME_NAME")
    whole = {one.folder for one in found if one.is_folder}
    return [one for one in found if one.is_folder or one.folder not in whole]
