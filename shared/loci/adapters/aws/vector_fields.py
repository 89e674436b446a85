"""Passages in S3 Vectors: their keys, their words, their metadata, and `Where` as a filter."""

import base64
import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import groupby
from struct import unpack
from typing import Any, Final

from loci.core.errors import Misconfigured, Refused
from loci.core.json import Json, JsonObject
from loci.search.inference import Embedding
from loci.search.languages import FORM
from loci.search.ranking import Chunk, TagsAndDate, Where

DIMENSIONS: Final = 384
"""The numbers in a vector, as all embedders make them that Loci knows. Shorter vectors are filled up with zeros."""
WORDS: Final = "words"
FACTS: Final = "facts"
VECTOR: Final = "vector"
BITS: Final = "bits"
NOT_FILTERABLE: Final = (WORDS, FACTS, VECTOR, BITS)
"""Metadata that no filter may name. An index has this list for good."""
MOST_FILTERABLE: Final = 2_048
"""Bytes of the metadata of a passage that filters may name."""
MOST_METADATA: Final = 36_000
"""Bytes of all metadata of a passage, of the 40 KB that the service takes. The head of its document keeps more."""
MOST_WORDS: Final = 16_000
"""Characters of the words of a passage that is too long for its metadata."""
LONGEST_QUERY: Final = 1_024
"""Characters of a query by words."""
LONGEST_WORD: Final = 200
"""Characters of a word. The standard analyzer cuts words of more than 255."""
MOST_CONSTRAINTS: Final = 90
"""Values in a filter: the service takes 100 constraints."""
ENCODED: Final = "q0"
"""Begins a word in base 32, which the standard analyzer would cut or change as it is."""
ANY: Final = "-"
"""A tag that all passages have: only a passage that has the field passes a filter by tags that it must not have."""


@dataclass(frozen=True, slots=True)
class Run:
    """Passages of a document that follow one another, with vectors of one model."""

    first: int
    last: int
    model: str
    """Empty if they have no vectors."""

    @property
    def numbers(self) -> range:
        return range(self.first, self.last + 1)


@dataclass(frozen=True, slots=True)
class VectorKey:
    """The key of a passage: its id, the generation of its document, and a code for the model of its vector."""

    chunk: str
    generation: int
    model: str
    """Empty if it has no vector."""

    def __str__(self) -> str:
        return f"{self.generation:x} {self.model} {self.chunk}"

    @classmethod
    def parse(cls, text: str) -> "VectorKey":
        generation, model, chunk = text.split(" ", 2)
        return cls(chunk, int(generation, 16), model)

    @property
    def document(self) -> str:
        return self.chunk.rpartition("#")[0]


def number_of(chunk: str) -> int:
    """The number of a passage in its document."""
    return int(chunk.rpartition("#")[2])


def runs_of(chunks: Sequence[Chunk]) -> list[Run]:
    """The chunks, in runs with the same model."""
    numbers = sorted((number_of(one.id), model_of(one)) for one in chunks)
    runs: list[Run] = []
    for (_, model), some in groupby(enumerate(numbers), lambda one: (one[1][0] - one[0], one[1][1])):
        run = [number for _, (number, _) in some]
        runs.append(Run(run[0], run[-1], model))
    return runs


def keys_of(document: str, generation: int, runs: Iterable[Run]) -> Iterator[VectorKey]:
    for run in runs:
        code = code_of(run.model)
        yield from (VectorKey(f"{document}#{number}", generation, code) for number in run.numbers)


def model_of(chunk: Chunk) -> str:
    """The model of the chunk's vector; empty if it has none. Raises `Misconfigured` if the vector is too long."""
    found = chunk.embedding
    if found and len(found.vector) // 2 > DIMENSIONS:
        raise Misconfigured(
            f"The embedder {found.model} makes vectors of more than {DIMENSIONS} numbers: too long for this index",
            "Choose a smaller embedder, or an OpenSearch domain",
        )
    return found.model if found else ""


def code_of(model: str) -> str:
    """Return a short name for a model; empty without a model."""
    return _code(model) if model else ""


@lru_cache(maxsize=1 << 16)
def word_of(word: str) -> str:
    """The word as the standard analyzer keeps it whole: small letters and digits of ASCII."""
    is_plain = word.isascii() and word.isalnum() and word == word.lower() and not word.startswith(ENCODED)
    if is_plain and len(word) <= LONGEST_WORD:
        return word
    raw = word.encode("utf-8", "surrogatepass")
    if 8 * len(raw) > 5 * LONGEST_WORD:
        raw = hashlib.sha256(raw).digest()
    return ENCODED + base64.b32encode(raw).decode().rstrip("=").lower()


def query_of(words: Sequence[str]) -> str:
    """The text of a query by these words. If it would be too long, by the longest, which are the rarest.

    Stems of other languages come last: most are of languages that the text is not in.
    """
    encoded = [(one.startswith(FORM), word_of(one)) for one in words if one]
    if sum(len(one) + 1 for _, one in encoded) > LONGEST_QUERY:
        encoded.sort(key=lambda one: (one[0], -len(one[1])))
    text = ""
    for _, one in encoded:
        longer = f"{text} {one}".lstrip()
        text = longer if len(longer) <= LONGEST_QUERY else text
    return text


@dataclass(frozen=True, slots=True)
class PackedChunk:
    """A chunk in the words of the service."""

    chunk: Chunk
    facts: str
    """All but its vector, as JSON."""
    words: str
    """Its words, as the standard analyzer keeps them."""
    is_long: bool
    """True if its facts need another place than the metadata."""

    @classmethod
    def of(cls, chunk: Chunk) -> "PackedChunk":
        place = [chunk.path, chunk.title, chunk.heading, chunk.first_line, chunk.last_line]
        facts = json.dumps([*place, chunk.text, chunk.hash, chunk.words, model_of(chunk)], ensure_ascii=False)
        words, embedding = " ".join(map(word_of, chunk.words.split())), chunk.embedding
        size = len(facts.encode("utf-8", "surrogatepass")) + len(words)
        size += (len(embedding.vector) + len(embedding.bits)) * 4 // 3 if embedding else 0
        return cls(chunk, facts, words, size > MOST_METADATA)

    def vector(self, key: VectorKey, marks: TagsAndDate) -> JsonObject:
        """The chunk as the service takes it, with a vector that means nothing if it has none."""
        chunk, words, embedding = self.chunk, self.words, self.chunk.embedding
        metadata = _filterable(key, chunk, marks)
        if not self.is_long:
            metadata[FACTS] = self.facts
        elif len(words) > MOST_WORDS:
            words = words[:MOST_WORDS].rpartition(" ")[0]
        if words:
            metadata[WORDS] = words
        numbers = [1.0]  # the service takes no vector of zeros
        if embedding:
            blobs = {VECTOR: embedding.vector, BITS: embedding.bits}
            metadata |= {name: base64.b64encode(one).decode() for name, one in blobs.items() if one}
            numbers = [round(one, 9) for one in unpack(f"<{len(embedding.vector) // 2}e", embedding.vector)]
        return {"key": str(key), "data": {"float32": [*filled(numbers)]}, "metadata": metadata}


def _filterable(key: VectorKey, chunk: Chunk, marks: TagsAndDate) -> JsonObject:
    """The metadata that filters name."""
    tags: list[Json] = [ANY, *(_code(one) for one in dict.fromkeys(marks.tags))]
    metadata: JsonObject = {"key": str(key), "document": chunk.document, "hash": chunk.hash, "tags": tags}
    if key.model:
        metadata["model"] = key.model
    if marks.date:
        metadata["day"] = _day(marks.date)
    if (size := len(json.dumps(metadata))) > MOST_FILTERABLE:
        raise Refused(
            f"The document {chunk.path!r} has {len(marks.tags)} tags, folders and properties: the index has room for "
            f"{MOST_FILTERABLE:,} bytes of them, with its name, and these are {size:,}",
            "Give it fewer tags or properties",
            code="TOO_MANY_TAGS",
        )
    return metadata


def filled(numbers: Sequence[float]) -> list[float]:
    """The vector with zeros to the length of the index: they change no angle."""
    return [*numbers, *[0.0] * (DIMENSIONS - len(numbers))]


def chunk_of(key: VectorKey, facts: str, metadata: Mapping[str, Any]) -> Chunk:
    """The chunk from its facts and the other metadata that no filter names."""
    path, title, heading, first, last, text, hash, words, model = json.loads(facts)
    embedding = None
    if model:
        vector, bits = (base64.b64decode(metadata.get(name, "")) for name in (VECTOR, BITS))
        embedding = Embedding(model, vector, bits)
    return Chunk(key.chunk, key.document, path, title, tuple(heading), first, last, text, hash, words, embedding)


def filter_of(where: Where, *more: JsonObject) -> JsonObject | None:
    """The conditions as a filter, with more of them; None if nothing is set. Words are no part of it."""
    every: list[JsonObject] = [*more]
    if where.documents:
        every.append({"document": {"$in": [*where.documents]}})
    if where.no_documents:
        every.append({"document": {"$nin": [*where.no_documents]}})
    if where.any_tags:
        every.append({"tags": {"$in": [_code(one) for one in where.any_tags]}})
    every.extend({"tags": {"$eq": _code(one)}} for one in where.all_tags)
    if where.no_tags:
        every.append({"tags": {"$nin": [_code(one) for one in where.no_tags]}})
    if where.since:
        every.append({"day": {"$gte": _day(where.since)}})
    if where.until:
        every.append({"day": {"$lte": _day(where.until)}})
    return {"$and": [*every]} if len(every) > 1 else next(iter(every), None)


def _day(date: str) -> int:
    """YYYY-MM-DD as a number: the service compares nothing else."""
    return int(date.replace("-", ""))


def _code(text: str) -> str:
    """Eight characters that stand for a text."""
    digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()
    return base64.urlsafe_b64encode(digest[:6]).decode()
