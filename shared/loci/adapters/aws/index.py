"""`DocumentIndex` in OpenSearch: one index for all owners. Every request has the owner's filter and routing."""

import time
from collections import Counter
from collections.abc import Callable, Collection, Generator, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from contextvars import copy_context
from typing import Any

from loci.adapters.aws.index_copy import CreatedIndex
from loci.adapters.aws.index_fields import (
    NEAR,
    chunk_of,
    embedding_of,
    filters_of,
    id_of,
    source_of,
    term,
    terms,
)
from loci.adapters.aws.index_queries import (
    MOST_WORDS,
    WordWeights,
    candidates_of,
    counts_query,
    vector_query,
    weights_of,
    word_query,
    words_of_nearest_query,
)
from loci.adapters.aws.opensearch import (
    Json,
    OpenSearchCluster,
    delete_action,
    failed,
    put_action,
    send,
    translate_errors,
)
from loci.adapters.batches import batches
from loci.core.errors import Unavailable
from loci.core.identity import Owner
from loci.search.inference import Embedding
from loci.search.ranking import EVERYTHING, Candidate, Chunk, IndexCounts, QueryVector, TagsAndDate, Where

AT_ONCE = 500
MOST_HITS = 10_000
"""The most hits that OpenSearch returns from one search."""
WHOLE: Json = {"_source": {"excludes": [f"{NEAR}*"]}}
"""The fields of a chunk."""
THREADS = ThreadPoolExecutor(thread_name_prefix="question")


class OpenSearchIndex:
    """Chunks in an index that the first call creates. Nothing of OpenSearch is loaded before it.

    A put writes the document's chunks as a new generation, and then deletes the older ones. So a search meanwhile
    finds at least one version whole, and if both versions have a chunk, the newer one.
    """

    def __init__(
        self,
        cluster: OpenSearchCluster,
        name: str,
        *,
        shards: int | None = None,
        clock: Callable[[], float] = time.time,
        at_once: bool = True,
    ) -> None:
        self.cluster = cluster
        self._at_once = at_once
        """False: searches see a new document only after the refresh interval, which saves a refresh for each."""
        self._name = name
        self._clock = clock
        self._created = CreatedIndex(cluster, name, shards)

    def put(
        self,
        owner: Owner,
        collection: str,
        document: str,
        chunks: Sequence[Chunk],
        tags_and_date: TagsAndDate,
        *,
        is_new: bool = False,
    ) -> None:
        if not chunks:
            self.remove(owner, collection, document)
            return
        with self._calling({len(one.embedding.vector) // 2 for one in chunks if one.embedding}):
            _, before = self._generations(owner, collection, document)
            # Clocks differ between machines: the later write must be newer all the same.
            generation = max(int(self._clock() * 1e6), before + 1)
            ids = [id_of(owner, collection, chunk.id, generation) for chunk in chunks]
            sources = (source_of(owner, collection, chunk, tags_and_date, generation) for chunk in chunks)
            is_later = is_new and not before and not self._at_once
            try:
                send(self.cluster.client, self._name, owner.key, map(put_action, ids, sources), is_later=is_later)
            except BaseException:
                with suppress(Unavailable), self._calling():  # the next put deletes what this leaves
                    send(self.cluster.client, self._name, owner.key, map(delete_action, ids))
                raise
            if is_later:
                return
            # Of two writers at once, each deletes what is older than the newest: one whole document stays.
            oldest, newest = self._generations(owner, collection, document)
            if oldest < newest:
                self._delete(owner, [*_in_document(owner, collection, document), _before(newest)])

    def together(self) -> AbstractContextManager[None]:
        return nullcontext()

    def fit(self) -> int | None:
        """Copy the index into one with other shards if it should have them; return their number."""
        with self._calling():
            return self._created.fit()

    def remove(self, owner: Owner, collection: str, document: str) -> None:
        with self._calling():
            # What an ingestion has just written is not visible yet, and would stay.
            self.cluster.client.indices.refresh(index=self._name)
            self._delete(owner, _in_document(owner, collection, document))

    def remove_all(self, owner: Owner) -> None:
        with self._calling():
            self.cluster.client.indices.refresh(index=self._name)
            self._delete(owner, [term("owner", owner.key)])

    def embeddings(self, owner: Owner, model: str, hashes: Sequence[str]) -> dict[str, Embedding]:
        found: dict[str, Embedding] = {}
        with self._calling():
            for some in batches(list(dict.fromkeys(hashes)), AT_ONCE):
                filters = [term("owner", owner.key), term("model", model), terms("hash", some)]
                wanted = ["hash", "model", "vector", "bits"]
                body = {"size": len(some), "_source": wanted, "collapse": {"field": "hash"}, **_filtered(filters)}
                found.update((hit["_source"]["hash"], embedding_of(hit["_source"])) for hit in self._hits(owner, body))
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
        if limit < 1:
            return []
        # The model runs while OpenSearch counts the words.
        values = vector and THREADS.submit(copy_context().run, vector.values)
        weights = self._weights(owner, collection, words) if words else None
        _ = values and values.result()
        filters = filters_of(owner, collection, where)
        by_words = weights if weights and weights.rarities else None
        legs: dict[str, Json] = {}
        if by_words:
            legs["words"] = word_query(by_words, filters, limit, with_vectors=vector is not None)
        if vector is not None:
            legs["vector"] = vector_query(vector, filters, limit)
        if by_words and vector is not None:
            legs["near words"] = words_of_nearest_query(vector, by_words, filters, limit)
        if not legs:
            return []
        with self._calling([vector.dimensions] if vector else []):
            answers = dict(zip(legs, self._answers(owner, list(legs.values())), strict=True))
        return candidates_of(answers.get("words"), answers.get("vector"), answers.get("near words"), vector)

    def chunks(self, owner: Owner, collection: str, ids: Sequence[str]) -> dict[str, Chunk]:
        found: dict[str, Chunk] = {}
        with self._calling():
            for some in batches(list(dict.fromkeys(ids)), AT_ONCE):
                filters = [*filters_of(owner, collection, EVERYTHING), terms("chunk", some)]
                # While a document is being replaced, newer chunks overwrite older ones here.
                body = {"size": MOST_HITS, "sort": [{"generation": "asc"}], **WHOLE, **_filtered(filters)}
                found.update((hit["_source"]["chunk"], chunk_of(hit["_source"])) for hit in self._hits(owner, body))
        return found

    def passages(self, owner: Owner, collection: str) -> Iterator[Chunk]:
        # While a chunk is being replaced, its newest version comes first.
        order = [{"chunk": "asc"}, {"generation": "desc"}]
        page: Json = {"size": AT_ONCE, "sort": order, **WHOLE, **_filtered(filters_of(owner, collection, EVERYTHING))}
        last: str | None = None
        while True:
            with self._calling():
                hits = self._hits(owner, page)
            for hit in hits:
                if hit["_source"]["chunk"] != last:
                    yield chunk_of(hit["_source"])
                last = hit["_source"]["chunk"]
            if len(hits) < AT_ONCE:
                return
            page["search_after"] = hits[-1]["sort"]

    def counts(self, owner: Owner, collection: str) -> IndexCounts:
        with self._calling():
            body: Json = {
                "size": 0,
                "track_total_hits": True,
                **_filtered(filters_of(owner, collection, EVERYTHING)),
                "aggs": {
                    # Exact up to the threshold, nearly exact above it.
                    "documents": {"cardinality": {"field": "document", "precision_threshold": 40_000}},
                    "models": {"terms": {"field": "model", "size": 1000}},
                },
            }
            [answer] = self._answers(owner, [body])
        found = answer["aggregations"]
        embedded = {bucket["key"]: bucket["doc_count"] for bucket in found["models"]["buckets"]}
        return IndexCounts(found["documents"]["value"], answer["hits"]["total"]["value"], embedded)

    def state(self, owner: Owner, collection: str) -> str:
        newest = {"aggs": {"newest": {"max": {"field": "generation"}}}, "track_total_hits": True, "size": 0}
        with self._calling():
            [answer] = self._answers(owner, [{**newest, **_filtered(filters_of(owner, collection, EVERYTHING))}])
        return f"{answer['aggregations']['newest']['value']} {answer['hits']['total']['value']}"

    def documents(self, owner: Owner, collection: str, among: Sequence[str] | None = None) -> dict[str, int]:
        if among is not None:
            return self._documents_among(owner, collection, among)
        found: dict[str, int] = {}
        pages: Json = {"size": AT_ONCE, "sources": [{"id": {"terms": {"field": "document"}}}]}
        listed = {"aggs": {"documents": {"composite": pages}}, **_filtered(filters_of(owner, collection, EVERYTHING))}
        with self._calling():
            while "after" not in pages or pages["after"]:
                [answer] = self._answers(owner, [{"size": 0, **listed}])
                page = answer["aggregations"]["documents"]
                found.update((bucket["key"]["id"], bucket["doc_count"]) for bucket in page["buckets"])
                pages["after"] = page.get("after_key")
        return found

    def _documents_among(self, owner: Owner, collection: str, ids: Sequence[str]) -> dict[str, int]:
        """Count the chunks of these documents in one round trip, without listing the whole library."""
        bodies: list[Json] = [
            {
                "size": 0,
                "aggs": {"documents": {"terms": {"field": "document", "size": len(some)}}},
                **_filtered([*filters_of(owner, collection, EVERYTHING), terms("document", some)]),
            }
            for some in batches(list(dict.fromkeys(ids)), AT_ONCE)
        ]
        if not bodies:
            return {}
        with self._calling():
            answers = self._answers(owner, bodies)
        pages = [answer["aggregations"]["documents"]["buckets"] for answer in answers]
        return {bucket["key"]: bucket["doc_count"] for page in pages for bucket in page}

    def _weights(self, owner: Owner, collection: str, words: Sequence[str]) -> WordWeights:
        counted = Counter(words)
        asked = {word: counted[word] for word in [*counted][:MOST_WORDS]}
        with self._calling():
            [answer] = self._answers(owner, [counts_query(asked, filters_of(owner, collection, EVERYTHING))])
        return weights_of(answer, asked)

    @contextmanager
    def _calling(self, dimensions: Collection[int] = ()) -> Generator[None, None, None]:
        """Make sure that the index exists, with fields for vectors of these lengths, and translate errors."""
        try:
            with translate_errors(f"the index {self._name}"):
                self._created.ensure(dimensions)
                yield
        except Unavailable:
            self._created.forget()  # somebody may have deleted it
            raise

    def _generations(self, owner: Owner, collection: str, document: str) -> tuple[int, int]:
        """The oldest and the newest generation of the document's chunks; 0 if it has none."""
        ends = {name: {name: {"field": "generation"}} for name in ("min", "max")}
        [answer] = self._answers(
            owner, [{"size": 0, "aggs": ends, **_filtered(_in_document(owner, collection, document))}]
        )
        oldest, newest = (answer["aggregations"][name]["value"] for name in ends)
        return int(oldest or 0), int(newest or 0)  # floats have 53 bits: enough for microseconds until 2255

    def _delete(self, owner: Owner, filters: list[Json]) -> None:
        # If another process deletes the same chunks, that is no conflict.
        params = {"routing": owner.key, "refresh": "true", "conflicts": "proceed"}
        self.cluster.client.delete_by_query(index=self._name, body=_filtered(filters), params=params)

    def _hits(self, owner: Owner, body: Json) -> list[Json]:
        [answer] = self._answers(owner, [body])
        return answer["hits"]["hits"]

    def _answers(self, owner: Owner, bodies: Sequence[Json]) -> list[Any]:
        """The answers to all queries, in one round trip."""
        lines = [line for body in bodies for line in ({"routing": owner.key}, body)]
        answers = self.cluster.client.msearch(body=lines, index=self._name)["responses"]
        for answer in answers:
            if "error" in answer:
                raise failed(f"the index {self._name}", str(answer["status"]), answer["error"].get("reason", ""))
        return answers


def _in_document(owner: Owner, collection: str, document: str) -> list[Json]:
    return [*filters_of(owner, collection, EVERYTHING), term("document", document)]


def _before(generation: int) -> Json:
    return {"range": {"generation": {"lt": generation}}}


def _filtered(filters: list[Json]) -> Json:
    return {"query": {"bool": {"filter": filters}}}
