"""Changes of documents by tools: written, tagged, moved, deleted, and taken back."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from loci.core.errors import NotFound
from loci.core.full_disk import freeing
from loci.core.identity import Owner
from loci.documents.document import Document
from loci.documents.document_ids import DOCUMENT_ID
from loci.documents.parts import DocumentParts
from loci.documents.writing.authoring import EditDraft, missing
from loci.documents.writing.edits import UndoneWrite, WrittenDocument

if TYPE_CHECKING:
    from loci.documents.writing.moving import MovedDocument


@dataclass(frozen=True, slots=True)
class AddedTags:
    """Tags that were added to a document, or would be."""

    written: WrittenDocument
    document: Document | None
    added: tuple[str, ...]
    is_merged: bool
    """True if they joined tags that were there."""


class DocumentChanges:
    """Changes every owner's documents. Each change can be taken back."""

    def __init__(self, parts: DocumentParts) -> None:
        self._parts = parts

    def add_tags(self, owner: Owner, name: str, tags: Sequence[str], *, dry_run: bool) -> AddedTags:
        """Write tags into a document that lacks them. A dry run writes nothing."""
        from loci.documents.writing.tagging import TaggedText, tagged  # 0.1 s, which a search does not pay

        done: list[TaggedText] = []

        def change(path: str, before: bytes | None) -> bytes:
            if before is None:
                raise missing(name)
            done[:] = [tagged(path, before, list(tags))]
            return done[0].content

        self._check_id(owner, name)
        written = self._parts.edits.change(owner, name, change, expect=None, by="inject_tags", dry_run=dry_run)
        document = written.document or self._parts.catalog.find(owner, written.target.path).document
        return AddedTags(written, document, done[0].added, done[0].is_merged)

    def write(self, owner: Owner, name: str, draft: EditDraft, *, expected_hash: str | None) -> WrittenDocument:
        """Create a document or change its text. Refused if it changed since it had the expected hash."""
        if draft.mode != "create":
            self._check_id(owner, name)

        edits = self._parts.edits
        return edits.change(owner, name, draft.apply, expect=expected_hash, by="write_document", with_links=True)

    @freeing()
    def delete(self, owner: Owner, name: str, *, expected_hash: str) -> WrittenDocument:
        """Delete a document. Refused if it changed since it had the expected hash."""
        self._check_id(owner, name)
        return self._parts.edits.delete(owner, name, expect=expected_hash, by="delete_document")

    def move(self, owner: Owner, name: str, to: str, *, expected_hash: str | None) -> "MovedDocument":
        """Move a document to another path, and rewrite the links that lead to it: all or nothing."""
        self._check_id(owner, name)
        return self._parts.edits.move(owner, name, to, expect=expected_hash)

    def undo(self, owner: Owner, name: str, *, expected_hash: str | None) -> UndoneWrite:
        """Take back the last write of a tool to a document, or its deletion."""
        if DOCUMENT_ID.fullmatch(name) and self._parts.catalog.document(owner, name) is None:
            advice = "If it was deleted, name it by its path, as in notes/plan.md"
            raise NotFound(f"There is no document {name}", advice, code="NODE_NOT_FOUND")
        return self._parts.edits.undo(owner, name, expect=expected_hash)

    def _check_id(self, owner: Owner, name: str) -> None:
        """If the name is an id of no document, name ids that look like it."""
        if DOCUMENT_ID.fullmatch(name):
            self._parts.library.get(owner, name)
