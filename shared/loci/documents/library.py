"""The documents that were taken in: known, listed, read, forgotten."""

import hashlib
from collections.abc import Generator, Iterable, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path, PurePosixPath

from loci.core.errors import Conflict, NotFound, Refused, Unavailable
from loci.core.identity import Owner
from loci.core.stores import BlobStore, WriteLocks, lost_race
from loci.documents.catalog import Catalog
from loci.documents.document import Document, Text
from loci.documents.document_ids import LONGEST_WAIT, turn_of
from loci.documents.ingest.folder_scan import is_document
from loci.documents.ingest.index_writer import DocumentDraft, IndexWriter, history
from loci.documents.ingest.read_file import LARGEST, read_file
from loci.documents.ingest.roots import below_root, file_of, is_below
from loci.documents.writing.history import History, PastWrite, hash_of

NEAREST = 3
TEXTS = "documents/"
"""What the keys of texts begin with that are no files of this machine."""


class Library:
    """Every owner's documents. Those of this machine are read from their files, the others from the blob store."""

    def __init__(self, catalog: Catalog, writer: IndexWriter, blobs: BlobStore, turns: WriteLocks) -> None:
        self._catalog = catalog
        self._writer = writer
        self._blobs = blobs
        self._turns = turns
        self._history = History(blobs)

    def get(self, owner: Owner, id: str) -> Document:
        """What is known of it; `NotFound`, with the nearest ids, where there is none of that id."""
        document = self._catalog.document(owner, id)
        if document is None:
            raise self._missing(owner, id)
        return document

    def documents(self, owner: Owner) -> list[Document]:
        """All documents, by path."""
        return sorted(self._catalog.documents(owner), key=lambda document: document.path)

    def nearest(self, owner: Owner, id: str, limit: int = NEAREST) -> list[str]:
        """The ids that look most like this one, most alike first."""
        wanted = _threes(id)
        likeness = {one.id: _likeness(wanted, _threes(one.id)) for one in self._catalog.documents(owner)}
        close = [one for one, value in likeness.items() if value > 0]
        return sorted(close, key=lambda one: (-likeness[one], one))[:limit]

    def tagged(self, owner: Owner, wanted: Sequence[str], unwanted: Sequence[str], *, every: bool) -> list[Document]:
        """Those that have every one of the tags, or any; those with more of them first, then the newest."""
        found = [
            one
            for one in self._catalog.documents(owner)
            if (set(wanted) <= set(one.tags) if every else set(wanted) & set(one.tags))
            and not set(unwanted) & set(one.tags)
        ]
        found.sort(key=lambda one: one.path)
        found.sort(key=lambda one: (len(set(wanted) & set(one.tags)), one.date or ""), reverse=True)
        return found

    def folders(self, owner: Owner) -> list[str]:
        """The folders that documents are in, and those above them, as in `docs/`, `docs/briefs/`."""
        found = {above for one in self._catalog.documents(owner) for above in PurePosixPath(one.path).parents}
        return sorted(f"{folder}/" for folder in found if folder.name)

    def read(self, owner: Owner, id: str) -> Text:
        """The document as it reads now: its file, where it is one of this machine."""
        document = self.get(owner, id)
        from loci.documents.content.markdown import decoded  # 0.1 s, which a search does not pay

        content = self._content(owner, document)
        return Text(document, decoded(content)[0], hashlib.sha256(content).hexdigest())

    def matching(self, owner: Owner, name: str) -> list[Document]:
        """The document of that id or path, or all below that folder; a path may also be one of this machine."""
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
            raise self._missing(owner, name)
        return found

    def add(self, owner: Owner, path: str, content: bytes) -> Document:
        """Take in an upload: a text that is no file of this machine. It is kept, whole; what had that path is replaced.

        What a tool has written since this very upload stays. Over any other text of a tool it wins, and history keeps
        that one.
        """
        path = checked_path(path)
        if len(content) > LARGEST:
            raise Refused(f"{path} is larger than {LARGEST // 2**20} MB", "Split it", code="FILE_TOO_LARGE")
        return self._writer.insist(lambda: self._added(owner, path, content), _busy(path))

    def renew(self, owner: Owner, id: str) -> Document:
        """Write it anew from its text as it is now, whatever the index holds of it."""
        return self._writer.insist(lambda: self._renewed(owner, id), _busy(id))

    def drop(self, owner: Owner, path: str) -> None:
        """Forget the upload of that path; no error where there is none. History keeps what a tool wrote since."""
        with self._turn(owner, path):
            held = self._catalog.find(owner, path).document
            if held and held.root is None and held.uploaded is not None:
                self._keep(owner, path, self._text(owner, held.id), None, "the removal of an upload")
                self._bequeath(owner, held)
                self._blobs.remove(owner, blob_key(held.id))  # first: who finishes this later finds the document
                self._writer.remove(owner, held.id)

    def remove(self, owner: Owner, documents: Iterable[Document]) -> None:
        """Forget them. Their files stay where they are; the texts that are kept here go, former ones, too."""
        gone = list(documents)
        self._history.forget(owner, [document.path for document in gone])
        for document in gone:
            self._writer.remove(owner, document.id)
            if document.root is None:
                self._blobs.remove(owner, blob_key(document.id))
        self._catalog.remove_empty_roots(owner)

    def _added(self, owner: Owner, path: str, content: bytes) -> Document:
        known = self._catalog.find(owner, path)
        held = known.document
        if held and held.root is not None:
            raise Refused(f"{path} is a file of this machine", "Choose another path", code="PATH_TAKEN")
        uploaded, now = hash_of(content), self._text(owner, known.id)
        if held and held.uploaded == uploaded and (now == content or self._is_of_a_tool(owner, path, now)):
            is_found = held.sha256 == hash_of(now) and self._writer.is_current(held)
            return held if is_found else self.renew(owner, held.id)
        draft = self._writer.draft(known.id, path, None, content, known.version, held)
        draft = replace(draft, document=replace(draft.document, uploaded=uploaded))
        draft = self._writer.embed_one(owner, draft)
        with self._turn(owner, path):
            return self._put(owner, draft, content)

    def _renewed(self, owner: Owner, id: str) -> Document:
        document, version = self._catalog.version(owner, id)
        if document is None:
            raise self._missing(owner, id)
        content = self._content(owner, document)
        draft = self._writer.draft(id, document.path, document.root, content, version, document)
        return self._writer.write(owner, self._writer.embed_one(owner, draft))

    def _bequeath(self, owner: Owner, gone: Document) -> None:
        """To those that have its text now, which has been moved: links that name its path mean them."""
        for document, version in self._catalog.versions(owner):
            if gone.sha256 and document.sha256 == gone.sha256 and document.id != gone.id:
                former, written_at = history(
                    replace(gone, former=(*gone.former, *document.former)), document.path, gone.sha256
                )
                heir = replace(document, former=former, written_at=document.written_at or written_at)
                with suppress(Conflict):  # it is being written anew, and says something else now
                    self._catalog.put(owner, heir, version)

    @contextmanager
    def _turn(self, owner: Owner, path: str) -> Generator[None]:
        """No tool writes the document meanwhile."""
        with self._turns.take(owner, turn_of(path), LONGEST_WAIT) as has_turn:
            if not has_turn:
                raise Unavailable(f"Somebody else writes {path}", "Try again in a minute", code="BUSY")
            yield

    def _put(self, owner: Owner, draft: DocumentDraft, content: bytes) -> Document:
        """Written as in the draft; `Conflict` where somebody has written it since that was made."""
        document = draft.document
        if self._catalog.version(owner, document.id)[1] != draft.version:
            raise lost_race("document")
        self._keep(owner, document.path, self._text(owner, document.id), content, "an upload")
        self._blobs.write(owner, blob_key(document.id), content)
        return self._writer.write(owner, draft)

    def _keep(self, owner: Owner, path: str, now: bytes | None, new: bytes | None, by: str) -> None:
        """Keep the text of now where a tool wrote it, and it is to be another one, or none."""
        if now != new and self._is_of_a_tool(owner, path, now):
            self._history.keep(owner, path, PastWrite(now, hash_of(new) or "", self._writer.now(), by))

    def _is_of_a_tool(self, owner: Owner, path: str, text: bytes | None) -> bool:
        hash = hash_of(text)
        return hash is not None and self._history.is_written(owner, path, hash)

    def _text(self, owner: Owner, id: str) -> bytes | None:
        """The text that is kept, also where who wrote it was interrupted; None where there is none."""
        try:
            return self._blobs.read(owner, blob_key(id))
        except NotFound:
            return None

    def _content(self, owner: Owner, document: Document) -> bytes:
        if document.root is None:
            return self._blobs.read(owner, blob_key(document.id))
        root = self._catalog.root(owner, document.root)
        if root is None:
            raise NotFound(
                f"The folder that {document.path} lies in is not known any more",
                "Take it in again with: loci ingest FOLDER",
                code="ROOT_NOT_FOUND",
            )
        return read_file(root.folder, below_root(document.path))

    def _missing(self, owner: Owner, name: str) -> NotFound:
        near = self.nearest(owner, name)
        meant = f"Did you mean {', '.join(near)}? search_documents gives the ids of now"
        advice = meant if near else "Take documents in with: loci ingest PATH"
        return NotFound("Node not found.", advice, code="NODE_NOT_FOUND")


def blob_key(id: str) -> str:
    """Where the text of a document is kept that is no file of this machine."""
    return f"{TEXTS}{id}"


def _busy(name: str) -> Refused:
    return Refused(f"Others write {name} all the time", "Try again when they are done", code="BUSY")


def checked_path(path: str) -> str:
    """The path of a document without what only looks like a part of it; `Refused` where it leads out, or is none."""
    parts = [part for part in path.split("/") if part not in ("", ".")]
    if not parts or ".." in parts or not path.isprintable() or not is_document(path):
        raise Refused(f"{path!r} is no path of a document", "Name it as in briefs/auth.md, without ..", code="BAD_PATH")
    return "/".join(parts)


def _threes(text: str) -> frozenset[str]:
    padded = f"  {text.lower()} "
    return frozenset(padded[at : at + 3] for at in range(len(padded) - 2))


def _likeness(one: frozenset[str], other: frozenset[str]) -> float:
    return len(one & other) / len(one | other)
