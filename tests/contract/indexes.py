"""Every adapter of the document index, ready, and what the tests put into it."""

import secrets
import time
from collections.abc import Callable, Generator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from struct import pack
from typing import TYPE_CHECKING

import pytest

from loci.adapters.aws.blobs import S3Blobs
from loci.adapters.aws.clients import Clients
from loci.adapters.aws.index import OpenSearchIndex
from loci.adapters.aws.opensearch import OpenSearchCluster
from loci.adapters.aws.records import DynamoRecords
from loci.adapters.aws.vector_index import VectorIndex
from loci.adapters.local.index.index import SqliteIndex
from loci.adapters.local.sqlite import Database
from loci.core.identity import Owner
from loci.core.ids import content_id
from loci.search.document_index import DocumentIndex
from loci.search.inference import Embedding
from loci.search.ranking import EVERYTHING, Candidate, Chunk, QueryVector, TagsAndDate, Where
from loci.search.words import index_words, query_words

if TYPE_CHECKING:
    from tests.servers.java.opensearch import Release

MODEL = "small@0123456789ab"
OTHER_MODEL = "large@ba9876543210"
NOTES = "notes"
UNMARKED = TagsAndDate()

Opener = Callable[[Path], AbstractContextManager[DocumentIndex]]
"""Gives an index that may keep files in the folder. What it holds of other owners is not the test's concern."""


@contextmanager
def embedded() -> Generator[Opener, None, None]:
    yield lambda folder: nullcontext(SqliteIndex(Database(folder / "loci.db")))


@contextmanager
def node(release: "Release" = "opensearch") -> Generator[tuple[OpenSearchCluster, str], None, None]:
    """An OpenSearch node, and a name for an index that goes with the block."""
    from tests.servers.java.nodes import opensearch_node  # `make test` needs neither this nor boto3

    with opensearch_node(release) as found:
        cluster = OpenSearchCluster(found.url)
        try:
            yield cluster, f"{found.prefix}chunks"
        finally:
            cluster.close()


@contextmanager
def opensearch(release: "Release") -> Generator[Opener, None, None]:
    """One index for many tests, each with owners of its own."""
    with node(release) as (cluster, name):
        index = OpenSearchIndex(cluster, name)
        yield lambda _: nullcontext(index)


def vector_index(clients: Clients | None = None) -> VectorIndex:
    """One in S3 Vectors, as another process has it."""
    from tests.support.moto_aws import BUCKET, TABLE, VECTORS

    clients = clients or Clients()
    records = DynamoRecords(TABLE, S3Blobs(BUCKET, clients), time.time, clients)
    return VectorIndex(VECTORS, records, clients)


@contextmanager
def vectors() -> Generator[Opener, None, None]:
    """One bucket for many tests, each with owners of its own."""
    from tests.support.moto_aws import moto_aws

    with moto_aws():
        index = vector_index()
        yield lambda _: nullcontext(index)


ADAPTERS: dict[str, Callable[[], AbstractContextManager[Opener]]] = {
    "embedded": embedded,
    "vectors": vectors,
    "opensearch": lambda: opensearch("opensearch"),
    "opensearch3": lambda: opensearch("opensearch3"),
}
PARAMETERS = [
    pytest.param("embedded"),
    pytest.param("vectors", marks=pytest.mark.aws),
    pytest.param("opensearch", marks=pytest.mark.aws),
    pytest.param("opensearch3", marks=pytest.mark.aws),
]


def someone() -> Owner:
    """An owner whom no other test has."""
    return Owner("acme", secrets.token_hex(8))


def embedding(*values: float, model: str = MODEL) -> Embedding:
    """Of the direction in which the values point."""
    numbers = _unit(values)
    return Embedding(model, pack(f"<{len(numbers)}e", *numbers), b"\xa5" * 3)


def vector(*values: float, model: str = MODEL) -> QueryVector:
    numbers = _unit(values)
    return QueryVector.of(model, pack(f"<{len(numbers)}f", *numbers))


def chunk(id: str, text: str = "", embedded: Embedding | None = None) -> Chunk:
    """A passage of the document that its id begins with."""
    words = " ".join(index_words(text))
    return Chunk(
        id, id.rpartition("#")[0], "a.md", "A", ("Top", "Below"), 3, 7, text, content_id(text), words, embedded
    )


def put(
    index: DocumentIndex, owner: Owner, *chunks: Chunk, marks: TagsAndDate = UNMARKED, collection: str = NOTES
) -> None:
    """Put each document that the chunks are of."""
    for document in dict.fromkeys(one.document for one in chunks):
        its = [one for one in chunks if one.document == document]
        index.put(owner, collection, document, its, marks)


def find(
    index: DocumentIndex,
    owner: Owner,
    question: str = "",
    near: QueryVector | None = None,
    *,
    limit: int = 50,
    where: Where = EVERYTHING,
    collection: str = NOTES,
) -> list[Candidate]:
    return index.candidates(owner, collection, query_words(question), near, limit=limit, where=where)


def candidate(candidates: Sequence[Candidate], id: str) -> Candidate:
    """The one of that chunk."""
    [found] = [one for one in candidates if one.chunk == id]
    return found


def by_words(candidates: Sequence[Candidate]) -> list[str]:
    """The chunks that the words found, best first."""
    return _in_order([(one.lexical_rank, one.chunk) for one in candidates])


def by_vector(candidates: Sequence[Candidate]) -> list[str]:
    """The chunks that the vector found, nearest first."""
    return _in_order([(one.vector_rank, one.chunk) for one in candidates])


def _in_order(ranked: Sequence[tuple[int | None, str]]) -> list[str]:
    placed = sorted((rank, id) for rank, id in ranked if rank is not None)
    assert [rank for rank, _ in placed] == list(range(1, len(placed) + 1)), "ranks count from 1, each once"
    return [id for _, id in placed]


def _unit(values: Sequence[float]) -> list[float]:
    """Of length 1, in eight dimensions at least."""
    padded = [*values, *[0.0] * (8 - len(values))]
    length = sum(value * value for value in padded) ** 0.5
    return [value / length for value in padded]


EAST, NORTH, SOUTH_WEST = embedding(1, 0), embedding(0, 1), embedding(-1, -1)
