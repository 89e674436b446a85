"""`DocumentIndex` in S3 Vectors: one index an owner and collection, which the first write creates."""

import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, nullcontext, suppress
from contextvars import copy_context
from dataclasses import replace
from typing import Any, Final

import loci.adapters.aws.vector_fields as fields
from loci.adapters.aws.clients import Clients
from loci.adapters.aws.vector_fields import PackedChunk, VectorKey
from loci.adapters.aws.vector_heads import Generation, Head, Heads
from loci.adapters.aws.vector_indexes import IndexName, VectorIndexes
from loci.adapters.batches import batches
from loci.core.errors import LociError
from loci.core.identity import Owner
from loci.core.json import JsonObject
from loci.core.stores import RecordStore
from loci.search.inference import Embedding
from loci.search.ranking import EVERYTHING, Candidate, Chunk, IndexCounts, QueryVector, TagsAndDate, Where

LEAST_ASKED: Final = 100
"""The fewest hits that a query asks for: of hits with equal scores at the end, the service may give any."""
DEEPEST: Final = 10_000
"""The most hits that a query may ask for."""
A_GET: Final = 100
"""Vectors in a request that reads them."""
THREADS = ThreadPoolExecutor(thread_name_prefix="vectors")


class VectorIndex:
    """Passages as vectors with metadata. The record of a document, its head, says which generation is visible.

    A put writes the passages as a new generation, makes it visible with one conditional write of the head, and then
    deletes what is older. A search leaves out what is not visible: it finds one version whole, also after a kill.
    """

    def __init__(
        self,
        bucket: str,
        records: RecordStore,
        clients: Clients,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._indexes = VectorIndexes(bucket, records, clients)
        self._heads = Heads(records)
        self._clock = clock

    def put(
        self,
        owner: Owner,
        collection: str,
        document: str,
        chunks: Sequence[Chunk],
        tags_and_date: TagsAndDate,
        *,
        is_new: bool = False,  # noqa: ARG002 (every write is visible at once)
    ) -> None:
        if not chunks:
            self.remove(owner, collection, document)
            return
        packed, runs = [PackedChunk.of(one) for one in chunks], fields.runs_of(chunks)
        texts = {str(fields.number_of(one.chunk.id)): one.facts for one in packed if one.is_long}
        new, now = Generation(runs, texts), int(self._clock() * 1e6)
        index = self._indexes.ensure(owner, collection)
        generation = max(self._heads.change(owner, collection, document, lambda one: one.begun(new, now)).generations)
        keys = {one.chunk: one for one in fields.keys_of(document, generation, runs)}
        try:
            vectors = (one.vector(keys[one.chunk.id], tags_and_date) for one in packed)
            self._indexes.put(index, vectors)
            head = self._heads.change(owner, collection, document, lambda one: one.committed(generation))
        except BaseException:
            with suppress(LociError):  # the next put deletes what this leaves
                self._indexes.delete(index, [*keys.values()])
            raise
        if head.visible != generation:  # of two writers at once the later one wins
            self._indexes.delete(index, [*keys.values()])
        self._clean(owner, collection, document, index, head, generation)

    def together(self) -> AbstractContextManager[None]:
        return nullcontext()

    def remove(self, owner: Owner, collection: str, document: str) -> None:
        index = self._indexes.find(owner, collection)
        if index and self._heads.of(owner, collection, [document]):
            head = self._heads.change(owner, collection, document, Head.removed)
            self._clean(owner, collection, document, index, head, max(head.generations, default=0))

    def remove_all(self, owner: Owner) -> None:
        self._indexes.remove_all(owner)
        self._heads.remove_all(owner)

    def embeddings(self, owner: Owner, model: str, hashes: Sequence[str]) -> dict[str, Embedding]:
        found: dict[str, Embedding] = {}
        anywhere = fields.filled([1.0])
        for index in self._indexes.all(owner) if hashes else ():
            for some in batches(list(dict.fromkeys(hashes)), fields.MOST_CONSTRAINTS):
                wanted = fields.filter_of(EVERYTHING, {"model": fields.code_of(model)}, {"hash": {"$in": [*some]}})
                hits = self._indexes.query(index, 2 * len(some), wanted, vector=anywhere)
                chunks = self._read(index, {}, [VectorKey.parse(one["key"]) for one in hits])
                found.update((one.hash, one.embedding) for one in chunks if one.embedding)
        return found

    def candidates(
        self,
        owner: Owner,
        collection: str,
        words: Sequence[str],
        vector: QueryVector | None,
        *,
        limit: int,
        where: Where,
    ) -> list[Candidate]:
        text, index = fields.query_of(words), self._indexes.find(owner, collection)
        if not index or limit < 1 or not (text or vector):
            return []
        question = Question(self._indexes, index, where, text, vector)
        by_words, by_vector = question.legs(min(DEEPEST, max(LEAST_ASKED, 2 * limit)))
        # Which generation is visible is read after the legs: what a put made visible meanwhile was then whole.
        heads = self._heads.of(owner, collection, {one.document for one in (*by_words, *by_vector)})
        by_words, by_vector = visible(by_words, heads), visible(by_vector, heads)
        lexical, nearest = _ranks(by_words, limit), _ranks(by_vector, limit)
        shown = dict.fromkeys((*lexical, *nearest))
        if text and vector:
            question.complete(
                [one for one in shown if one not in by_words or one not in by_vector], by_words, by_vector
            )
        return [
            Candidate(
                key.chunk, key.document, by_words.get(key), lexical.get(key), by_vector.get(key), nearest.get(key)
            )
            for key in shown
        ]

    def chunks(self, owner: Owner, collection: str, ids: Sequence[str]) -> dict[str, Chunk]:
        index = self._indexes.find(owner, collection) if ids else None
        wanted = dict.fromkeys(ids)
        heads = self._heads.of(owner, collection, {one.rpartition("#")[0] for one in wanted}) if index else {}
        keys = [key for document, head in heads.items() for key in head.keys(document) if key.chunk in wanted]
        return {one.id: one for one in self._read(index, heads, keys)} if index else {}

    def passages(self, owner: Owner, collection: str) -> Iterator[Chunk]:
        if index := self._indexes.find(owner, collection):
            for document, head in self._heads.all(owner, collection):
                yield from self._read(index, {document: head}, [*head.keys(document)])

    def counts(self, owner: Owner, collection: str) -> IndexCounts:
        heads = [head for _, head in self._heads.all(owner, collection)]
        models = sum((one.models for one in heads), Counter[str]())
        return IndexCounts(len(heads), models.total(), {model: count for model, count in models.items() if model})

    def state(self, owner: Owner, collection: str) -> str:
        return self._heads.state(owner, collection)

    def documents(self, owner: Owner, collection: str, among: Sequence[str] | None = None) -> dict[str, int]:
        heads = (
            self._heads.all(owner, collection) if among is None else self._heads.of(owner, collection, among).items()
        )
        return {document: sum(head.models.values()) for document, head in heads}

    def _clean(self, owner: Owner, collection: str, document: str, index: IndexName, head: Head, newest: int) -> None:
        """Delete what no search shows, up to this generation. If it fails, the next put of the document does it."""
        old = {number: one for number, one in head.generations.items() if head.visible != number <= newest}
        with suppress(LociError):
            for generation, one in old.items():
                self._indexes.delete(index, [*fields.keys_of(document, generation, one.runs)])
            if old:
                self._heads.change(owner, collection, document, lambda one: one.without(old))
        self._heads.touch(owner, collection)

    def _read(self, index: IndexName, heads: Mapping[str, Head], keys: Sequence[VectorKey]) -> Iterator[Chunk]:
        """The chunks behind the keys, in any order. Leaves out those whose facts only a head that is not given has."""
        work = [THREADS.submit(copy_context().run, self._indexes.get, index, some) for some in batches(keys, A_GET)]
        for one in (one for each in work for one in each.result()):
            key = VectorKey.parse(one["key"])
            facts = one["metadata"].get(fields.FACTS)
            if facts is None and (head := heads.get(key.document)):
                facts = head.shown.texts.get(str(fields.number_of(key.chunk)))
            if facts is not None:
                yield fields.chunk_of(key, facts, one["metadata"])


class Question:
    """One search in an index: both legs, and the scores that only one of them told."""

    def __init__(
        self,
        indexes: VectorIndexes,
        index: IndexName,
        where: Where,
        text: str,
        vector: QueryVector | None,
    ) -> None:
        self._indexes = indexes
        self._index = index
        self._where = where
        self._text = text
        self._vector = vector
        self._values: list[float] = []

    def legs(self, most: int) -> tuple[dict[VectorKey, float], dict[VectorKey, float]]:
        """The BM25 of the hits by words, and the cosines of those by the vector."""
        # The model may run while the service looks for the words.
        words = THREADS.submit(copy_context().run, self._by_words, most) if self._text else None
        nearest = self._by_vector(self._vector, most) if self._vector else {}
        return words.result() if words else {}, nearest

    def complete(
        self, keys: Sequence[VectorKey], by_words: dict[VectorKey, float], by_vector: dict[VectorKey, float]
    ) -> None:
        """Add the scores of the hits that one of the legs did not find."""
        model = fields.code_of(self._vector.model) if self._vector else ""
        missing = [one for one in keys if one not in by_words or one not in by_vector]
        for some in batches(missing, fields.MOST_CONSTRAINTS):
            only_these: JsonObject = {"key": {"$in": [str(one) for one in some]}}
            for one in self._indexes.query(
                self._index, len(some), only_these, text=self._text, vector=self._values or None
            ):
                key, scores = VectorKey.parse(one["key"]), one["scores"]
                if scores.get("bm25Scores"):
                    by_words[key] = _bm25(one)
                if key.model == model and "vectorDistance" in scores:
                    by_vector[key] = _cosine(scores["vectorDistance"])

    def _by_words(self, most: int) -> dict[VectorKey, float]:
        return {VectorKey.parse(one["key"]): _bm25(one) for one in self._hits(most, (), text=self._text)}

    def _by_vector(self, vector: QueryVector, most: int) -> dict[VectorKey, float]:
        import numpy as np  # a search by words alone does without

        numbers = np.frombuffer(vector.values(), "<f4").tolist()
        self._values = fields.filled(numbers)
        same_model: JsonObject = {"model": fields.code_of(vector.model)}
        hits = self._hits(most, (same_model,), vector=self._values)
        return {VectorKey.parse(one["key"]): _cosine(one["distance"]) for one in hits}

    def _hits(self, most: int, conditions: tuple[JsonObject, ...], **asked: Any) -> list[dict[str, Any]]:
        """The hits that meet the conditions: what no filter can say is sorted out here."""
        where, having = self._where, None
        if where.any_words:
            text = fields.query_of(where.any_words)
            having = {one["key"] for one in self._indexes.query(self._index, DEEPEST, None, text=text)}
        if len(where.documents) + len(where.no_documents) <= fields.MOST_CONSTRAINTS and having is None:
            return self._indexes.query(self._index, most, fields.filter_of(where, *conditions), **asked)
        without = {*where.no_documents}
        some_of = [*batches(where.documents, fields.MOST_CONSTRAINTS)] or [()]
        parts = (replace(where, documents=tuple(some), no_documents=()) for some in some_of)
        filters = [fields.filter_of(one, *conditions) for one in parts]
        hits = [hit for one in filters for hit in self._indexes.query(self._index, DEEPEST, one, **asked)]
        found = ((VectorKey.parse(one["key"]).document, one) for one in hits if having is None or one["key"] in having)
        return [one for document, one in found if document not in without]


def visible(found: Mapping[VectorKey, float], heads: Mapping[str, Head]) -> dict[VectorKey, float]:
    """The hits that a search shows: those of each document's visible generation.

    If a put made it visible after the leg was asked, the hits that the leg has are those of the generation before.
    """
    shown: dict[str, int] = {}
    for one in found:
        if (head := heads.get(one.document)) and one.generation <= head.visible:
            shown[one.document] = max(one.generation, shown.get(one.document, 0))
    return {key: score for key, score in found.items() if shown.get(key.document) == key.generation}


def _ranks(scores: Mapping[VectorKey, float], limit: int) -> dict[VectorKey, int]:
    """The ranks of the best, from 1. Equal scores go by the ids of the chunks."""
    best = sorted(scores, key=lambda one: (-scores[one], one.chunk))[:limit]
    return {key: rank for rank, key in enumerate(best, 1)}


def _bm25(hit: Mapping[str, Any]) -> float:
    return float(sum(one["score"] for one in hit["scores"]["bm25Scores"]))


def _cosine(distance: float) -> float:
    return round(1 - distance, 6)
