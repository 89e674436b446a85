"""`loci doctor --deep`: every content that Loci keeps, read and compared with the hash of what was written."""

from collections.abc import Callable, Iterator
from functools import partial

from loci.app import App
from loci.core.errors import LociError, Refused
from loci.core.finding import Finding, counted
from loci.core.identity import LOCAL, Owner, UnnamedOwner
from loci.core.stores import CONTENT_DAMAGED
from loci.documents.ingest.index_writer import Progress
from loci.documents.writing import history
from loci.mcp.auth.grants import grants_of

MOST_NAMED = 50
Part = tuple[str, Callable[[], object]]
"""The name of a content, and the function that reads it, which raises an error if the content is damaged."""


def check_contents(app: App, progress: Progress) -> Finding:
    """Read every text, every earlier text, and every content of a file."""
    every = [part for owner in _owners(app) for part in _parts(app, owner)]
    damaged: list[str] = []
    advice: str | None = None
    for done, (name, read) in enumerate(every, 1):
        try:
            read()
        except LociError as error:
            damaged.append(f"{name} ({error.what})" if error.code != CONTENT_DAMAGED else name)
            advice = advice or error.resolution
        progress(done, len(every), name)
    if not damaged:
        return Finding("all contents", "ok", f"{counted(len(every), 'content')}, each as it was written")
    more = f" and {len(damaged) - MOST_NAMED:,} more" if len(damaged) > MOST_NAMED else ""
    what = f"{len(damaged):,} of {counted(len(every), 'content')} damaged: {', '.join(damaged[:MOST_NAMED])}{more}"
    return Finding("all contents", "fault", what, advice)


def _owners(app: App) -> list[Owner]:
    named = [LOCAL, *app.api_keys.owners(), *(one.owner for one in grants_of(app).list())]
    known = {one.key: one for one in named}
    return [*known.values(), *(UnnamedOwner(key) for key in app.blobs.owner_keys() if key not in known)]


def _parts(app: App, owner: Owner) -> Iterator[Part]:
    of = "" if owner == LOCAL else f" of {owner.tenant}/{owner.subject}"
    documents, files = app.documents.parts, app.files.parts
    for one in documents.catalog.each(owner):
        if one.root is None:
            yield f"{one.path}{of}", partial(documents.library.content, owner, one)
    for key in app.blobs.list(owner, history.FOLDER):
        yield f"{key}{of}", partial(_read_history, app, owner, key)
    for file in files.lake.files(owner):
        versions = {one.number: one for one in [*files.versions.of(owner, file), file.newest]}
        for version in versions.values():
            name = f"{file.name}, version {version.number}{of}"
            yield name, partial(files.lake.content, owner, file.id, version)


def _read_history(app: App, owner: Owner, key: str) -> None:
    if history.read_write(app.blobs.read(owner, key)) is None:
        raise Refused("An earlier text is damaged", "To remove it, run: loci doctor --fix", code=CONTENT_DAMAGED)
