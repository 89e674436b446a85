"""The library: list, read, add and remove documents."""

import hashlib
import os
import time
from collections.abc import Collection, Generator, Iterable
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path

from loci.core.errors import Conflict, NotFound, Refused, Unavailable
from loci.core.identity import Owner
from loci.core.stores import BlobStore, WriteLocks, lost_race
from loci.core.trust import Origin
from loci.documents.catalog import Catalog
from loci.documents.document import LOCK_WAIT_SECONDS, Document, DocumentText, lock_name, recency_of
from loci.documents.filtering import LibraryPart
from loci.documents.history import History, PastWrite, hash_of
from loci.documents.ingest.index_writer import DocumentDraft, IndexWriter, former_paths
from loci.documents.ingest.local_files import (
    MAX_DOCUMENT_BYTES,
    below_root,
    blob_key,
    checked_path,
    file_of,
    is_below,
    is_document,
    is_utf8,
    path_of,
    plain_path,
    read_file,
)
from loci.documents.owner_cache import OwnerCache
from loci.documents.unknown_names import UnknownNames
from loci.documents.vacant_paths import DeletedDocument, Deletions, StaysDeletedError
from loci.documents.whole_texts import WholeTexts
from loci.markdown.encodings import decode_text, require_text
from loci.markdown.tags import with_ancestors

MAX_OWNERS = 50
MAX_SECONDS = 60.0
"""The most seconds until another process sees a document without passages: it leaves no trace in the index."""


class Library:
    """The documents of all owners. The text is in a file on this machine or, for uploads, in the blob store."""

    def __init__(self, catalog: Catalog, writer: IndexWriter, blobs: BlobStore, locks: WriteLocks) -> None:
        self._deletions = Deletions(catalog.records)
        self._catalog = catalog
        self._cache: OwnerCache[tuple[str, int, int], Collection[Document]] = OwnerCache(MAX_OWNERS)
        self._writer = writer
        self._blobs = blobs
        self._locks = locks
        self._history = History(blobs)
        self._whole = WholeTexts(catalog, blobs)
        self._unknown = UnknownNames(catalog)

    def get(self, owner: Owner, name: str) -> Document:
        """The document of that id, path or file. If it does not exist, `NotFound` suggests similar ids."""
        document = self._catalog.document(owner, name) or self._at_path(owner, name)
        if document is None:
            raise self._unknown.error(owner, name)
        return document

    def is_empty(self, owner: Owner) -> bool:
        """True if the owner has no document."""
        return not self.is_more_than(owner, 0)

    def is_more_than(self, owner: Owner, number: int) -> bool:
        """True if the owner has, or may have, more documents than `number`. Reads no more of them."""
        some, after = self._catalog.page(owner, number + 1, None)
        return len(some) > number or after is not None

    def cached(self, owner: Owner) -> Collection[Document]:
        """All documents, read again only after a write."""

        def state() -> tuple[str, int, int]:
            # The index comes first: a write that this misses then changes the state of the next look.
            index = self._writer.index_state(owner)
            return index, self._catalog.writes, int(time.monotonic() // MAX_SECONDS)

        try:
            return self._cache.get(owner, state, lambda _, __: self._catalog.documents(owner))
        except Unavailable:  # records can be read without the index
            return self._catalog.documents(owner)

    def documents(self, owner: Owner) -> list[Document]:
        """All documents, ordered by path."""
        return sorted(self._catalog.documents(owner), key=lambda document: document.path)

    def tagged(self, owner: Owner, part: LibraryPart) -> list[Document]:
        """The documents of the part. The best one has the most of its tags; among equals it is the newest."""
        documents, asked = self.cached(owner), {*part.tags, *part.any_tags}
        recency, found = recency_of(documents), sorted(part.of(documents), key=lambda one: one.path)
        has = {one.id: len(asked.intersection(with_ancestors(one.tags))) for one in found}
        return sorted(found, key=lambda one: (has[one.id], recency.day(one)), reverse=True)

    def read(self, owner: Owner, name: str) -> DocumentText:
        """The document's text as it is now."""
        document = self.get(owner, name)
        content = self.content(owner, document)
        sha256 = hashlib.sha256(content).hexdigest()
        require_text(document.path, content)
        text, is_exact = decode_text(content)
        return DocumentText(document, text, sha256, is_exact)

    def content(self, owner: Owner, document: Document) -> bytes:
        """The document's text as it is now: the bytes of its file, or the stored ones."""
        if document.root is None:
            return self._whole.read(owner, document)
        return read_file(self._catalog.root_of(owner, document).folder, below_root(document.path))

    def matching(self, owner: Owner, name: str) -> list[Document]:
        """The document of that id or path, or all below that folder. A path may be one on this machine."""
        if document := self._catalog.document(owner, name):
            return [document]
        documents = self.documents(owner)
        roots = self._catalog.roots(owner)
        here = str(Path(name).expanduser().resolve()) if "\0" not in name else name
        found = [
            one
            for one in documents
            if (root := roots.get(one.root or "")) and is_below(file_of(one.path, root), [here])
        ]
        found = found or [one for one in documents if is_below(one.path, [name.rstrip("/")])]
        if not found:
            raise self._unknown.error(owner, name)
        return found

    def is_current(self, document: Document) -> bool:
        """True if the current parser read it and the current model, if there is one, embedded it."""
        return self._writer.is_current(document)

    def indexed(self, owner: Owner, documents: Iterable[Document]) -> set[str]:
        """The ids of the documents that are written whole, current, and in the index."""
        return self._writer.indexed(owner, documents)

    def add(self, owner: Owner, path: str, content: bytes) -> Document:
        """Store an upload, which replaces the document at its path.

        If it is the same upload as last time, a text that a tool has written since stays, and so does a deletion
        (`StaysDeletedError`). Otherwise the upload wins, and history keeps the tool's text.
        """
        path = checked_path(path)
        try:
            if len(content) > MAX_DOCUMENT_BYTES:
                what = f"{path} is larger than {MAX_DOCUMENT_BYTES // 2**20} MB"
                raise Refused(what, "Split it", code="FILE_TOO_LARGE")
            require_text(path, content)
        except Refused as error:
            self.refuse(owner, path, error)
            raise
        self._catalog.refused.end(owner, path)
        return self._writer.retry_on_conflict(lambda: self._add(owner, path, content), _busy(path))

    def refuse(self, owner: Owner, path: str, error: Refused) -> None:
        """Keep the reason why the upload at that path is no document, for a reader of that path."""
        self._catalog.refused.note(owner, path, error)

    def reindex(self, owner: Owner, id: str) -> Document:
        """Write the document's current text to the index again."""
        return self._writer.retry_on_conflict(lambda: self._reindex(owner, id), _busy(id))

    def draft(self, owner: Owner, document: Document, version: str, content: bytes) -> DocumentDraft:
        """The document with its current text, to replace the record of that version."""
        root = self._catalog.root(owner, document.root) if document.root else None
        folder = root and root.folder
        return self._writer.draft(document.id, document.path, document.root, content, version, document, folder=folder)

    def deleted_uploads(self, owner: Owner) -> list[DeletedDocument]:
        """The uploaded documents that a tool deleted."""
        return [one for one in self._deletions.every(owner) if one.sha256]

    def remove_upload(self, owner: Owner, path: str) -> None:
        """Remove the uploaded document at that path, if there is one. History keeps a text that a tool wrote since."""
        self._catalog.refused.end(owner, path)
        with self._locked(owner, path):
            self._deletions.end(owner, path)
            document = self._catalog.find(owner, path).document
            if document is None or document.root is not None or document.uploaded_sha256 is None:
                return
            self._keep_in_history(owner, document, self._text(owner, document.id), None, "the removal of an upload")
            self._pass_on_path(owner, document)
            self._blobs.remove(owner, blob_key(document.id))  # first: after a crash, a second try finds the record
            self._writer.remove(owner, document.id)

    def remove(self, owner: Owner, documents: Iterable[Document]) -> None:
        """Remove documents and their history. Files stay on disk; texts in the blob store are deleted."""
        removed = list(documents)
        self._history.forget(owner, [document.path for document in removed])
        for document in removed:
            with self._locked(owner, document.path):
                if document.root is None:  # first: after a crash, a second try finds the record
                    self._blobs.remove(owner, blob_key(document.id))
                self._writer.remove(owner, document.id)
        self._catalog.remove_empty_roots(owner)

    def _add(self, owner: Owner, path: str, content: bytes) -> Document:
        entry = self._catalog.find(owner, path)
        held = entry.document
        if held and held.root is not None:
            raise Refused(f"{path} is a file on this machine", "Choose another path", code="PATH_TAKEN")
        uploaded, now = str(hash_of(content)), self._text(owner, entry.id)
        deleted = None if held else self._deletions.find(owner, path)
        if deleted and deleted.sha256 == uploaded:
            raise StaysDeletedError(path)
        if held and held.uploaded_sha256 == uploaded and (now == content or self._is_from_tool(owner, path, now)):
            is_indexed = held.sha256 == hash_of(now) and self._writer.is_indexed(owner, held)
            return held if is_indexed else self.reindex(owner, held.id)
        draft = self._writer.draft(entry.id, path, None, content, entry.version, held)
        draft = replace(draft, document=replace(draft.document, uploaded_sha256=uploaded))
        draft = self._writer.embed_one(owner, draft)
        with self._locked(owner, path):
            document = self._put(owner, draft, content)
        if deleted:
            self._deletions.end(owner, path)
        return document

    def _put(self, owner: Owner, draft: DocumentDraft, content: bytes) -> Document:
        """Write the draft; `Conflict` if another writer has replaced the draft's version."""
        document = draft.document
        held, version = self._catalog.with_version(owner, document.id)
        if version != draft.version:
            raise lost_race("document")
        if held:  # its hash is not that of the new text, if the process ends before the record is written
            version = self._catalog.put(owner, replace(held, sha256="", model=None), version)
        self._keep_in_history(owner, held or document, self._text(owner, document.id), content, "an upload")
        self._blobs.write(owner, blob_key(document.id), content)
        return self._writer.write(owner, replace(draft, version=version))

    def _reindex(self, owner: Owner, id: str) -> Document:
        document, version = self._catalog.with_version(owner, id)
        if document is None:
            raise self._unknown.error(owner, id)
        draft = self.draft(owner, document, version, self.content(owner, document))
        return self._writer.write(owner, self._writer.embed_one(owner, draft))

    def _pass_on_path(self, owner: Owner, gone: Document) -> None:
        """Record the path as a former one of new documents with the same text: it moved there, and links follow it."""
        if not gone.sha256:
            return
        for id in sorted({*self._catalog.noted_texts(owner, gone.sha256)} - {gone.id}):
            document, version = self._catalog.with_version(owner, id)
            if document is None or document.sha256 != gone.sha256:
                continue
            before = replace(gone, former=(*gone.former, *document.former))
            former, written_at = former_paths(before, document.path, gone.sha256)
            heir = replace(document, former=former, written_at=document.written_at or written_at)
            with suppress(Conflict):  # somebody is writing it, with another text
                self._catalog.put(owner, heir, version)

    @contextmanager
    def _locked(self, owner: Owner, path: str) -> Generator[None]:
        """Hold the document's write lock, or raise `Unavailable` if another writer keeps it."""
        with self._locks.take(owner, lock_name(path), LOCK_WAIT_SECONDS) as is_ours:
            if not is_ours:
                raise Unavailable(f"Somebody else writes {path}", "Try again in a minute", code="BUSY")
            yield

    def _keep_in_history(self, owner: Owner, held: Document, now: bytes | None, new: bytes | None, by: str) -> None:
        """Keep the current text if a tool wrote it and the new one differs."""
        if now != new and self._is_from_tool(owner, held.path, now):
            kept = Origin(held.sources) if held.trust else None
            past = PastWrite(now, hash_of(new) or "", self._writer.now(), by, kept=kept)
            self._history.keep(owner, held.path, past)

    def _is_from_tool(self, owner: Owner, path: str, text: bytes | None) -> bool:
        hash = hash_of(text)
        return hash is not None and self._history.is_written(owner, path, hash)

    def _text(self, owner: Owner, id: str) -> bytes | None:
        """The stored text, even if its writer was interrupted before the record; None if nothing is stored."""
        try:
            return self._blobs.read(owner, blob_key(id))
        except NotFound:
            return None

    def _at_path(self, owner: Owner, name: str) -> Document | None:
        """The document at that path, in the library or on this machine."""
        if not is_document(name) or not is_utf8(name) or "\0" in name:
            return None
        if not name.startswith(("/", "~")):
            return self._catalog.find(owner, plain_path(name)).document
        roots = self._catalog.roots(owner).values()
        file = os.path.realpath(os.path.expanduser(name)) if roots else name  # noqa: PTH111 (`Path` may raise)
        found = (
            self._catalog.find(owner, path_of(file, one)).document for one in roots if is_below(file, [one.folder])
        )
        return next((one for one in found if one and one.root), None)


def _busy(name: str) -> Unavailable:
    return Unavailable(f"Other writers keep changing {name}", "Try again when they are done", code="BUSY")
