"""Chunks in OpenSearch: the fields of the index, a chunk as its fields, and `Where` as filters."""

import json
from base64 import b64decode, b64encode
from collections.abc import Sequence
from struct import unpack

from loci.adapters.aws.opensearch import Json
from loci.core.identity import Owner
from loci.core.ids import content_id
from loci.search.inference import Embedding
from loci.search.ranking import Chunk, TagsAndDate, Where

WORD: Json = {"type": "keyword"}
# Stored and returned, never searched. As a keyword a list stays a list, and without an index its length has no limit.
STORED: Json = {"type": "keyword", "index": False, "doc_values": False}
FIELDS: Json = {
    "owner": WORD,
    "collection": WORD,
    "document": WORD,
    "chunk": WORD,
    "generation": {"type": "long"},
    "tags": WORD,
    "date": WORD,
    "path": STORED,
    "title": STORED,
    "heading": STORED,
    "first_line": {"type": "integer", "index": False, "doc_values": False},
    "last_line": {"type": "integer", "index": False, "doc_values": False},
    "text": STORED,
    "hash": WORD,
    # Already cut and stemmed, as for SQLite, so both find the same.
    "words": {"type": "text", "analyzer": "whitespace", "similarity": "words", "index_options": "freqs"},
    "length": {"type": "integer"},
    "model": WORD,
    "vector": {"type": "binary", "doc_values": True},
    "bits": {"type": "binary"},
}
MOST_COUNTED, LONGEST = 255, 65_535
"""The largest count of a word in a chunk, and the largest number of its words, that matter to the score. Scores have 24
bits, and both numbers together are one score."""
# Not BM25, which counts the words of all owners. This tells the two numbers of BM25 that are the chunk's: how often the
# word is there, and the chunk's length, backwards, because OpenSearch refuses scores that rise with it.
# `index_queries` does the rest with the owner's own counts.
COUNTED = (
    f"return Math.min(doc.freq, {MOST_COUNTED}) + {MOST_COUNTED + 1} * ({LONGEST} - Math.min(doc.length, {LONGEST}));"
)
SIMILARITY: Json = {"words": {"type": "scripted", "script": {"source": COUNTED}}}


CODEC = "best_compression"
"""Halves what is stored: bits and vectors are base64 there, in which the default finds nothing to compress."""
INTERVAL = "1s"
"""The interval until searches see what an ingestion has written. Other writers refresh the index themselves."""


def index_body(shards: int = 1) -> Json:
    """The settings and fields of a new index. The fields for vectors follow when their dimensions are known."""
    index: Json = {"knn": True, "number_of_shards": shards, "refresh_interval": INTERVAL, "similarity": SIMILARITY}
    # The vectors stay in the source: OpenSearch would keep a second, whole one for its replicas.
    return {
        # A replica as soon as a second node can have it: one node alone would never be healthy.
        "settings": {"index": {**index, "codec": CODEC, "auto_expand_replicas": "0-1"}},
        "mappings": {"dynamic": "strict", "properties": FIELDS},
    }


NEAR = "near_"
"""How the fields for vectors begin. They are in the source, and nobody asks for them there."""


def vector_field(dimensions: int) -> str:
    return f"{NEAR}{dimensions}"


def dimensions_in(mappings: Json) -> set[int]:
    """The lengths of vectors that an index has fields for."""
    return {int(name.removeprefix(NEAR)) for name in mappings["properties"] if name.startswith(NEAR)}


def vector_fields(dimensions: int) -> Json:
    """The field for vectors of one length."""
    method = {"name": "hnsw", "engine": "lucene", "space_type": "cosinesimil"}
    # With doc values, every vector would be stored once more.
    field: Json = {"type": "knn_vector", "dimension": dimensions, "method": method, "doc_values": False}
    return {vector_field(dimensions): field}


def cosine_of(score: float) -> float:
    """The cosine behind a k-NN score with `cosinesimil`."""
    return 2 * score - 1


def id_of(owner: Owner, collection: str, chunk: str, generation: int) -> str:
    return content_id(owner.key, collection, chunk, str(generation), length=40)


def source_of(owner: Owner, collection: str, chunk: Chunk, tags_and_date: TagsAndDate, generation: int) -> Json:
    source: Json = {
        "owner": owner.key,
        "collection": collection,
        "document": chunk.document,
        "chunk": chunk.id,
        "generation": generation,
        "tags": tags_and_date.tags,
        "path": chunk.path,
        "title": chunk.title,
        "heading": json.dumps(chunk.heading, ensure_ascii=False),
        "first_line": chunk.first_line,
        "last_line": chunk.last_line,
        "text": chunk.text,
        "hash": chunk.hash,
        "words": chunk.words,
        "length": len(chunk.words.split()),
    }
    if tags_and_date.date is not None:
        source["date"] = tags_and_date.date
    if chunk.embedding is not None:
        source["model"] = chunk.embedding.model
        source["vector"] = b64encode(chunk.embedding.vector).decode()
        source["bits"] = b64encode(chunk.embedding.bits).decode()
    return source | near_of(source)


def near_of(source: Json) -> Json:
    """The field by which the vector in the source is found, if there is one."""
    if "vector" not in source:
        return {}
    vector = b64decode(source["vector"])
    numbers = [round(number, 7) for number in unpack(f"<{len(vector) // 2}e", vector)]
    return {vector_field(len(numbers)): numbers}


def chunk_of(source: Json) -> Chunk:
    return Chunk(
        id=source["chunk"],
        document=source["document"],
        path=source["path"],
        title=source["title"],
        heading=tuple(json.loads(source["heading"])),
        first_line=source["first_line"],
        last_line=source["last_line"],
        text=source["text"],
        hash=source["hash"],
        words=source["words"],
        embedding=embedding_of(source) if "model" in source else None,
    )


def embedding_of(source: Json) -> Embedding:
    return Embedding(source["model"], b64decode(source["vector"]), b64decode(source["bits"]))


def filters_of(owner: Owner, collection: str, where: Where) -> list[Json]:
    """The filters that every chunk of a search must pass: the owner's, the collection's, and the conditions."""
    filters = [term("owner", owner.key), term("collection", collection)]
    if where.documents:
        filters.append(terms("document", where.documents))
    if where.no_documents:
        filters.append({"bool": {"must_not": [terms("document", where.no_documents)]}})
    if where.any_words:
        filters.append(terms("words", where.any_words))
    if where.any_tags:
        filters.append(terms("tags", where.any_tags))
    filters.extend(term("tags", tag) for tag in where.all_tags)
    if where.no_tags:
        filters.append({"bool": {"must_not": [terms("tags", where.no_tags)]}})
    bounds = {"gte": where.since, "lte": where.until}
    if any(bounds.values()):
        filters.append({"range": {"date": {name: day for name, day in bounds.items() if day is not None}}})
    return filters


def term(field: str, value: str) -> Json:
    return {"term": {field: value}}


def terms(field: str, values: Sequence[str]) -> Json:
    return {"terms": {field: list(values)}}
