"""Documents that come from elsewhere: uploads to a bucket, and the files that a client sends and keeps in step."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial

from loci.core.errors import Conflict, LociError, Refused, Unavailable
from loci.core.events import Tell, untold
from loci.core.identity import Owner
from loci.core.json import JsonObject, iso
from loci.core.storage_keys import UPLOADS, owner_and_rest, owner_prefix
from loci.core.stores import ABSENT
from loci.core.telemetry import Telemetry
from loci.documents.catalog import Catalog
from loci.documents.document import Document
from loci.documents.ingest.local_files import MAX_DOCUMENT_BYTES, SKIPPED_FOLDERS, is_document
from loci.documents.library import Library
from loci.documents.vacant_paths import StaysDeletedError
from loci.search.document_index import Uploads

CLOCK_SKEW = 3600.0
"""Seconds by which the clocks of S3 and of the ingestion may differ."""
PAGE = 1000
ATTEMPTS = 10
"""The most attempts at an object that is replaced while it is ingested."""


@dataclass(frozen=True, slots=True)
class UploadIngest:
    """Makes documents of uploads. It looks at the object as it is now, so notices may repeat, be late or unordered."""

    uploads: Uploads
    library: Library
    telemetry: Telemetry
    tell: Tell = untold

    def ingest_notice(self, notice: str) -> None:
        """Ingest every object that the notice names."""
        for key in self.uploads.named(notice):
            self.telemetry.upload_seen(key, is_document=self.ingest_object(key))

    def ingest_object(self, key: str) -> bool:
        """Store the object as a document, or remove its document if the object is gone. False if it is no document.

        `Refused` if it cannot be ingested; `Unavailable` if another try may help.
        """
        if not _is_candidate(key):
            return False
        try:
            owner, path = owner_and_path(key)
        except Refused:
            if self.uploads.version(key) == ABSENT:
                return False
            raise
        refused_version: str | None = None
        for _ in range(ATTEMPTS):
            try:
                version = self._apply(owner, path, key)
            except Conflict:
                raise
            except Refused as error:
                # Once more, in case another has replaced or removed it before the library had the reason.
                version = self.uploads.version(key)
                if version == refused_version:
                    self.tell(owner, "ingestion", {**_describe(path, "failed"), "code": error.code})
                    raise
                refused_version = version
                continue
            # Each writer compares after it has written: of two that write one document, the last has seen the newest.
            if self.uploads.version(key) == version:
                self.tell(owner, "ingestion", _describe(path, "removed" if version == ABSENT else "done"))
                return True
        raise Unavailable(f"{key} keeps changing", "Try again when nobody replaces it", code="UPLOAD_CHANGING")

    def has(self, key: str) -> bool:
        """True if there is such an object."""
        return self.uploads.version(key) != ABSENT

    def missed(self, owner: Owner, known: Sequence[Document]) -> list[str]:
        """The keys of the owner's uploads that are not among their `known` documents, or are newer."""
        prefix = upload_prefix(owner)
        known_at = {one.path: one.at for one in self.library.deleted_uploads(owner)}
        uploaded = (one for one in known if one.root is None and one.uploaded_sha256 is not None)
        known_at |= {one.path: one.ingested_at for one in uploaded}
        return [
            one.key
            for one in self.uploads.listed(prefix)
            if _is_candidate(one.key)
            and iso(one.modified + CLOCK_SKEW) > known_at.get(one.key.removeprefix(prefix), "")
        ]

    def owners(self) -> list[Owner]:
        """The owners that have an upload."""
        found: list[Owner] = []
        for tenant in self.uploads.folders(f"{UPLOADS}/"):
            for folder in self.uploads.folders(tenant):
                with suppress(Refused):  # nobody's: its notice was put aside
                    found.append(owner_and_path(f"{folder}any.md")[0])
        return found

    def _apply(self, owner: Owner, path: str, key: str) -> str:
        """Make the library match the object; return the object's version."""
        try:
            upload = self.uploads.read(key, MAX_DOCUMENT_BYTES)
        except Refused as error:
            self.library.refuse(owner, path, error)
            raise
        if upload is None:
            self.library.remove_upload(owner, path)
            return ABSENT
        try:
            document = self.library.add(owner, path, upload.content)
        except StaysDeletedError:
            return upload.version
        if not self.library.is_current(document):
            raise Unavailable(
                f"{key} can be found by its words only", "Try again, or see why the inference fails", code="WORDS_ONLY"
            )
        return upload.version


def _describe(path: str, state: str) -> JsonObject:
    return {"what": "document", "name": path, "state": state}


def upload_prefix(owner: Owner) -> str:
    """The first part of the keys of the owner's uploads."""
    return owner_prefix(UPLOADS, owner)


def owner_and_path(key: str) -> tuple[Owner, str]:
    """The owner of the upload and the path of its document. Refused if there can be no such upload."""
    owner, path = owner_and_rest(UPLOADS, key)
    if {"", ".", ".."} & set(path.split("/")):
        what = f"{key!r} has an empty part, or . or .., in its path"
        raise Refused(what, "Upload it without //, . and ..", code="BAD_PATH")
    return owner, path


def _is_candidate(key: str) -> bool:
    """True for documents that are not hidden, as in folders on a laptop."""
    names = key.split("/")[3:]
    is_hidden = any((one.startswith(".") and one.strip(".")) or one in SKIPPED_FOLDERS for one in names)
    return is_document(key) and not key.endswith("/") and not is_hidden


@dataclass(frozen=True, slots=True)
class UploadedDocument:
    """A document that was sent or uploaded."""

    path: str
    sha256: str
    """The hash of the upload, even if a tool has written the document since. Empty if the client should send it again:
    it is half written, the index lacks it, or an older parser or another model processed it."""


@dataclass(frozen=True, slots=True)
class Applied:
    """The document at that path is stored as sent, or removed; with an error, it is unchanged."""

    path: str
    error: LociError | None = None


@dataclass(frozen=True, slots=True)
class ClientSync:
    """Applies each change as a whole: after an interruption the client lists stored documents and sends the rest."""

    catalog: Catalog
    library: Library
    tell: Tell = untold

    def uploaded(self, owner: Owner, under: str, after: str | None) -> tuple[list[UploadedDocument], str | None]:
        """A page of the uploaded documents below that folder, and the next `after` (None: no more pages)."""
        documents, next_after = self.catalog.page(owner, PAGE, after)
        start = f"{under.strip('/')}/"
        uploaded = [one for one in documents if one.root is None and one.uploaded_sha256 is not None]
        here = [one for one in uploaded if one.path.startswith(start)]
        indexed = self.library.indexed(owner, here)
        found = [(one.path, one.uploaded_sha256 if one.id in indexed else "") for one in here]
        if next_after is None:
            # What was refused is named so that the client removes it when it is gone. What a tool deleted counts as
            # there: the client need not send it again.
            found += [(path, "") for path in self.catalog.refused.paths(owner)]
            found += [(one.path, one.sha256) for one in self.library.deleted_uploads(owner)]
        return [UploadedDocument(path, hash or "") for path, hash in found if path.startswith(start)], next_after

    def apply(
        self, owner: Owner, sent: Sequence[tuple[str, bytes]], removed: Sequence[str], is_late: Callable[[], bool]
    ) -> Iterator[Applied]:
        """Store and remove documents one by one. Once `is_late`, the rest is left for later; the first never is."""
        work: list[tuple[str, Callable[[], object]]] = [
            *((path, partial(self.library.add, owner, path, content)) for path, content in sent),
            *((path, partial(self.library.remove_upload, owner, path)) for path in removed),
        ]
        failed = 0
        for number, (path, change) in enumerate(work):
            error: LociError | None = None
            if number and is_late():
                error = Unavailable("The request took too long to get to this document", "Send it again", code="LATER")
            else:
                try:
                    with suppress(StaysDeletedError):
                        change()
                except LociError as reason:
                    error = reason
            failed += error is not None
            yield Applied(path, error)
        if work:
            counts: JsonObject = {"processed": len(work) - failed, "failed": failed}
            self.tell(owner, "ingestion", {"what": "documents", "where": "sent", "state": "done", **counts})
