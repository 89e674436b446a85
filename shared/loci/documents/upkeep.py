"""Keeps what an owner has whole and findable: repairs, embeds and reads again, and rebuilds an index that was lost."""

import hashlib
import os
import shlex
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TypeVar

from loci.core.errors import Conflict, LociError, NotFound, Refused, Unavailable
from loci.core.identity import LOCAL, Owner, UnnamedOwner
from loci.core.stores import ABSENT
from loci.core.whole_files import remove_if_left
from loci.documents.catalog import Catalog
from loci.documents.document import Document
from loci.documents.ingest.index_writer import (
    BATCH,
    COLLECTION,
    PARSER_VERSION,
    DocumentDraft,
    IndexWriter,
    Progress,
    no_progress,
)
from loci.documents.ingest.outcome import FileFailure
from loci.documents.ingest.uploads import UploadIngest, upload_prefix
from loci.documents.library import Library
from loci.documents.writing.stored_text import SCRATCH
from loci.search.document_index import DocumentIndex
from loci.search.inference import Embedder
from loci.search.ranking import QueryVector, Where

AT_ONCE = 64
"""Documents that the index is asked for at once, and whose texts are read ahead."""
READERS = 8
"""Texts that are read at the same time: a bucket far away answers slowly."""
PAUSES = (1.0, 5.0, 15.0)
"""Seconds before each further try, if a service is overloaded."""
T = TypeVar("T")


@dataclass(slots=True)
class ReindexSummary:
    """The outcome of a rebuild."""

    rebuilt: int = 0
    unchanged: int = 0
    """Documents that the index had already, from the same text, parser and model."""
    unknown: int = 0
    """Documents that only the index knew: their passages were removed."""
    without_vectors: list[str] = field(default_factory=list[str])
    """The paths of documents that the model failed to embed."""
    failed: list[FileFailure] = field(default_factory=list[FileFailure])

    @property
    def is_complete(self) -> bool:
        """True if the index now has everything that the catalog knows."""
        return not (self.failed or self.without_vectors)


class Upkeep:
    """Work beside the requests of callers. Others may read and write meanwhile, and what was stopped goes on."""

    def __init__(
        self,
        catalog: Catalog,
        writer: IndexWriter,
        index: DocumentIndex,
        embedder: Embedder,
        library: Library,
        repair: Callable[[Owner], int],
        pause: Callable[[float], None] = time.sleep,
    ) -> None:
        self._catalog = catalog
        self._writer = writer
        self._index = index
        self._embedder = embedder
        self._library = library
        self.repair = repair
        """Finishes or takes back the writes that a crash interrupted; returns their number."""
        self._pause = pause

    def sweep(self, owner: Owner) -> None:
        """Remove the temp files that killed writes left beside the owner's documents."""
        for root in self._catalog.roots(owner).values():
            for here, _, files in os.walk(root.folder):  # follows no links, and skips what cannot be read
                for name in filter(SCRATCH.fullmatch, files):
                    remove_if_left(Path(here, name))

    def model(self) -> str | None:
        """The identity of the model that embeds; None if there is none."""
        return self._writer.model()

    def warm_search(self) -> None:
        """Load the model and the vectors; otherwise the first search would wait half a second for them.

        The cross-encoder is not loaded: it may take gigabytes, and not every server gets a search.
        """
        with suppress(LociError):  # the first search reports the problem
            asked = self._embedder.query("warm")
            near = QueryVector.of(asked.model, asked.vector)
            self._index.candidates(LOCAL, COLLECTION, ["warm"], near, limit=1, where=Where())

    def warm_ingestion(self) -> None:
        """Load the model, so that the first file does not wait for it."""
        with suppress(LociError):
            if self._embedder.model():
                self._embedder.passages(["warm"])

    def read_again(self, owner: Owner, stop: Callable[[], bool]) -> None:
        """Read the documents again that an older version has read."""
        for document in [*self._library.cached(owner)]:
            if stop():
                return
            if document.parser_version < PARSER_VERSION:
                with suppress(LociError):  # its file may be gone: the next ingest says so
                    self._library.reindex(owner, document.id)

    def embed_missing(self, owner: Owner, stop: Callable[[], bool] = lambda: False) -> int:
        """Embed, from the index, what the current model has not embedded; return the number of documents."""
        model, done, batch = self.model(), 0, list[DocumentDraft]()
        todo = [one.id for one in self._catalog.documents(owner) if one.model != model] if model else []
        for number, id in enumerate(todo, 1):
            if draft := self._writer.draft_from_index(owner, id):
                batch.append(draft)
            if number < len(todo) and sum(len(one.chunks) for one in batch) < BATCH:
                continue
            for draft in self._writer.embed(owner, batch).drafts:
                if draft.document.model is None:  # the model went away again
                    return done
                with suppress(Conflict):  # another writer is ingesting it, and so embeds it
                    self._writer.write(owner, draft)
                    done += 1
            batch.clear()
            if stop():
                break
        return done

    def reindex(
        self, owner: Owner, progress: Progress = no_progress, uploads: UploadIngest | None = None
    ) -> ReindexSummary:
        """Write what the index lacks, or has from another text, parser or model. With `uploads`, begin with new ones.

        Each document is written only if nobody else has written it since it was read.
        """
        run = _Reindex(owner, self._catalog, self._writer, self._index, self._library, uploads, self._pause)
        return run.summary(progress)


class _Reindex:
    """One rebuild of the index of an owner."""

    def __init__(
        self,
        owner: Owner,
        catalog: Catalog,
        writer: IndexWriter,
        index: DocumentIndex,
        library: Library,
        uploads: UploadIngest | None,
        pause: Callable[[float], None],
    ) -> None:
        self._owner = owner
        self._catalog = catalog
        self._writer = writer
        self._index = index
        self._library = library
        self._uploads = uploads
        self._pause = pause
        self._found = ReindexSummary()
        self._taken = set[str]()
        """The paths of documents that were written from their uploads."""
        self._drafts = list[DocumentDraft]()

    def summary(self, progress: Progress) -> ReindexSummary:
        owner, uploads = self._owner, self._uploads
        missed = uploads.missed(owner, self._catalog.documents(owner)) if uploads else []
        total = len(missed) + len(self._catalog.ids(owner))
        for done, key in enumerate(missed, 1):
            self._take_upload(key)
            progress(done, total, key)
        documents = list(self._catalog.with_versions(owner))
        done, total = len(missed), len(missed) + len(documents)
        with ThreadPoolExecutor(READERS, thread_name_prefix="texts") as threads:
            for start in range(0, len(documents), AT_ONCE):
                some = documents[start : start + AT_ONCE]
                alone = [document for document, _ in some]
                indexed = self._patiently(partial(self._writer.indexed, owner, alone))
                for (document, version), content in zip(some, threads.map(self._text, alone), strict=True):
                    self._take(document, version, content, indexed)
                    done += 1
                    progress(done, total, document.path)
        self._flush()
        self._found.unknown = self._remove_unknown()
        return self._found

    def _text(self, document: Document) -> bytes | LociError:
        try:
            return self._library.content(self._owner, document)
        except (NotFound, Refused) as error:
            return error

    def _take(self, document: Document, version: str, content: bytes | LociError, indexed: set[str]) -> None:
        if document.root is None and document.path in self._taken:
            return
        if isinstance(content, LociError):
            self._without_text(document, content)
        elif document.id in indexed and document.sha256 == hashlib.sha256(content).hexdigest():
            self._found.unchanged += 1
        else:
            self._draft(document, version, content)

    def _take_upload(self, key: str) -> None:
        uploads, path = self._uploads, key.removeprefix(upload_prefix(self._owner))
        if uploads is None:
            return
        before = self._catalog.find(self._owner, path).version
        try:
            self._patiently(lambda: uploads.ingest_object(key))
        except Unavailable as error:
            if error.code != "WORDS_ONLY":
                raise
            self._found.without_vectors.append(key)
        except Refused as error:
            self._fail(key, str(error))
        else:
            if self._catalog.find(self._owner, path).version != before:
                self._taken.add(path)
                self._found.rebuilt += 1

    def _without_text(self, document: Document, error: LociError) -> None:
        """Take the text from its upload if there is one, else name the document and what to do."""
        key = f"{upload_prefix(self._owner)}{document.path}"
        if document.root is None and self._uploads and self._uploads.has(key):
            self._take_upload(key)
        elif self._catalog.with_version(self._owner, document.id)[1] != ABSENT:  # nobody has just removed it
            root = self._catalog.root(self._owner, document.root) if document.root else None
            is_gone = root is not None and isinstance(error, NotFound)
            advice = f"Run: loci ingest {shlex.quote(root.folder)}" if root and is_gone else error.resolution
            self._fail(document.path, f"{error.what}. {advice}")

    def _draft(self, document: Document, version: str, content: bytes) -> None:
        path, root, day = document.path, document.root, self._library.changed_on(self._owner, document)
        try:
            draft = self._writer.draft(document.id, path, root, content, version, document, changed_on=day)
        except Refused as error:
            self._fail(path, str(error))
            return
        if draft.document.sha256 == document.sha256:  # its text is as old as before
            draft = replace(draft, document=replace(draft.document, ingested_at=document.ingested_at))
        self._drafts.append(draft)
        if sum(max(1, len(one.chunks)) for one in self._drafts) >= BATCH:
            self._flush()

    def _flush(self) -> None:
        embedded = self._patiently(partial(self._writer.embed, self._owner, self._drafts)).drafts
        self._drafts = []
        with ExitStack() as writes:
            # Others may keep writing for a while before these writes begin.
            self._patiently(lambda: writes.enter_context(self._writer.together()))
            written = [self._patiently(partial(self._writer.try_write, self._owner, draft)) for draft in embedded]
        for draft, outcome in zip(embedded, written, strict=True):
            if isinstance(outcome, Conflict):  # somebody has written it, perhaps only its record
                outcome = self._patiently(partial(self._written_again, draft.document.id))
            match outcome:
                case None:
                    pass
                case Document():
                    self._found.rebuilt += 1
                    if self._writer.model() not in (None, outcome.model):
                        self._found.without_vectors.append(outcome.path)
                case NotFound() | Refused():
                    self._fail(draft.document.path, str(outcome))

    def _written_again(self, id: str) -> Document | NotFound | Refused | None:
        """The document as it is now, indexed; None if somebody has removed it meanwhile."""
        if self._catalog.document(self._owner, id) is None:
            return None
        try:
            return self._library.reindex(self._owner, id)
        except (NotFound, Refused) as error:
            return error

    def _remove_unknown(self) -> int:
        held = self._patiently(lambda: self._index.documents(self._owner, COLLECTION))
        unknown = held.keys() - self._catalog.ids(self._owner)
        for id in unknown:
            self._index.remove(self._owner, COLLECTION, id)
            if self._catalog.document(self._owner, id):  # somebody has just ingested it
                self._library.reindex(self._owner, id)
        return len(unknown)

    def _fail(self, path: str, reason: str) -> None:
        self._found.failed.append(FileFailure(path, reason))

    def _patiently(self, call: Callable[[], T]) -> T:
        for seconds in PAUSES:
            try:
                return call()
            except Unavailable as error:
                if error.code == "WORDS_ONLY":
                    raise
                self._pause(seconds)
        return call()


@dataclass(frozen=True, slots=True)
class IndexRebuild:
    """The rebuild of all owners' indexes on one runtime."""

    upkeep: Upkeep
    catalog: Catalog
    named_owners: Callable[[], list[Owner]]
    """Returns the owners who have an API key or a connection, or had one."""
    owner_keys: Callable[[], list[str]]
    """Returns the keys of all owners who have stored texts or files."""
    uploads: UploadIngest | None = None
    is_after_damage: bool = False
    """True if the index of every owner has to be rebuilt."""
    end: Callable[[], int] = lambda: 0
    """Ends the rebuild: writes the passages that the index lacks of files, and returns how many files these are."""

    def owners(self) -> list[Owner]:
        """The default owner, all whose names are kept, and all others who have documents."""
        uploaders = self.uploads.owners() if self.uploads else []
        named = list(dict.fromkeys([LOCAL, *self.named_owners(), *uploaders]))
        known = {one.key for one in named}
        others: Sequence[Owner] = [UnnamedOwner(key) for key in self.owner_keys() if key not in known]
        return [*named, *(one for one in others if next(self.catalog.each(one), None))]

    def run(self, owner: Owner, progress: Progress = no_progress) -> ReindexSummary:
        """Rebuild the index of one owner. The uploads of an owner say the name, so an unnamed one has none."""
        return self.upkeep.reindex(owner, progress, None if isinstance(owner, UnnamedOwner) else self.uploads)
