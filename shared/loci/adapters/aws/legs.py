"""The two legs of a search: what OpenSearch is asked, and what its answers say together."""

from base64 import b64decode
from collections.abc import Sequence
from dataclasses import dataclass

from loci.adapters.aws.indexed import Json, cosine_of, term, vector_field
from loci.search.ranking import Candidate, Vector

MOST_WORDS = 256
"""Of a question."""
LOOKED_AT = 2
"""Times the limit. HNSW is approximate: with once the limit it missed a quarter of the nearest of 10,000 vectors that
have nothing in common, the hardest case; with twice a tenth."""
NAMES = ("chunk", "document", "generation")


@dataclass(frozen=True, slots=True)
class FoundChunks:
    """A hit of one leg."""

    chunk: str
    document: str
    generation: int
    score: float
    model: str | None
    vector: bytes


def lexical(words: Sequence[str], filters: list[Json], limit: int, *, with_vectors: bool) -> Json:
    """The search for words. The vectors come along so that what only the words find has a cosine, too."""
    said = [term("words", word) for word in words[:MOST_WORDS]]
    query = {"bool": {"should": said, "minimum_should_match": 1, "filter": filters}}
    return _leg(limit, query, (*NAMES, "model", "vector") if with_vectors else NAMES)


def nearest(vector: Vector, filters: list[Json], limit: int) -> Json:
    """The search for what is near."""
    import numpy as np  # 0.1 s, which a search for words alone does not pay

    numbers = [round(number, 7) for number in np.frombuffer(vector.made(), "<f4").tolist()]
    fitting = {"bool": {"filter": [*filters, term("model", vector.model)]}}
    query = {"knn": {vector_field(len(numbers)): {"vector": numbers, "k": LOOKED_AT * limit, "filter": fitting}}}
    return _leg(limit, query, NAMES)


def together(said: Json | None, near: Json | None, vector: Vector | None) -> list[Candidate]:
    """The candidates of the legs' answers."""
    by_words = _ranked(said) if said else {}
    by_vector = _ranked(near) if near else {}
    cosines = _cosines([one for _, one in by_words.values()], vector) if vector else {}
    cosines |= {chunk: round(cosine_of(one.score), 6) for chunk, (_, one) in by_vector.items()}
    candidates: list[Candidate] = []
    for chunk in dict.fromkeys([*by_words, *by_vector]):
        lexical_rank, word = by_words.get(chunk, (None, None))
        vector_rank, neighbour = by_vector.get(chunk, (None, None))
        [document] = {one.document for one in (word, neighbour) if one}
        bm25 = word.score if word else None
        candidates.append(Candidate(chunk, document, bm25, lexical_rank, cosines.get(chunk), vector_rank))
    return candidates


def _leg(limit: int, query: Json, fields: Sequence[str]) -> Json:
    return {
        "size": limit,
        "_source": False,
        "docvalue_fields": list(fields),  # read alone; in the source the text and the bits lie beside them
        "sort": [{"_score": "desc"}, {"chunk": "asc"}],
        "track_total_hits": False,
        "query": query,
    }


def _ranked(answer: Json) -> dict[str, tuple[int, FoundChunks]]:
    """The hits by chunk, in order, with their places. Of two versions of a chunk it is the newer one."""
    best: dict[str, FoundChunks] = {}
    for hit in answer["hits"]["hits"]:
        found = _found(hit)
        if found.chunk not in best or best[found.chunk].generation < found.generation:
            best[found.chunk] = found
    order = sorted(best.values(), key=lambda found: (-found.score, found.chunk))
    return {found.chunk: (rank, found) for rank, found in enumerate(order, 1)}


def _found(hit: Json) -> FoundChunks:
    [score, _], fields = hit["sort"], hit["fields"]
    [chunk], [document], [generation] = (fields[name] for name in NAMES)
    [model], [vector] = fields.get("model", [None]), fields.get("vector", [""])
    return FoundChunks(
        chunk, document, generation, score, model, b64decode(vector + "==")
    )  # it comes without its padding


def _cosines(found: list[FoundChunks], vector: Vector) -> dict[str, float]:
    """By chunk; of those that have a vector of the model."""
    import numpy as np

    fitting = [one for one in found if one.model == vector.model and 2 * len(one.vector) == len(vector.made())]
    if not fitting:
        return {}
    asked = np.frombuffer(vector.made(), "<f4")
    rows = np.frombuffer(b"".join(one.vector for one in fitting), "<f2").reshape(-1, len(asked)).astype(np.float32)
    return {one.chunk: round(float(value), 6) for one, value in zip(fitting, rows @ asked, strict=True)}
