"""Write documents into the index: parse, cut into passages, embed, store."""

import hashlib
import random
import time
from base64 import b64decode, b64encode
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Protocol, TypeVar, cast

from loci.core.deadline import is_nearly_over, out_of_time
from loci.core.errors import Conflict, Damaged, LociError, NotFound, OutOfTime, Refused, Unavailable
from loci.core.identity import Owner
from loci.core.ids import content_id
from loci.core.json import JsonObject, iso
from loci.core.stores import ABSENT, Record, read_or_none
from loci.documents.catalog import Catalog
from loci.documents.document import Document, FileStamp
from loci.documents.filtering import marks_of
from loci.documents.ingest.git_dates import GitDates
from loci.documents.ingest.local_files import below_root, file_day
from loci.documents.link_table import LinkTable
from loci.markdown.nouns import NO_LINKS, WrittenLinks
from loci.search.document_index import DocumentIndex
from loci.search.inference import Embedder, Embedding
from loci.search.ranking import Chunk, TagsAndDate

if TYPE_CHECKING:
    from loci.documents.ingest.cutting import CutDocument

COLLECTION = "documents"
PARSER_VERSION = 10
"""Add one when the parser reads more out of documents: documents that an older version read are then read again."""
MAX_FORMER_PATHS = 8
BATCH = 128
"""Chunks that are embedded together."""
KIND = "embedded"
"""Records of the embeddings of a long document on their way: a second try goes on where the first one stopped."""
PORTION = 64
"""Passages of a long document that are embedded and kept together."""
KEPT_SECONDS = 86_400.0
SPARE = 0.15
"""The share of a call's time that no new portion may begin in: the model would not answer in time."""
RETRY_PAUSES = (0.0, 0.01, 0.03, 0.1, 0.3, 1.0)
"""The longest pause before each try, in seconds. It is random: several losers of a race would all lose again."""

T = TypeVar("T")
Portion = Callable[[int, int], None]
"""Gets the number of passages of a long document that are embedded, and the number of all."""


class Progress(Protocol):
    """Receives the progress of an ingest."""

    def __call__(self, done: int, total: int, path: str, note: str = "", /) -> None:
        """The number of documents done, of all, and the path of the last one; with a note, of a long one under way."""
        ...


def no_progress(done: int, total: int, path: str, note: str = "", /) -> None:
    """Ignore progress."""


def no_portion(done: int, total: int) -> None:
    """Ignore how far a document is."""


@dataclass(frozen=True, slots=True)
class DocumentDraft:
    """A document that is ready to be embedded and written."""

    document: Document
    version: str
    """The version of the record that it replaces."""
    chunks: tuple[Chunk, ...]
    mentions: WrittenLinks = NO_LINKS


@dataclass(frozen=True, slots=True)
class EmbeddedDrafts:
    """Drafts with all the embeddings that are available now."""

    drafts: tuple[DocumentDraft, ...]
    new_embeddings: int
    """Embeddings that the model made for this call."""


class IndexWriter:
    """Writes each document as a whole: after a crash or a lost race, its record shows that it is incomplete."""

    def __init__(
        self,
        catalog: Catalog,
        index: DocumentIndex,
        embedder: Embedder,
        clock: Callable[[], float],
    ) -> None:
        self._portions: dict[tuple[Owner, str], list[str]] = {}
        """The keys of the portions that are kept until their document is written."""
        self._catalog = catalog
        self._index = index
        self._embedder = embedder
        self.clock = clock
        self._git = GitDates()
        self.links = LinkTable(catalog)

    def retry_on_conflict(self, write: Callable[[], T], busy: LociError) -> T:
        """Call `write` until it does not lose a race with another writer; raise `busy` if it always does."""
        for longest in RETRY_PAUSES:
            time.sleep(random.uniform(0, longest))  # noqa: S311 (nobody gains by guessing it)
            with suppress(Conflict):
                return write()
        raise busy

    def now(self) -> str:
        """The current time, as documents and their history store it."""
        return iso(self.clock())

    def model(self) -> str | None:
        """The identity of the current embedding model, if there is one."""
        model = self._embedder.model()
        return model and model.identity

    def index_state(self, owner: Owner) -> str:
        """A token that changes with the owner's passages; use it to validate caches."""
        return self._index.state(owner, COLLECTION)

    def is_current(self, document: Document) -> bool:
        """True if the current parser read it and the current model, if there is one, embedded it."""
        return document.parser_version == PARSER_VERSION and self.model() in (None, document.model)

    def indexed(self, owner: Owner, documents: Iterable[Document]) -> set[str]:
        """The ids of the documents that are written whole, current, and in the index, which may be new."""
        current = {one.id: one.chunks for one in documents if one.sha256 and self.is_current(one)}
        held = self._index.documents(owner, COLLECTION, [*current]) if current else {}
        return {id for id, chunks in current.items() if held.get(id, 0) == chunks}

    def is_indexed(self, owner: Owner, document: Document) -> bool:
        """True if `indexed` has the document."""
        return document.id in self.indexed(owner, [document])

    def draft(
        self,
        id: str,
        path: str,
        root: str | None,
        content: bytes,
        version: str,
        before: Document | None = None,
        cut: "CutDocument | None" = None,
        changed_on: str | None = None,
        folder: str | None = None,
        stamp: FileStamp | None = None,
    ) -> DocumentDraft:
        """Parse the document and cut it into passages, unless it is `cut` already.

        `before` is its old record, perhaps from another path. `folder`: the one of its root, if it has a file, which
        then says the day of its last change. Without a folder that is `changed_on`, if it is known. `stamp`: the one of
        its file, from before the content was read.
        """
        from loci.documents.ingest.cutting import cut_for  # 0.1 s, which a search does not pay

        cut = cut or cut_for(self._embedder, id, path, content)
        sha256 = hashlib.sha256(content).hexdigest()
        former, written_at = former_paths(before, path, sha256)
        committed_on = None
        if folder is not None:
            committed_on = self._git.day(folder, below_root(path), content) if cut.date is None else None
            changed_on = committed_on or file_day(folder, below_root(path))
        changed_on = changed_on or self._changed_on(before, sha256)
        # A change that keeps the day of the last one keeps what says it.
        is_by_git = committed_on or (before and before.date_from == "git" and before.changed_on == changed_on)
        # An edit of a file may leave texts of others in it, and so may a write that was interrupted.
        is_open = folder is not None or (before is not None and not before.sha256)
        is_kept = before is not None and (before.sha256 == sha256 or (is_open and before.trust == "foreign"))
        document = Document(
            id=id,
            path=path,
            root=root,
            title=cut.title,
            tags=cut.tags,
            date=cut.date and cut.date.day,
            sha256=sha256,
            bytes=len(content),
            lines=cut.lines,
            chunks=len(cut.chunks),
            model=None,
            ingested_at=self.now(),
            problems=cut.problems,
            parser_version=PARSER_VERSION,
            former=former,
            written_at=written_at,
            uploaded_sha256=before.uploaded_sha256 if before and before.path == path else None,
            date_from=cut.date.source if cut.date else "git" if is_by_git else None,
            changed_on=changed_on,
            properties=cut.properties,
            written_by_tool=before is not None and before.written_by_tool and before.sha256 == sha256,
            trust=before.trust if before and is_kept else None,
            sources=before.sources if before and is_kept else (),
            stamp=stamp or (before.stamp if before and (before.path, before.sha256) == (path, sha256) else None),
        )
        return DocumentDraft(document, version, cut.chunks, cut.said)

    def _changed_on(self, before: Document | None, sha256: str) -> str:
        """The day of a text that is in no file: today, unless it was there before."""
        is_same = before is not None and before.sha256 == sha256
        return (before.changed_on or before.ingested_at[:10]) if before and is_same else self.now()[:10]

    def write_record(self, owner: Owner, draft: DocumentDraft, before: Document) -> Document | None:
        """Write only the record of a document that the index has already as it is in the draft; None if it has not."""
        new, ids = draft.document, [one.id for one in draft.chunks]
        facts = [(one.sha256, one.chunks, marks_of(one), one.dated and one.dated.day) for one in (before, new)]
        if facts[0] != facts[1] or self.model() not in (None, before.model):
            return None
        held = self._index.chunks(owner, COLLECTION, ids)
        if any(one.id not in held or replace(held[one.id], embedding=None) != one for one in draft.chunks):
            return None
        stale = self.links.add(owner, new, draft.mentions, is_new=False)
        self._catalog.put_mentions(owner, new.id, draft.mentions)
        new = replace(new, model=before.model)
        self._catalog.put(owner, new, draft.version)
        self.links.drop(owner, stale)
        return new

    def embed(self, owner: Owner, drafts: Sequence[DocumentDraft], portion: Portion = no_portion) -> EmbeddedDrafts:
        """Give the drafts their embeddings. Only passages that none of the owner's documents has go to the model."""
        from loci.search.passages import embedded_text  # slow to import, as above

        model = self.model()
        every = [chunk for draft in drafts for chunk in draft.chunks]
        if model is None:
            return EmbeddedDrafts(tuple(drafts), 0)
        held = self._index.embeddings(owner, model, list({chunk.hash for chunk in every}))
        missing = {
            chunk.hash: embedded_text(chunk.heading, chunk.text, chunk.context)
            for chunk in every
            if chunk.hash not in held
        }
        try:
            made, new_ones = self._made(owner, drafts, model, missing, portion)
        except OutOfTime:  # the next try goes on from here
            raise
        except Unavailable:  # the model went away: documents can still be found by their words
            if is_nearly_over(SPARE):
                raise out_of_time() from None
            return EmbeddedDrafts(tuple(drafts), 0)
        if made:  # a model that was just installed may have made them
            model = next(iter(made.values())).model
        known = {hash: one for hash, one in (held | made).items() if one.model == model}
        return EmbeddedDrafts(tuple(_with_embeddings(draft, known, model) for draft in drafts), new_ones)

    def _made(
        self, owner: Owner, drafts: Sequence[DocumentDraft], model: str, missing: Mapping[str, str], report: Portion
    ) -> tuple[dict[str, Embedding], int]:
        """The embeddings by the hashes of the passages, and how many of them the model has made for this call.

        Each portion of a document that has several is kept until the document is written.
        """
        hashes = list(missing)
        if len(drafts) != 1 or len(hashes) <= PORTION:
            return dict(zip(hashes, self._embedder.passages(list(missing.values())), strict=True)), len(hashes)
        made, new_ones, keys, document = dict[str, Embedding](), 0, list[str](), drafts[0].document.id
        for start in range(0, len(hashes), PORTION):
            portion = hashes[start : start + PORTION]
            key = f"{document}/{content_id(model, *portion, length=32)}"
            kept = read_or_none(self._catalog.records.get(owner, KIND, key), _embeddings)
            if kept is None:
                if is_nearly_over(SPARE):
                    raise out_of_time()
                new = self._embedder.passages([missing[hash] for hash in portion])
                kept = dict(zip(portion, new, strict=True))
                new_ones += len(new)
                value: JsonObject = {
                    hash: [one.model, b64encode(one.vector).decode(), b64encode(one.bits).decode()]
                    for hash, one in kept.items()
                }
                until = self.clock() + KEPT_SECONDS
                self._catalog.records.put(owner, KIND, key, value, expires_at=until, durable=False)
            made |= kept
            report(len(made), len(hashes))
            keys.append(key)
        self._portions[owner, document] = keys
        return made, new_ones

    def embed_one(self, owner: Owner, draft: DocumentDraft) -> DocumentDraft:
        """Give one draft its embeddings."""
        return self.embed(owner, [draft]).drafts[0]

    def together(self) -> AbstractContextManager[None]:
        """Several writes of this thread, which may cost less together."""
        return self._index.together()

    def write(self, owner: Owner, draft: DocumentDraft) -> Document:
        """Write the document; `Conflict` if another writer has replaced the draft's version."""
        document = draft.document
        stale = self.links.add(owner, document, draft.mentions, is_new=draft.version == ABSENT)
        # Another writer that claims the record from here on makes the last step fail, and writes the whole itself.
        version = self._catalog.put(owner, replace(document, model=None, sha256=""), draft.version)
        has_none = draft.version == ABSENT and draft.mentions == NO_LINKS  # as most new documents
        if not has_none:  # before the index, whose new state tells caches to read these
            self._catalog.put_mentions(owner, document.id, draft.mentions)
        if document.root is None:  # before the index, too: who removes another upload with this text looks for it
            self._catalog.note_text(owner, document, self.clock())
        dated, is_new = document.dated, draft.version == ABSENT
        marks = TagsAndDate(marks_of(document), dated and dated.day)
        self._index.put(owner, COLLECTION, document.id, draft.chunks, marks, is_new=is_new)
        self._catalog.put(owner, document, version)
        self.links.drop(owner, stale)
        for key in self._portions.pop((owner, document.id), ()):
            self._catalog.records.remove(owner, KIND, key)
        return document

    def try_write(self, owner: Owner, draft: DocumentDraft) -> Document | NotFound | Refused:
        """Write the document, or return the error that concerns only this one: others are written together with it."""
        try:
            return self.write(owner, draft)
        except (NotFound, Refused) as error:
            return error

    def write_all(
        self, owner: Owner, drafts: Sequence[DocumentDraft], portion: Portion = no_portion
    ) -> tuple[list[tuple[DocumentDraft, Document | NotFound | Refused]], int]:
        """Embed and write drafts together. Returns the outcome of each, and the number of new embeddings."""
        embedded = self.embed(owner, drafts, portion)
        with self.together():
            return [(one, self.try_write(owner, one)) for one in embedded.drafts], embedded.new_embeddings

    def remove(self, owner: Owner, id: str) -> None:
        """Remove the document from index and catalog."""
        stale = self.links.of(owner, id)
        self._catalog.put_mentions(owner, id, NO_LINKS)
        with suppress(Damaged):  # the rebuild removes the passages of unknown documents
            self._index.remove(owner, COLLECTION, id)
        self._catalog.remove(owner, id)
        self.links.drop(owner, stale)


def former_paths(before: Document | None, path: str, sha256: str) -> tuple[tuple[str, ...], str | None]:
    """The earlier paths of a document that had the record `before`, and the path at which its text was written."""
    if before is None:
        return (), None
    written_at = before.written_at if before.sha256 == sha256 else None
    if before.path == path:
        return before.former, written_at
    former = dict.fromkeys((before.path, *before.former))
    former.pop(path, None)
    return tuple(former)[:MAX_FORMER_PATHS], written_at or (before.path if before.sha256 == sha256 else None)


def _with_embeddings(draft: DocumentDraft, known: Mapping[str, Embedding], model: str) -> DocumentDraft:
    chunks = tuple(replace(chunk, embedding=known.get(chunk.hash)) for chunk in draft.chunks)
    is_complete = all(chunk.embedding for chunk in chunks)
    return replace(draft, document=replace(draft.document, model=model if is_complete else None), chunks=chunks)


def _embeddings(record: Record) -> dict[str, Embedding]:
    rows = cast("dict[str, tuple[str, str, str]]", record.value)
    return {hash: Embedding(model, b64decode(vector), b64decode(bits)) for hash, (model, vector, bits) in rows.items()}
