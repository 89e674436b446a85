"""The catalog of documents, and whether the index has what it says."""

from collections.abc import Callable
from typing import TypeVar

from loci.core.errors import LociError
from loci.core.finding import Finding, counted, some
from loci.core.identity import Owner
from loci.documents.api import DocumentsHost
from loci.documents.document import Document
from loci.documents.ingest.index_writer import COLLECTION

T = TypeVar("T")


def check_catalog(app: DocumentsHost, owner: Owner) -> Finding:
    """How many there are, and which were taken in with a problem."""
    documents = app.documents.library.documents(owner)
    if not documents:
        here = app.settings.mode == "embedded"
        return Finding("documents", "ok", f"None yet{'. Take some in with: loci ingest PATH' if here else ''}")
    broken = [f"{one.path} ({one.problems[0]})" for one in documents if one.problems]
    if broken:
        what = f"{len(broken):,} of {len(documents):,} have a problem: {some(broken)}"
        return Finding("documents", "warning", what, "Correct them, then run: loci ingest PATH")
    return Finding("documents", "ok", f"{len(documents):,}")


def check_index(app: DocumentsHost, owner: Owner, *, fix: bool) -> Finding:
    """Whether each document has all its passages there; mended by writing it anew."""
    half = seen_twice(lambda: _half_written(app, owner))
    if not half:
        passages = sum(app.documents.index.documents(owner, COLLECTION).values())
        return Finding("index", "ok", f"{counted(passages, 'passage')}, as many as the documents have")
    what = f"{counted(len(half), 'document')} half written: {some([one.path for one in half])}"
    if not fix:
        return Finding("index", "fault", what, "Run: loci doctor --fix (where an ingestion runs, first let it end)")
    left: dict[str, LociError] = {}
    for document in half:
        try:
            app.documents.library.renew(owner, document.id)
        except LociError as error:
            left[document.path] = error
    if left:
        error = next(iter(left.values()))
        return Finding(
            "index", "fault", f"{counted(len(left), 'document')} half written: {error.what}", error.resolution
        )
    return Finding("index", "ok", f"{what}; written anew", fixed=True)


def check_orphans(app: DocumentsHost, owner: Owner, *, fix: bool) -> Finding:
    """Whether the index has passages of documents that nobody knows; mended by taking them out."""
    orphans = seen_twice(lambda: _orphans(app, owner))
    if not orphans:
        return Finding("orphans", "ok", "None: all passages are of known documents")
    what = f"The index has passages of {counted(len(orphans), 'unknown document')}: {some(orphans)}"
    if not fix:
        return Finding("orphans", "warning", what, "Run: loci doctor --fix takes them out")
    for id in orphans:
        app.documents.index.remove(owner, COLLECTION, id)
        if app.documents.catalog.document(owner, id):  # somebody has taken it in meanwhile
            app.documents.library.renew(owner, id)
    return Finding("orphans", "ok", f"{what}; taken out", fixed=True)


def seen_twice(look: Callable[[], set[T]]) -> set[T]:
    """What is there at two looks: what somebody is just writing is no finding."""
    first = look()
    return first & look() if first else first


def _half_written(app: DocumentsHost, owner: Owner) -> set[Document]:
    documents = app.documents.catalog.documents(owner)
    held = app.documents.index.documents(owner, COLLECTION)
    return {one for one in documents if not one.sha256 or held.get(one.id, 0) != one.chunks}


def _orphans(app: DocumentsHost, owner: Owner) -> set[str]:
    held = app.documents.index.documents(owner, COLLECTION).keys()
    return held - {document.id for document in app.documents.catalog.documents(owner)}
