"""100 chunks of two owners with vectors, and what a search for them must find, calculated the long way."""

import math
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from opensearchpy import OpenSearch

DIMENSIONS = 384
OWNERS = ("ann", "bob")
WORDS = ("horse", "river", "stone", "cloud", "winter", "garden", "letter", "engine")
# Lucene's engine: the library of `faiss` is not among the jars, and an index that asks for it never comes up.
VECTOR = {
    "type": "knn_vector",
    "dimension": DIMENSIONS,
    "method": {"name": "hnsw", "engine": "lucene", "space_type": "cosinesimil"},
}
INDEX = {
    "settings": {"index.knn": True, "number_of_shards": 1, "number_of_replicas": 0},
    "mappings": {
        "dynamic": "strict",
        "properties": {"owner": {"type": "keyword"}, "text": {"type": "text"}, "vector": VECTOR},
    },
}


@dataclass(frozen=True, slots=True)
class Chunk:
    id: str
    owner: str
    text: str
    vector: Sequence[float]


def drawn(seed: int, count: int = 100) -> tuple[Chunk, ...]:
    """The same chunks for the same seed."""
    source = random.Random(seed)
    return tuple(
        Chunk(
            id=f"{number:03}",
            owner=OWNERS[number % len(OWNERS)],
            text=" ".join(source.choices(WORDS, k=source.randint(4, 30))),
            vector=direction(source),
        )
        for number in range(count)
    )


def direction(source: random.Random) -> Sequence[float]:
    """Any vector of length 1."""
    numbers = [source.gauss(0, 1) for _ in range(DIMENSIONS)]
    length = math.hypot(*numbers)
    return [number / length for number in numbers]


def fill(client: OpenSearch, index: str, chunks: Sequence[Chunk]) -> None:
    """Index the chunks; the next search sees them."""
    lines: list[dict[str, object]] = []
    for chunk in chunks:
        lines.append({"index": {"_id": chunk.id}})
        lines.append({"owner": chunk.owner, "text": chunk.text, "vector": chunk.vector})
    answer = client.bulk(body=lines, index=index, params={"refresh": "wait_for"})
    assert not answer["errors"], answer


def lexical(words: str, owner: str, size: int) -> dict[str, object]:
    """The search for words."""
    query = {"bool": {"must": {"match": {"text": words}}, "filter": [{"term": {"owner": owner}}]}}
    return {"size": size, "_source": False, "query": query}


def nearest(vector: Sequence[float], owner: str, k: int) -> dict[str, object]:
    """The search for the `k` nearest of an owner."""
    knn = {"vector": vector, "k": k, "filter": {"term": {"owner": owner}}}
    return {"size": k, "_source": False, "query": {"knn": {"vector": knn}}}


def bm25(chunks: Sequence[Chunk], words: str) -> Callable[[Chunk], float]:
    """What OpenSearch 2 gives a chunk for the words, among these chunks of all owners."""
    count = len(chunks)
    average = sum(len(chunk.text.split()) for chunk in chunks) / count
    having = {word: sum(word in chunk.text.split() for chunk in chunks) for word in words.split()}

    def score(chunk: Chunk) -> float:
        said = chunk.text.split()
        total = 0.0
        for word, holders in having.items():
            often = said.count(word)
            rarity = math.log(1 + (count - holders + 0.5) / (holders + 0.5))
            total += 2.2 * rarity * often / (often + 1.2 * (0.25 + 0.75 * len(said) / average))
        return total

    return score


def cosine(vector: Sequence[float]) -> Callable[[Chunk], float]:
    """How near a chunk is, as OpenSearch tells it: from 0 to 1."""
    return lambda chunk: (1 + sum(a * b for a, b in zip(vector, chunk.vector, strict=True))) / 2


def best(chunks: Sequence[Chunk], owner: str, score: Callable[[Chunk], float], size: int) -> list[tuple[str, float]]:
    """The owner's best chunks with their scores, best first."""
    scored = ((chunk.id, score(chunk)) for chunk in chunks if chunk.owner == owner)
    return sorted((pair for pair in scored if pair[1] > 0), key=lambda pair: (-pair[1], pair[0]))[:size]
