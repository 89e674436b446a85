"""Doctor checks of the sources of documents: files on this machine, and uploaded texts in the blob store."""

import hashlib
import shlex
from collections.abc import Mapping
from pathlib import Path

from loci.core.errors import NotFound, Refused
from loci.core.finding import Finding, counted, first_names, seen_twice
from loci.core.identity import Owner
from loci.documents.document import Document, Root
from loci.documents.host import DocumentsHost
from loci.documents.ingest.local_files import read_file
from loci.documents.ingest.roots import below_root
from loci.documents.library import TEXTS, blob_key


def check_folders(app: DocumentsHost, owner: Owner) -> Finding | None:
    """Check that the folders of documents exist."""
    roots = app.documents.parts.catalog.roots(owner)
    if not roots:
        return None
    gone = [root.folder for root in roots.values() if not Path(root.folder).is_dir()]
    if gone:
        advice = f"Put it back. If it is gone for good, run: loci forget {shlex.quote(sorted(gone)[0])}"
        return Finding("folders", "warning", f"{len(gone):,} of {len(roots):,} gone: {first_names(gone)}", advice)
    return Finding("folders", "ok", f"{len(roots):,}: {first_names([root.folder for root in roots.values()])}")


def check_files(app: DocumentsHost, owner: Owner) -> Finding | None:
    """Check that each file is as it was at its ingest. `check_folders` reports the folders that are gone."""
    roots = app.documents.parts.catalog.roots(owner)
    documents = [one for one in app.documents.parts.catalog.documents(owner) if one.root is not None]
    if not documents:
        return None
    faults = {one: fault for one in documents if (fault := _fault(one, roots))}
    if not faults:
        return Finding("files", "ok", f"{counted(len(documents), 'file')}, unchanged since their ingest")
    parts = [
        f"{len(paths):,} {name} ({first_names(paths)})"
        for name in ("changed", "gone", "unreadable", "in no known folder")
        if (paths := [one.path for one, fault in faults.items() if fault == name])
    ]
    folders = sorted({roots[one.root].folder for one in faults if one.root in roots})
    advice = f"Run: loci ingest {shlex.join(folders)}" if folders else "Remove the documents with: loci forget ID"
    return Finding("files", "warning", f"Of {len(documents):,} files {', '.join(parts)}", advice)


def check_texts(app: DocumentsHost, owner: Owner) -> Finding | None:
    """Check that each uploaded document has its text."""
    lost = seen_twice(lambda: _uploaded_ids(app, owner) - _text_ids(app, owner))
    if lost:
        what = f"{counted(len(lost), 'document')} lost their text: {first_names(lost)}"
        advice = "Restore the texts from a backup, or remove the documents with: loci forget ID"
        return Finding("texts", "fault", what, advice)
    uploaded = _uploaded_ids(app, owner)
    return Finding("texts", "ok", f"{len(uploaded):,}, each with its document") if uploaded else None


def check_spare_texts(app: DocumentsHost, owner: Owner, *, fix: bool) -> Finding | None:
    """Check for texts that belong to no document. The fix deletes them."""
    spare = seen_twice(lambda: _text_ids(app, owner) - _uploaded_ids(app, owner))
    if not spare:
        return None
    what = f"{counted(len(spare), 'text')} without a document: {first_names(spare)}"
    if not fix:
        return Finding("spare texts", "warning", what, "To delete them, run: loci doctor --fix")
    for id in spare:
        text = app.blobs.read(owner, blob_key(id))
        app.blobs.remove(owner, blob_key(id))
        if app.documents.parts.catalog.document(owner, id):  # somebody has just added it
            app.blobs.write(owner, blob_key(id), text)
    return Finding("spare texts", "ok", f"{what}; deleted", fixed=True)


def _fault(document: Document, roots: Mapping[str, Root]) -> str | None:
    """The fault of the document's file, if it has one and its folder exists."""
    root = roots.get(document.root or "")
    if root is None:
        return "in no known folder"
    if not Path(root.folder).is_dir():
        return None
    try:
        content = read_file(root.folder, below_root(document.path))
    except NotFound:
        return "gone"
    except Refused:
        return "unreadable"
    # A document without a hash is half written, which the check of the index reports.
    is_same = document.sha256 in ("", hashlib.sha256(content).hexdigest())
    return None if is_same else "changed"


def _uploaded_ids(app: DocumentsHost, owner: Owner) -> set[str]:
    return {one.id for one in app.documents.parts.catalog.documents(owner) if one.root is None}


def _text_ids(app: DocumentsHost, owner: Owner) -> set[str]:
    return {key.removeprefix(TEXTS) for key in app.blobs.list(owner, TEXTS)}
