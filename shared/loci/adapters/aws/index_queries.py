"""The two legs of a search in OpenSearch: their queries, and the candidates in their answers."""

import math
from base64 import b64decode
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from loci.adapters.aws.index_fields import LONGEST, MOST_COUNTED, cosine_of, term, vector_field
from loci.adapters.aws.opensearch import Json
from loci.search.ranking import Candidate, QueryVector

MOST_WORDS = 256
"""The most words of a question that are searched for."""
OVERSAMPLING = 2
"""HNSW is approximate. Asked for exactly the limit, it missed a quarter of the nearest of 10,000 random vectors, the
hardest case; asked for twice the limit, a tenth."""
LEAST_ASKED = 100
"""The fewest neighbours that a query asks for, so that even one result is the nearest of many."""
NAMES = ("chunk", "document", "generation")
BM25 = f"""
double rest = Math.floor(_score / {MOST_COUNTED + 1});
double count = _score - {MOST_COUNTED + 1} * rest;
double length = {LONGEST} - rest;
return params.rarity * 2.2 * count / (count + 1.2 * (0.25 + 0.75 * length / params.average));
"""
"""The score of one word, as Lucene computes it with k1 = 1.2 and b = 0.75."""
SOME_LENGTH = 100.0
"""The average length if none is stored, as in chunks from before lengths were stored."""


@dataclass(frozen=True, slots=True)
class LegHit:
    """A hit of one leg."""

    chunk: str
    document: str
    generation: int
    score: float
    model: str | None
    vector: bytes


@dataclass(frozen=True, slots=True)
class WordWeights:
    """The statistics of the question's words among an owner's chunks."""

    rarities: Mapping[str, float]
    """The inverse document frequency of each known word, times its count in the question."""
    average_length: float


def counts_query(words: Collection[str], filters: list[Json]) -> Json:
    """The query for the statistics of these words among an owner's chunks."""
    return {
        "size": 0,
        "track_total_hits": True,
        "query": {"bool": {"filter": filters}},
        "aggs": {
            "length": {"avg": {"field": "length"}},
            "words": {"filters": {"filters": [term("words", word) for word in words]}},
        },
    }


def weights_of(answer: Json, words: Mapping[str, int]) -> WordWeights:
    """The statistics in the answer to `counts_query`. A word that comes twice in the question counts twice."""
    total = answer["hits"]["total"]["value"]
    counts = [bucket["doc_count"] for bucket in answer["aggregations"]["words"]["buckets"]]
    rarities = {
        word: times * math.log(1 + (total - count + 0.5) / (count + 0.5))
        for (word, times), count in zip(words.items(), counts, strict=True)
        if count
    }
    return WordWeights(rarities, answer["aggregations"]["length"]["value"] or SOME_LENGTH)


def word_query(weights: WordWeights, filters: list[Json], limit: int, *, with_vectors: bool) -> Json:
    """The query by words. `with_vectors` also returns vectors, for cosines of chunks that only the words find."""
    query = {"bool": {"should": _any_word(weights), "minimum_should_match": 1, "filter": filters}}
    return _leg(limit, query, (*NAMES, "model", "vector") if with_vectors else NAMES)


def _any_word(weights: WordWeights) -> list[Json]:
    """A clause for each word. The score of a chunk is the sum over the matching clauses."""
    return [
        {
            "script_score": {
                "query": term("words", word),
                "script": {"source": BM25, "params": {"rarity": rarity, "average": weights.average_length}},
            }
        }
        for word, rarity in weights.rarities.items()
    ]


def vector_query(vector: QueryVector, filters: list[Json], limit: int) -> Json:
    """The query for the nearest chunks."""
    return _leg(limit, _near(vector, filters, limit), NAMES)


def words_of_nearest_query(vector: QueryVector, weights: WordWeights, filters: list[Json], limit: int) -> Json:
    """The query for the word scores of the nearest chunks. It finds them again, which saves a round trip."""
    near = _near(vector, filters, limit)
    query = {"bool": {"should": _any_word(weights), "minimum_should_match": 1, "filter": near}}
    return _leg(_asked(limit), query, NAMES)


def _near(vector: QueryVector, filters: list[Json], limit: int) -> Json:
    import numpy as np  # takes 0.1 s; a search by words alone does without

    numbers = [round(number, 7) for number in np.frombuffer(vector.values(), "<f4").tolist()]
    same_model = {"bool": {"filter": [*filters, term("model", vector.model)]}}
    return {"knn": {vector_field(len(numbers)): {"vector": numbers, "k": _asked(limit), "filter": same_model}}}


def _asked(limit: int) -> int:
    return max(LEAST_ASKED, OVERSAMPLING * limit)


def candidates_of(
    word_answer: Json | None, vector_answer: Json | None, near_words_answer: Json | None, vector: QueryVector | None
) -> list[Candidate]:
    """The candidates in the answers to the queries."""
    by_words = _ranked(word_answer) if word_answer else {}
    by_vector = _ranked(vector_answer) if vector_answer else {}
    cosines = _cosines([one for _, one in by_words.values()], vector) if vector else {}
    cosines |= {chunk: round(cosine_of(one.score), 6) for chunk, (_, one) in by_vector.items()}
    near_words = (
        {chunk: one.score for chunk, (_, one) in _ranked(near_words_answer).items()} if near_words_answer else {}
    )
    candidates: list[Candidate] = []
    for chunk in dict.fromkeys([*by_words, *by_vector]):
        lexical_rank, word = by_words.get(chunk, (None, None))
        vector_rank, neighbour = by_vector.get(chunk, (None, None))
        [document] = {one.document for one in (word, neighbour) if one}
        bm25 = word.score if word else near_words.get(chunk)
        candidates.append(Candidate(chunk, document, bm25, lexical_rank, cosines.get(chunk), vector_rank))
    return candidates


def _leg(limit: int, query: Json, fields: Sequence[str]) -> Json:
    return {
        "size": limit,
        "_source": False,
        "docvalue_fields": list(fields),  # faster than the source, which also has the text and the bits
        "sort": [{"_score": "desc"}, {"chunk": "asc"}],
        "track_total_hits": False,
        "query": query,
    }


def _ranked(answer: Json) -> dict[str, tuple[int, LegHit]]:
    """The hits by chunk, in order, with their ranks. Of two versions of a chunk, the newer one counts."""
    best: dict[str, LegHit] = {}
    for hit in answer["hits"]["hits"]:
        found = _found(hit)
        if found.chunk not in best or best[found.chunk].generation < found.generation:
            best[found.chunk] = found
    order = sorted(best.values(), key=lambda found: (-found.score, found.chunk))
    return {found.chunk: (rank, found) for rank, found in enumerate(order, 1)}


def _found(hit: Json) -> LegHit:
    [score, _], fields = hit["sort"], hit["fields"]
    [chunk], [document], [generation] = (fields[name] for name in NAMES)
    [model], [vector] = fields.get("model", [None]), fields.get("vector", [""])
    # OpenSearch returns base64 without its padding.
    return LegHit(chunk, document, generation, score, model, b64decode(vector + "=="))


def _cosines(found: list[LegHit], vector: QueryVector) -> dict[str, float]:
    """The cosines by chunk, without chunks that have no vector of the model."""
    import numpy as np

    fitting = [one for one in found if one.model == vector.model and 2 * len(one.vector) == len(vector.values())]
    if not fitting:
        return {}
    query = np.frombuffer(vector.values(), "<f4")
    rows = np.frombuffer(b"".join(one.vector for one in fitting), "<f2").reshape(-1, len(query)).astype(np.float32)
    return {one.chunk: round(float(value), 6) for one, value in zip(fitting, rows @ query, strict=True)}
