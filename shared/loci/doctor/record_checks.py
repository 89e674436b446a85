"""The checks of stored data: records that Loci cannot read and skips, contents that have changed, and injections."""

import hashlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

from loci.app import App
from loci.auth import api_keys, grants, oauth_clients
from loci.code import python, runs
from loci.core.diagnosis import Finding, FirstNames, counted
from loci.core.errors import LociError, Refused
from loci.core.identity import LOCAL, SYSTEM, Owner, UnnamedOwner
from loci.core.ids import content_id
from loci.core.injections import injections
from loci.core.stores import CONTENT_DAMAGED, Record, every, read_or_none
from loci.documents import catalog, history, recently_read, vacant_paths, whole_texts
from loci.documents.document import Document
from loci.documents.ingest import folder_ingest
from loci.documents.ingest.index_writer import COLLECTION, Progress
from loci.documents.ingest.local_files import blob_key
from loci.files import lake
from loci.files.file import file_id, name_of, stored_file
from loci.files.ingest import COLLECTION as FILES
from loci.scratchpad import api as scratchpad
from loci.sharing import shares

MOST_NAMED = 50
HISTORY = "history"
OF_LOCI: dict[str, Callable[[Record], object]] = {
    api_keys.KIND: api_keys.key_of,
    grants.KIND: grants.grant_of,
    oauth_clients.KIND: oauth_clients.client_of,
    shares.KIND: shares.share_of,
}
OF_OWNERS: dict[str, Callable[[Record], object]] = {
    catalog.ROOT: catalog.root_of,  # before the documents, which need them
    catalog.INGESTED_FOLDER: folder_ingest.folder_of,
    folder_ingest.FORGOTTEN: folder_ingest.forgotten_path,
    catalog.DOCUMENT: catalog.document_of,
    catalog.MENTIONS: catalog.links_of,
    recently_read.READ: recently_read.hash_of_reading,
    whole_texts.UNFINISHED: whole_texts.unfinished_write,
    vacant_paths.DELETED: vacant_paths.deleted_document,
    vacant_paths.REFUSED: vacant_paths.refusal_of,
    scratchpad.KIND: scratchpad.kept_entry,
    scratchpad.PROMISED: scratchpad.promised_until,
    python.KIND: python.used_at,
    runs.KIND: runs.run_value,
    lake.KIND: stored_file,
    lake.HISTORY: lake.version_in,
}
"""The functions that parse each kind of record. Damaged records of other kinds expire, or are replaced."""


@dataclass(frozen=True, slots=True)
class DamagedRecord:
    """A record that Loci cannot read, or a damaged earlier text of a document."""

    owner: Owner
    kind: str
    key: str

    def __str__(self) -> str:
        """The kind and the id, with the owner."""
        if self.owner in (LOCAL, SYSTEM):
            return f"{self.kind} {self.key}"
        return f"{self.kind} {self.key} of {self.owner.tenant}/{self.owner.subject}"


def check_records(app: App, *, fix: bool) -> Finding:
    """Check that each record can be read. The fix indexes damaged documents again, and removes the others."""
    damaged = list(_damaged(app))
    if not damaged:
        return Finding("records", "ok", "Each can be read")
    names = ", ".join(map(str, damaged[:MOST_NAMED]))
    more = f" and {len(damaged) - MOST_NAMED:,} more" if len(damaged) > MOST_NAMED else ""
    what = f"{counted(len(damaged), 'record')} cannot be read: {names}{more}"
    if not fix:
        advice = "To index damaged documents again and remove other damaged records, run: loci doctor --fix"
        return Finding("records", "fault", f"{what}. Loci ignores them", advice)
    left: list[str] = []
    for one in damaged:
        try:
            (_mend_file if one.kind in (lake.KIND, lake.HISTORY) else _mend)(app, one)
        except LociError as error:
            left.append(f"{one}: {error}")
    if left:
        return Finding(
            "records", "fault", f"{counted(len(left), 'record')} cannot be mended", " ".join(left[:MOST_NAMED])
        )
    again = "; if a folder's documents are missing now, run: loci ingest FOLDER" if _may_lack(app, damaged) else ""
    return Finding("records", "ok", f"{what}; mended or removed{again}", fixed=True)


def _may_lack(app: App, mended: list[DamagedRecord]) -> bool:
    """True if a document or its folder is no longer known, or a write may be missing from the index."""
    return any(
        one.kind in (catalog.ROOT, whole_texts.UNFINISHED)
        or (one.kind == catalog.DOCUMENT and not app.documents.parts.catalog.document(one.owner, one.key))
        for one in mended
    )


def _damaged(app: App) -> Iterator[DamagedRecord]:
    yield from _of(app, SYSTEM, OF_LOCI)
    for owner in _named_owners(app):
        yield from _of(app, owner, OF_OWNERS)
        for key in app.blobs.list(owner, history.FOLDER):
            if history.read_write(app.blobs.read(owner, key)) is None:
                yield DamagedRecord(owner, HISTORY, key)


def _of(app: App, owner: Owner, readers: dict[str, Callable[[Record], object]]) -> Iterator[DamagedRecord]:
    for kind, read in readers.items():
        for record in every(app.records, owner, kind):
            if read_or_none(record, read) is None:
                yield DamagedRecord(owner, kind, record.key)


def _mend(app: App, one: DamagedRecord) -> None:
    match one.kind:
        case catalog.DOCUMENT:
            _mend_document(app, one.owner, one.key)
        case catalog.MENTIONS:
            if app.documents.parts.catalog.document(one.owner, one.key):
                app.documents.parts.library.reindex(one.owner, one.key)
            else:
                app.records.remove(one.owner, one.kind, one.key)
        case whole_texts.UNFINISHED:
            for document in app.documents.parts.catalog.iterate(one.owner):
                if content_id(document.path, length=32) == one.key:
                    app.documents.parts.library.reindex(one.owner, document.id)
            app.records.remove(one.owner, one.kind, one.key)
        case scratchpad.KIND:
            app.records.remove(one.owner, one.kind, one.key)
            for blob in app.blobs.list(one.owner, f"{scratchpad.KIND}/{one.key}"):
                app.blobs.remove(one.owner, blob)
        case "history":
            app.blobs.remove(one.owner, one.key)
        case _:
            app.records.remove(one.owner, one.kind, one.key)


def _mend_document(app: App, owner: Owner, id: str) -> None:
    """Write the record again from the index, and index the document again.

    If the index does not have the document, remove its record: the next ingest of its folder finds it again.
    """
    parts = app.documents.parts
    held = parts.index.chunks(owner, COLLECTION, [f"{id}#0"]).get(f"{id}#0")
    upload = app.blobs.read(owner, blob_key(id)) if blob_key(id) in app.blobs.list(owner, blob_key(id)) else None
    roots = {root.name: root.id for root in parts.catalog.roots(owner).values()}
    root = roots.get(held.path.partition("/")[0]) if held and upload is None else None
    if held is None and upload is not None:
        raise LociError("The index does not know its path", "Upload it again: its text is still there")
    _, version = parts.catalog.with_version(owner, id)
    if held is None or (root is None and upload is None):
        app.records.remove(owner, catalog.DOCUMENT, id, expect_version=version)
        return
    half_written = Document(
        id=id,
        path=held.path,
        root=root,
        title=held.title,
        tags=(),
        date=None,
        sha256="",
        bytes=0,
        lines=0,
        chunks=0,
        model=None,
        ingested_at="",
        uploaded_sha256=None if upload is None else hashlib.sha256(upload).hexdigest(),
    )
    parts.catalog.put(owner, half_written, version)
    parts.library.reindex(owner, id)


def _mend_file(app: App, one: DamagedRecord) -> None:
    """Add the file again if the index knows its name and it has one content. Remove the record of an older version."""
    contents = [key for key in app.blobs.list(one.owner, f"{lake.FOLDER}{one.key}/") if not key.endswith(".reading")]
    if one.kind == lake.HISTORY or not contents:
        app.records.remove(one.owner, one.kind, one.key)
        return
    held = app.files.parts.index.chunks(one.owner, FILES, [f"{one.key}#0"]).get(f"{one.key}#0")
    if held is None or len(contents) > 1:
        raise LociError("Its name or its newest content is not known", "Add the file again: loci add FILE")
    path = held.title if file_id(held.title) == one.key else name_of(held.title)
    app.files.add(one.owner, path, app.blobs.read(one.owner, contents[0]))


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


def check_injections(app: App, owners: Sequence[Owner] | None = None) -> Finding | None:
    """Find passages that address a model, or have hidden characters, among what searches show."""
    found = FirstNames()
    for owner in _named_owners(app) if owners is None else owners:
        of = "" if owner == LOCAL or owners else f" of {owner.tenant}/{owner.subject}"
        for collection in (COLLECTION, FILES):
            for passage in app.documents.parts.index.passages(owner, collection):
                for one in injections(passage.text):
                    line = "" if collection == FILES else f":{passage.first_line + one.line - 1}"
                    found.add(f"{passage.path}{line}{of} ({one})")
    if not found.count:
        return None
    what = f"{counted(found.count, 'text')} may try to instruct the models that read them: {found}"
    return Finding("injections", "warning", what, "Read them. Loci never obeys a text, but your agent may")


def _named_owners(app: App) -> list[Owner]:
    """The owners with a key, and the owners without one who signed in at an issuer."""
    connected = (one.owner for one in grants.grants_of(app).list())
    return [*dict.fromkeys([LOCAL, *app.api_keys.owners(), *connected])]


def _owners(app: App) -> list[Owner]:
    named = _named_owners(app)
    known = {one.key for one in named}
    return [*named, *(UnnamedOwner(key) for key in app.blobs.owner_keys() if key not in known)]


def _parts(app: App, owner: Owner) -> Iterator[Part]:
    of = "" if owner == LOCAL else f" of {owner.tenant}/{owner.subject}"
    documents, files = app.documents.parts, app.files.parts
    for one in documents.catalog.iterate(owner):
        if one.root is None:
            yield f"{one.path}{of}", partial(documents.library.content, owner, one)
    for key in app.blobs.list(owner, history.FOLDER):
        yield f"{key}{of}", partial(_read_history, app, owner, key)
    for file in files.lake.files(owner):
        versions = {one.number: one for one in [*files.versions.for_file(owner, file), file.newest]}
        for version in versions.values():
            name = f"{file.name}, version {version.number}{of}"
            yield name, partial(files.lake.content, owner, file.id, version)


def _read_history(app: App, owner: Owner, key: str) -> None:
    if history.read_write(app.blobs.read(owner, key)) is None:
        raise Refused("An earlier text is damaged", "To remove it, run: loci doctor --fix", code=CONTENT_DAMAGED)
