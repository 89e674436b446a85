"""Documents into the index: read, cut, embedded, and written one by one."""

import hashlib
import random
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TypeVar

from loci.core.errors import Conflict, LociError, Unavailable
from loci.core.identity import Owner
from loci.core.moments import iso
from loci.documents.catalog import Catalog
from loci.documents.document import Document, Problem
from loci.documents.graph.link import NOTHING, Said
from loci.search.document_index import DocumentIndex
from loci.search.inference import Embedder, Embedding
from loci.search.ranking import Chunk, TagsAndDate

COLLECTION = "documents"
READING = 1
"""One more than before where more is read out of documents: those of before are read again."""
MOST_CHUNKS = 20_000
MOST_FORMER = 8
PAUSES = (0.0, 0.01, 0.03, 0.1, 0.3, 1.0)
"""Seconds at most before each try of who loses a race: several who go on at once would all lose again."""

T = TypeVar("T")
Progress = Callable[[int, int, str], None]
"""How many are done, of how many, and the path of the last one."""


def a_while(longest: float) -> None:
    """Wait for some part of so many seconds."""
    time.sleep(random.uniform(0, longest))  # noqa: S311 (nobody gains by guessing it)


def silent(done: int, total: int, path: str) -> None:
    """Progress that nobody looks at."""


@dataclass(frozen=True, slots=True)
class DocumentDraft:
    """A document that is ready to be embedded and written."""

    document: Document
    version: str
    """Of the record that it is to replace."""
    chunks: tuple[Chunk, ...]
    said: Said = NOTHING
    is_indexed: bool = False
    """The index has this text already, without these embeddings."""


@dataclass(frozen=True, slots=True)
class Embedded:
    """Drafts whose chunks have all the embeddings that can be had now."""

    drafts: tuple[DocumentDraft, ...]
    made: int
    """Embeddings that nobody had made before."""


class IndexWriter:
    """Writes documents, each whole: after a crash, or a race of two, what is known of one tells that it is not done."""

    def __init__(
        self,
        catalog: Catalog,
        index: DocumentIndex,
        embedder: Embedder,
        clock: Callable[[], float],
        pause: Callable[[float], None] = a_while,
    ) -> None:
        self._catalog = catalog
        self._index = index
        self._embedder = embedder
        self._clock = clock
        self._pause = pause

    def insist(self, write: Callable[[], T], busy: LociError) -> T:
        """What `write` gives when it does not lose the race with others that write the document; in the end `busy`."""
        for longest in PAUSES:
            self._pause(longest)
            with suppress(Conflict):
                return write()
        raise busy

    def now(self) -> str:
        """The moment, as documents and their history tell it."""
        return iso(self._clock())

    def model(self) -> str | None:
        """The identity of the model that embeds now."""
        model = self._embedder.model()
        return model and model.identity

    def is_current(self, document: Document) -> bool:
        """Whether it was read as it is now, and the model of now, if there is one, has embedded it."""
        return document.reading == READING and self.model() in (None, document.model)

    def draft(
        self, id: str, path: str, root: str | None, content: bytes, version: str, before: Document | None = None
    ) -> DocumentDraft:
        """The document, parsed and cut into passages. `before` is what was known of it, if anything was."""
        from loci.documents.content.markdown import parse  # 0.1 s, which a search does not pay
        from loci.search.passages import LONGEST, chunks, passages

        parsed = parse(path, content)
        model = self._embedder.model()
        longest = min(LONGEST, model.longest) if model else LONGEST
        found = passages(parsed.text, parsed.blocks, self._embedder.count, longest)
        problems = parsed.problems
        if len(found) > MOST_CHUNKS:
            line = parsed.text.count("\n", 0, found[MOST_CHUNKS].start) + 1
            problems += (Problem(f"Only its first {MOST_CHUNKS:,} passages are searched: split it", line),)
        kept = tuple(chunks(id, path, parsed.title, parsed.text, found[:MOST_CHUNKS]))
        sha256 = hashlib.sha256(content).hexdigest()
        former, written_at = history(before, path, sha256)
        document = Document(
            id=id,
            path=path,
            root=root,
            title=parsed.title,
            tags=parsed.tags,
            date=parsed.date,
            sha256=sha256,
            bytes=len(content),
            lines=parsed.lines,
            chunks=len(kept),
            model=None,
            ingested_at=self.now(),
            problems=problems,
            reading=READING,
            former=former,
            written_at=written_at,
            uploaded=before.uploaded if before and before.path == path else None,
        )
        return DocumentDraft(document, version, kept, parsed.said)

    def indexed(self, owner: Owner, id: str) -> DocumentDraft | None:
        """The document as the index has it, without its embeddings; None where it is just being written, or gone."""
        document, version = self._catalog.version(owner, id)
        if document is None or not document.sha256:
            return None
        ids = [f"{document.id}#{number}" for number in range(document.chunks)]
        held = self._index.chunks(owner, COLLECTION, ids)
        if len(held) < len(ids):
            return None
        kept = tuple(replace(held[id], embedding=None) for id in ids)
        return DocumentDraft(replace(document, model=None), version, kept, is_indexed=True)

    def embed(self, owner: Owner, drafts: Sequence[DocumentDraft]) -> Embedded:
        """The drafts with their embeddings: those that the owner's chunks have already are not made again."""
        from loci.search.passages import embedded_text  # as above

        model = self.model()
        every = [chunk for draft in drafts for chunk in draft.chunks]
        if model is None:
            return Embedded(tuple(drafts), 0)
        held = self._index.embeddings(owner, model, list({chunk.hash for chunk in every}))
        missing = {chunk.hash: embedded_text(chunk.heading, chunk.text) for chunk in every if chunk.hash not in held}
        try:
            made = dict(zip(missing, self._embedder.passages(list(missing.values())), strict=True))
        except Unavailable:  # it has gone since: on words alone the documents are found all the same
            return Embedded(tuple(drafts), 0)
        if made:  # perhaps by another model, which came just now
            model = next(iter(made.values())).model
        known = {hash: one for hash, one in (held | made).items() if one.model == model}
        return Embedded(tuple(_with(draft, known, model) for draft in drafts), len(made))

    def embed_one(self, owner: Owner, draft: DocumentDraft) -> DocumentDraft:
        """As `embed`, for a single one."""
        return self.embed(owner, [draft]).drafts[0]

    def write(self, owner: Owner, draft: DocumentDraft) -> Document:
        """The document, found from now on; `Conflict` where somebody else wrote it since the draft's version."""
        document = draft.document
        # Whoever claims it later makes the last step of this one fail, and then writes it whole.
        begun = replace(document, model=None, sha256=document.sha256 if draft.is_indexed else "")
        version = self._catalog.put(owner, begun, draft.version)
        if not draft.is_indexed:  # before the index, whose new state says that there is something new
            self._catalog.say(owner, document.id, draft.said)
        self._index.put(owner, COLLECTION, document.id, draft.chunks, TagsAndDate(document.tags, document.date))
        self._catalog.put(owner, document, version)
        return document

    def remove(self, owner: Owner, id: str) -> None:
        """The document is found no more."""
        self._catalog.say(owner, id, NOTHING)
        self._index.remove(owner, COLLECTION, id)
        self._catalog.remove(owner, id)


def history(before: Document | None, path: str, sha256: str) -> tuple[tuple[str, ...], str | None]:
    """The paths that a document had, and where its text was written: `before` may have had another path."""
    if before is None:
        return (), None
    written_at = before.written_at if before.sha256 == sha256 else None
    if before.path == path:
        return before.former, written_at
    former = dict.fromkeys((before.path, *before.former))
    former.pop(path, None)
    return tuple(former)[:MOST_FORMER], written_at or (before.path if before.sha256 == sha256 else None)


def _with(draft: DocumentDraft, known: Mapping[str, Embedding], model: str) -> DocumentDraft:
    kept = tuple(replace(chunk, embedding=known.get(chunk.hash)) for chunk in draft.chunks)
    is_whole = all(chunk.embedding for chunk in kept)
    return replace(draft, document=replace(draft.document, model=model if is_whole else None), chunks=kept)
