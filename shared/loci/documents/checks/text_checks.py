"""The texts that are kept in the blob store, for documents that are no files of this machine."""

from loci.core.finding import Finding, counted, some
from loci.core.identity import Owner
from loci.documents.api import DocumentsHost
from loci.documents.checks.catalog_checks import seen_twice
from loci.documents.library import TEXTS, blob_key


def check_texts(app: DocumentsHost, owner: Owner) -> Finding | None:
    """Whether each such document has its text."""
    lost = seen_twice(lambda: _kept(app, owner) - _there(app, owner))
    if lost:
        what = f"{counted(len(lost), 'document')} lost their text: {some(lost)}"
        return Finding("texts", "fault", what, "Restore it from a copy, or take them out with: loci forget ID")
    kept = _kept(app, owner)
    return Finding("texts", "ok", f"{len(kept):,}, each of a document") if kept else None


def check_spare_texts(app: DocumentsHost, owner: Owner, *, fix: bool) -> Finding | None:
    """Whether there are texts of no document; mended by taking them out."""
    spare = seen_twice(lambda: _there(app, owner) - _kept(app, owner))
    if not spare:
        return None
    what = f"{counted(len(spare), 'text')} of no document: {some(spare)}"
    if not fix:
        return Finding("spare texts", "warning", what, "Run: loci doctor --fix takes them out")
    for id in spare:
        text = app.blobs.read(owner, blob_key(id))
        app.blobs.remove(owner, blob_key(id))
        if app.documents.catalog.document(owner, id):  # somebody has added it meanwhile
            app.blobs.write(owner, blob_key(id), text)
    return Finding("spare texts", "ok", f"{what}; taken out", fixed=True)


def _kept(app: DocumentsHost, owner: Owner) -> set[str]:
    return {one.id for one in app.documents.catalog.documents(owner) if one.root is None}


def _there(app: DocumentsHost, owner: Owner) -> set[str]:
    return {key.removeprefix(TEXTS) for key in app.blobs.list(owner, TEXTS)}
