"""Keeps documents whole and findable: repairs, embeds and reads them again, and rebuilds an index that was lost."""

import hashlib
import shlex
import time
from collections.abc import Callable, Generator, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TypeVar

from loci.core.errors import Conflict, LociError, NotFound, Refused, Unavailable
from loci.core.identity import LOCAL, Owner, UnnamedOwner
from loci.core.json import Json
from loci.core.stores import ABSENT
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
from loci.search.document_index import DocumentIndex
from loci.search.inference import Embedder
from loci.search.ranking import QueryVector, Where

AT_ONCE = 64
"""Documents that the index is asked for at once, and whose texts are read ahead."""
READERS = 8
"""Texts that are read at the same time: a bucket far away answers slowly."""
PAUSES = (1.0, 5.0, 15.0)
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


@dataclass(frozen=True, slots=True)
class Upkeep:
    """Work in the background. Others may read and write meanwhile, and work that was stopped goes on."""

    catalog: Catalog
    writer: IndexWriter
    index: DocumentIndex
    embedder: Embedder
    library: Library
    repair: Callable[[Owner], int]
    """Finishes or takes back the writes that a crash interrupted; returns their number."""
    pause: Callable[[float], None] = time.sleep
    _all_read: dict[Owner, tuple[int, str]] = field(default_factory=dict[Owner, tuple[int, str]])
    """The writes and the state of the index after which no document of an older version was left."""

    def model(self) -> str | None:
        """The identity of the model that embeds; None without a model."""
        return self.writer.model()

    def warm_search(self) -> None:
        """Load the model and the vectors; otherwise the first search would wait half a second for them.

        The cross-encoder is not loaded: it may take gigabytes, and not every server gets a search.
        """
        with suppress(LociError):  # the first search reports the problem
            asked = self.embedder.query("warm")
            near = QueryVector.of(asked.model, asked.vector)
            self.index.candidates(LOCAL, COLLECTION, ["warm"], near, limit=1, where=Where())

    def warm_ingestion(self) -> None:
        """Load the model, so that the first file does not wait for it."""
        with suppress(LociError):
            if self.embedder.model():
                self.embedder.passages(["warm"])

    def read_again(self, owner: Owner, stop: Callable[[], bool]) -> None:
        """Read the documents again that an older version has read."""
        state = self.catalog.writes, self.writer.index_state(owner)
        if self._all_read.get(owner) == state:
            return
        old = self._outdated(owner, lambda one: one.parser_version < PARSER_VERSION, parser_version=PARSER_VERSION)
        self._renew(owner, old, stop)
        if not old:
            self._all_read[owner] = state

    def embed_missing(self, owner: Owner, stop: Callable[[], bool] = lambda: False) -> int:
        """Embed the passages that the current model has not embedded; return the number of documents."""
        model = self.model()
        return (
            self._renew(owner, self._outdated(owner, lambda one: one.model != model, model=model), stop) if model else 0
        )

    def renew(self, owner: Owner, needs_it: Callable[[Document], bool]) -> int:
        """Write these documents to the index again, until the model goes away; return their number."""
        return self._renew(owner, self._outdated(owner, needs_it), lambda: False)

    def _outdated(
        self, owner: Owner, needs_it: Callable[[Document], bool], **current: Json
    ) -> list[tuple[Document, str]]:
        """The documents that need it. None with these `current` fields does: their records are only glanced at."""
        return [(one, version) for one, version in self.catalog.with_versions(owner, **current) if needs_it(one)]

    def _renew(self, owner: Owner, documents: Sequence[tuple[Document, str]], stop: Callable[[], bool]) -> int:
        run = _Renewal(owner, self.catalog, self.writer, self.library)
        with closing(run.write(documents)) as written:
            for _ in written:
                if not run.drafts and (stop() or run.found.without_vectors):
                    break
        return run.found.rebuilt - len(run.found.without_vectors)

    def reindex(
        self, owner: Owner, progress: Progress = no_progress, uploads: UploadIngest | None = None
    ) -> ReindexSummary:
        """Write documents that the index lacks, or has in another state. With `uploads`, begin with new ones.

        Each document is written only if nobody else has written it since it was read.
        """
        run = _Renewal(owner, self.catalog, self.writer, self.library, uploads, PAUSES, self.pause)
        missed = uploads.missed(owner, self.catalog.documents(owner)) if uploads else []
        total = len(missed) + len(self.catalog.ids(owner))
        for done, key in enumerate(missed, 1):
            run.take_upload(key)
            progress(done, total, key)
        documents = list(self.catalog.with_versions(owner))
        with closing(run.write(documents)) as written:
            for done, path in enumerate(written, len(missed) + 1):
                progress(done, len(missed) + len(documents), path)
        held = run.patiently(lambda: self.index.documents(owner, COLLECTION))
        unknown = held.keys() - self.catalog.ids(owner)
        self.remove_unknown(owner, unknown)
        return replace(run.found, unknown=len(unknown))

    def fill(self, owner: Owner, after: str | None, *, most: int) -> str | None:
        """Write what the index lacks of the next documents; return the last one's id, None if no others follow."""
        documents, after = self.catalog.page_with_versions(owner, most, after)
        run = _Renewal(owner, self.catalog, self.writer, self.library)
        with closing(run.write(documents)) as written:
            for _ in written:
                pass
        if run.found.without_vectors:
            raise Unavailable("The model did not embed all passages", "It is tried again", code="WORDS_ONLY")
        return after

    def remove_unknown(self, owner: Owner, ids: Iterable[str]) -> None:
        """Remove the passages of documents that have no record."""
        for id in ids:
            self.index.remove(owner, COLLECTION, id)
            if self.catalog.document(owner, id):  # somebody has just ingested it
                self.library.reindex(owner, id)


@dataclass(slots=True)
class _Renewal:
    """Documents of an owner that are written to the index again."""

    owner: Owner
    catalog: Catalog
    writer: IndexWriter
    library: Library
    uploads: UploadIngest | None = None
    pauses: Sequence[float] = ()
    """Seconds before each further try, if a service is overloaded."""
    pause: Callable[[float], None] = time.sleep
    found: ReindexSummary = field(default_factory=ReindexSummary)
    taken: set[str] = field(default_factory=set[str])
    """The paths of documents that were written from their uploads."""
    drafts: list[DocumentDraft] = field(default_factory=list[DocumentDraft])

    def write(self, documents: Sequence[tuple[Document, str]]) -> Generator[str]:
        """Write the documents, given with their versions, that the index does not have as they are now.

        Yields the path of each that was looked at.
        """
        with ThreadPoolExecutor(READERS, thread_name_prefix="texts") as threads:
            for start in range(0, len(documents), AT_ONCE):
                some = documents[start : start + AT_ONCE]
                alone = [document for document, _ in some]
                indexed = self.patiently(partial(self.writer.indexed, self.owner, alone))
                for (document, version), content in zip(some, threads.map(self._text, alone), strict=True):
                    if document.root is not None or document.path not in self.taken:
                        self._take(document, version, content, is_indexed=document.id in indexed)
                    yield document.path
        self._flush()

    def _text(self, document: Document) -> bytes | LociError:
        try:
            return self.library.content(self.owner, document)
        except (NotFound, Refused) as error:
            return error

    def _take(self, document: Document, version: str, content: bytes | LociError, *, is_indexed: bool) -> None:
        if isinstance(content, LociError):
            self._without_text(document, content)
            return
        if is_indexed and document.sha256 == hashlib.sha256(content).hexdigest():
            self.found.unchanged += 1
            return
        try:
            draft = self.library.draft(self.owner, document, version, content)
        except Refused as error:
            self._fail(document.path, str(error))
            return
        if draft.document.sha256 == document.sha256:  # its text is as old as before
            draft = replace(draft, document=replace(draft.document, ingested_at=document.ingested_at))
        with suppress(Conflict):  # somebody writes it: then it is written whole, as it is then
            if document.parser_version < PARSER_VERSION and self.writer.write_record(self.owner, draft, document):
                self.found.unchanged += 1
                return
        self.drafts.append(draft)
        if sum(max(1, len(one.chunks)) for one in self.drafts) >= BATCH:
            self._flush()

    def take_upload(self, key: str) -> None:
        """Make a document of the upload, as it is now."""
        uploads, path = self.uploads, key.removeprefix(upload_prefix(self.owner))
        if uploads is None:
            return
        before = self.catalog.find(self.owner, path).version
        try:
            self.patiently(lambda: uploads.ingest_object(key))
        except Unavailable as error:
            if error.code != "WORDS_ONLY":
                raise
            self.found.without_vectors.append(key)
        except Refused as error:
            self._fail(key, str(error))
        else:
            if self.catalog.find(self.owner, path).version != before:
                self.taken.add(path)
                self.found.rebuilt += 1

    def _without_text(self, document: Document, error: LociError) -> None:
        """Take the text from its upload if there is one, else name the document and what to do."""
        key = f"{upload_prefix(self.owner)}{document.path}"
        if document.root is None and self.uploads and self.uploads.has(key):
            self.take_upload(key)
        elif self.catalog.with_version(self.owner, document.id)[1] != ABSENT:  # nobody has just removed it
            root = self.catalog.root(self.owner, document.root) if document.root else None
            is_gone = root is not None and isinstance(error, NotFound)
            advice = f"Run: loci ingest {shlex.quote(root.folder)}" if root and is_gone else error.resolution
            self._fail(document.path, f"{error.what}. {advice}")

    def _flush(self) -> None:
        drafts, self.drafts = self.drafts, []
        if not drafts:
            return
        written, _ = self.patiently(lambda: self.writer.write_all(self.owner, drafts))
        for draft, outcome in written:
            if isinstance(outcome, Conflict):  # somebody has written it, perhaps only its record
                outcome = self.patiently(partial(self._written_again, draft.document.id))
            if isinstance(outcome, Document):
                self.found.rebuilt += 1
                if self.writer.model() not in (None, outcome.model):
                    self.found.without_vectors.append(outcome.path)
            elif outcome is not None:
                self._fail(draft.document.path, str(outcome))

    def _written_again(self, id: str) -> Document | NotFound | Refused | None:
        """The document as it is now, indexed; None if it was removed meanwhile."""
        try:
            return self.library.reindex(self.owner, id) if self.catalog.document(self.owner, id) else None
        except (NotFound, Refused) as error:
            return error

    def _fail(self, path: str, reason: str) -> None:
        self.found.failed.append(FileFailure(path, reason))

    def patiently(self, call: Callable[[], T]) -> T:
        """Call again after a while if a service is overloaded."""
        for seconds in self.pauses:
            try:
                return call()
            except Unavailable as error:
                if error.code == "WORDS_ONLY":
                    raise
                self.pause(seconds)
        return call()


@dataclass(frozen=True, slots=True)
class IndexRebuild:
    """The rebuild of all owners' indexes on one runtime."""

    upkeep: Upkeep
    catalog: Catalog
    named_owners: Callable[[], list[Owner]]
    """Returns the owners that have an API key or a connection, or had one."""
    owner_keys: Callable[[], list[str]]
    """Returns the keys of all owners that have stored texts or files."""
    uploads: UploadIngest | None = None
    is_after_damage: bool = False
    """True if the index of every owner has to be rebuilt."""
    begin: Callable[[], str | None] = lambda: None
    """Gives the index the layout that it should have, and returns what was done."""
    end: Callable[[], int] = lambda: 0
    """Ends the rebuild: writes the passages that the index lacks of files, and returns how many files these are."""

    def owners(self) -> list[Owner]:
        """The default owner, all owners whose names are kept, and all others that have documents."""
        uploaders = self.uploads.owners() if self.uploads else []
        named = list(dict.fromkeys([LOCAL, *self.named_owners(), *uploaders]))
        known = {one.key for one in named}
        others: Sequence[Owner] = [UnnamedOwner(key) for key in self.owner_keys() if key not in known]
        return [*named, *(one for one in others if next(self.catalog.iterate(one), None))]

    def run(self, owner: Owner, progress: Progress = no_progress) -> ReindexSummary:
        """Rebuild the index of one owner. The uploads of an owner say the name, so an unnamed one has none."""
        return self.upkeep.reindex(owner, progress, None if isinstance(owner, UnnamedOwner) else self.uploads)
