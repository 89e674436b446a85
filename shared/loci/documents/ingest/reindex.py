"""Rebuild an owner's index from the stored texts, after it was lost or replaced, or after the embedder changed."""

import hashlib
import shlex
import time
from collections import deque
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, fields, replace
from functools import partial
from typing import TYPE_CHECKING, TypeVar

from loci.core.errors import Conflict, LociError, NotFound, Refused, Unavailable
from loci.core.identity import LOCAL, Owner, UnnamedOwner
from loci.core.stores import ABSENT
from loci.documents.catalog import Catalog
from loci.documents.document import Document
from loci.documents.ingest.index_writer import BATCH, COLLECTION, DocumentDraft, IndexWriter, Progress, no_progress
from loci.documents.ingest.lost_files import LostFiles
from loci.documents.ingest.outcome import FileFailure, MissingFolder
from loci.documents.ingest.uploads import UploadIngest, upload_prefix
from loci.documents.library import Library
from loci.search.document_index import DocumentIndex

if TYPE_CHECKING:
    from loci.documents.content.limited_parser import Tries

AT_ONCE = 500
"""Documents that the index is asked for at once."""
READERS = 8
"""Texts that are read ahead: a bucket far away answers slowly."""
PAUSES = (1.0, 5.0, 15.0)
"""Seconds before each further try, if a service is overloaded."""
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class ReindexSummary:
    """The outcome of a rebuild."""

    rebuilt: int = 0
    unchanged: int = 0
    """Documents that the index had already, from the same text, parser and model."""
    removed: tuple[str, ...] = ()
    """The paths of documents whose files are gone."""
    unknown: int = 0
    """Documents that only the index knew: their passages were removed."""
    without_vectors: tuple[str, ...] = ()
    """The paths of documents that the model failed to embed."""
    failed: tuple[FileFailure, ...] = ()
    kept: tuple[MissingFolder, ...] = ()

    @property
    def is_complete(self) -> bool:
        """True if the index now has everything that the catalog knows."""
        return not (self.failed or self.kept or self.without_vectors)

    def __add__(self, other: "ReindexSummary") -> "ReindexSummary":
        """Both together."""
        names = [one.name for one in fields(self)]
        return ReindexSummary(**{name: getattr(self, name) + getattr(other, name) for name in names})


class Reindex:
    """Writes what the index lacks, or has from another text, parser or model. The rest stays as it is.

    So a run that was stopped or killed goes on where it was. Others may read and write meanwhile: each document is
    written only if nobody else has written it since it was read.
    """

    def __init__(
        self,
        catalog: Catalog,
        writer: IndexWriter,
        index: DocumentIndex,
        library: Library,
        pause: Callable[[float], None] = time.sleep,
    ) -> None:
        self._catalog = catalog
        self._writer = writer
        self._index = index
        self._library = library
        self._pause = pause

    def run(
        self, owner: Owner, progress: Progress = no_progress, uploads: UploadIngest | None = None
    ) -> ReindexSummary:
        """Rebuild the index of one owner. With `uploads`, begin with those that the catalog does not know."""
        run = _Run()
        missed = uploads.missed(owner, self._catalog.documents(owner)) if uploads else []
        every = len(missed) + len(self._catalog.ids(owner))
        for key in missed:
            self._take_upload(owner, key, uploads, run)
            progress(run.next(), every, key)
        documents = list(self._catalog.with_versions(owner))
        files = LostFiles.of([one for one, _ in documents], self._catalog.roots(owner))
        every = len(missed) + len(documents)
        try:
            for start in range(0, len(documents), AT_ONCE):
                some = documents[start : start + AT_ONCE]
                indexed = self._patiently(lambda some=some: self._writer.indexed(owner, [one for one, _ in some]))
                for document, version, content in self._texts(owner, some):
                    if document.root is None and document.path in run.taken:
                        pass
                    elif isinstance(content, LociError):
                        self._without_text(owner, document, content, files, uploads, run)
                    elif document.id in indexed and document.sha256 == hashlib.sha256(content).hexdigest():
                        run.summary += ReindexSummary(unchanged=1)
                    else:
                        self._draft(owner, document, version, content, run)
                    progress(run.next(), every, document.path)
            self._flush(owner, run)
        finally:
            if run.is_careful is not None:
                self._catalog.end_ingest(owner)
        return run.summary + ReindexSummary(unknown=self._remove_unknown(owner), kept=files.missing)

    def has_documents(self, owner: Owner) -> bool:
        """True if the catalog knows any."""
        return next(self._catalog.each(owner), None) is not None

    def _take_upload(self, owner: Owner, key: str, uploads: UploadIngest | None, run: "_Run") -> None:
        if uploads is None:
            return
        path = key.removeprefix(upload_prefix(owner))
        before = self._catalog.find(owner, path).version
        try:
            self._patiently(lambda: uploads.ingest_object(key))
        except Unavailable as error:
            if error.code != "WORDS_ONLY":
                raise
            run.summary += ReindexSummary(without_vectors=(key,))
        except Refused as error:
            run.fail(key, str(error))
        else:
            if self._catalog.find(owner, path).version != before:
                run.taken.add(path)
                run.summary += ReindexSummary(rebuilt=1)

    def _texts(
        self, owner: Owner, documents: Sequence[tuple[Document, str]]
    ) -> Iterator[tuple[Document, str, bytes | LociError]]:
        """Each document with its version and its text, or with the reason why there is none."""
        waiting = deque[tuple[Document, str, Future[bytes]]]()
        left = iter(documents)
        with ThreadPoolExecutor(READERS, thread_name_prefix="texts") as threads:
            while True:
                for document, version in left:
                    waiting.append((document, version, threads.submit(self._library.content, owner, document)))
                    if len(waiting) > READERS:
                        break
                if not waiting:
                    return
                document, version, reading = waiting.popleft()
                try:
                    yield document, version, reading.result()
                except (NotFound, Refused) as error:
                    yield document, version, error

    def _without_text(
        self,
        owner: Owner,
        document: Document,
        error: LociError,
        files: LostFiles,
        uploads: UploadIngest | None,
        run: "_Run",
    ) -> None:
        """Do what an ingest does: remove the document of a file that is gone, keep those of a folder that is gone."""
        key = f"{upload_prefix(owner)}{document.path}"
        if document.root is None and uploads and uploads.has(key):
            self._take_upload(owner, key, uploads, run)
        elif document.id in files.kept or self._catalog.with_version(owner, document.id)[1] == ABSENT:
            return  # `ReindexSummary.kept` names the folder, or somebody has just removed the document
        elif document.id in files.gone:
            self._writer.remove(owner, document.id)
            run.summary += ReindexSummary(removed=(document.path,))
        elif document.id in files.moved:
            what = f"It has another name now. Run: loci ingest {shlex.quote(files.moved[document.id])}"
            run.fail(document.path, what)
        else:
            run.fail(document.path, str(error))

    def _draft(self, owner: Owner, document: Document, version: str, content: bytes, run: "_Run") -> None:
        path, root, tries, day = (
            document.path,
            document.root,
            self._tries(owner, run),
            self._library.changed_on(owner, document),
        )
        draft = self._writer.draft(document.id, path, root, content, version, document, tries, changed_on=day)
        if draft.document.sha256 == document.sha256:  # its text is as old as before
            draft = replace(draft, document=replace(draft.document, ingested_at=document.ingested_at))
        run.drafts.append(draft)
        if sum(max(1, len(one.chunks)) for one in run.drafts) >= BATCH:
            self._flush(owner, run)

    def _flush(self, owner: Owner, run: "_Run") -> None:
        unwritten, run.drafts = run.drafts, []
        drafts = self._patiently(lambda: self._writer.embed(owner, unwritten)).drafts
        with self._together():
            written = [self._patiently(partial(self._writer.try_write, owner, draft)) for draft in drafts]
        for draft, outcome in zip(drafts, written, strict=True):
            if isinstance(outcome, Conflict):  # somebody has written it, perhaps only its record
                outcome = self._patiently(partial(self._written_again, owner, draft.document.id))
            match outcome:
                case None:
                    pass
                case Document():
                    is_embedded = self._writer.model() in (None, outcome.model)
                    run.summary += ReindexSummary(1, without_vectors=() if is_embedded else (outcome.path,))
                case NotFound() | Refused():
                    run.fail(draft.document.path, str(outcome))

    @contextmanager
    def _together(self) -> Generator[None]:
        """Several writes, which may cost less together. Others may keep writing for a while before they begin."""
        with ExitStack() as writes:
            self._patiently(lambda: writes.enter_context(self._writer.together()))
            yield

    def _written_again(self, owner: Owner, id: str) -> Document | NotFound | Refused | None:
        """The document as it is now, indexed; None if somebody has removed it meanwhile."""
        if self._catalog.document(owner, id) is None:
            return None
        try:
            return self._library.reindex(owner, id)
        except (NotFound, Refused) as error:
            return error

    def _remove_unknown(self, owner: Owner) -> int:
        held = self._patiently(lambda: self._index.documents(owner, COLLECTION))
        unknown = held.keys() - self._catalog.ids(owner)
        for id in unknown:
            self._index.remove(owner, COLLECTION, id)
            if self._catalog.document(owner, id):  # somebody has just ingested it
                self._library.reindex(owner, id)
        return len(unknown)

    def _tries(self, owner: Owner, run: "_Run") -> "Tries":
        from loci.documents.content.limited_parser import Tries  # 0.1 s, which a search does not pay

        if run.is_careful is None:
            run.is_careful = self._catalog.begin_ingest(owner)
        return Tries(is_careful=run.is_careful)

    def _patiently(self, call: Callable[[], T]) -> T:
        for seconds in PAUSES:
            try:
                return call()
            except Unavailable as error:
                if error.code == "WORDS_ONLY":
                    raise
                self._pause(seconds)
        return call()


@dataclass(slots=True)
class _Run:
    """A rebuild that has begun."""

    summary: ReindexSummary = ReindexSummary()
    """The outcome so far."""
    done: int = 0
    taken: set[str] = field(default_factory=set[str])
    """The paths of documents that were written from their uploads."""
    is_careful: bool | None = None
    drafts: list[DocumentDraft] = field(default_factory=list[DocumentDraft])

    def next(self) -> int:
        self.done += 1
        return self.done

    def fail(self, path: str, reason: str) -> None:
        self.summary += ReindexSummary(failed=(FileFailure(path, reason),))


@dataclass(frozen=True, slots=True)
class IndexRebuild:
    """The rebuild of all owners' indexes on one runtime."""

    reindex: Reindex
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
        others = [UnnamedOwner(key) for key in self.owner_keys() if key not in known]
        return [*named, *(one for one in others if self.reindex.has_documents(one))]

    def run(self, owner: Owner, progress: Progress = no_progress) -> ReindexSummary:
        """Rebuild the index of one owner. Uploads name their owners, so who has some is no unnamed one."""
        return self.reindex.run(owner, progress, None if isinstance(owner, UnnamedOwner) else self.uploads)
