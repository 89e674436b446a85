"""A real node finds what a calculation by hand finds, and keeps what it has acknowledged."""

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from opensearchpy import OpenSearch

from tests.servers.errors import NotStarted
from tests.servers.java import nodes
from tests.servers.java.chunks import INDEX, best, bm25, cosine, direction, drawn, fill, lexical, nearest
from tests.servers.java.nodes import Node
from tests.servers.java.opensearch import opensearch
from tests.servers.java.server import Server
from tests.servers.reporting import only_with

pytestmark = pytest.mark.aws

CHUNKS = drawn(seed=4)
VECTOR = direction(random.Random(44))
WORDS = "horse winter"
K = 10


@pytest.fixture(scope="module")
def client(node: Node) -> Iterator[OpenSearch]:
    with OpenSearch(node.url) as client:
        yield client


@pytest.fixture(scope="module")
def index(node: Node, client: OpenSearch) -> str:
    name = f"{node.prefix}chunks"
    client.indices.create(index=name, body=INDEX)
    fill(client, name, CHUNKS)
    return name


def hits(answer: dict[str, Any]) -> list[tuple[str, float]]:
    return [(hit["_id"], hit["_score"]) for hit in answer["hits"]["hits"]]


def same(found: list[tuple[str, float]], wanted: list[tuple[str, float]]) -> bool:
    """Whether these are the hits. Lucene keeps a text's length in one byte: exact up to 40 words."""
    ids = [identifier for identifier, _ in wanted]
    scores = pytest.approx([score for _, score in wanted], rel=1e-4)  # pyright: ignore[reportUnknownMemberType]
    return [identifier for identifier, _ in found] == ids and [score for _, score in found] == scores


@pytest.mark.parametrize("owner", ["ann", "bob"])
def test_bm25_finds_the_owners_chunks_in_the_order_of_their_scores(client: OpenSearch, index: str, owner: str) -> None:
    found = hits(client.search(index=index, body=lexical(WORDS, owner, 20)))
    assert same(found, best(CHUNKS, owner, bm25(CHUNKS, WORDS), 20))


@pytest.mark.parametrize("owner", ["ann", "bob"])
@pytest.mark.parametrize("k", [1, K, 50])
def test_k_nn_finds_exactly_the_k_nearest_of_the_owner(client: OpenSearch, index: str, owner: str, k: int) -> None:
    found = hits(client.search(index=index, body=nearest(VECTOR, owner, k)))
    assert same(found, best(CHUNKS, owner, cosine(VECTOR), k))


def test_one_request_gives_both_lists(client: OpenSearch, index: str) -> None:
    searches = [{"index": index}, lexical(WORDS, "ann", K), {"index": index}, nearest(VECTOR, "ann", K)]
    words, vectors = client.msearch(body=searches)["responses"]
    assert same(hits(words), best(CHUNKS, "ann", bm25(CHUNKS, WORDS), K))
    assert same(hits(vectors), best(CHUNKS, "ann", cosine(VECTOR), K))


def test_a_field_that_the_index_does_not_know_is_refused(client: OpenSearch, index: str) -> None:
    answer = client.bulk(body=[{"index": {"_id": "odd"}}, {"colour": "red"}], index=index)
    assert answer["items"][0]["index"]["error"]["type"] == "strict_dynamic_mapping_exception"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("kept")


@pytest.fixture(scope="module")
def keeping(folder: Path) -> Iterator[Server]:
    with only_with("OpenSearch", "Install that."), opensearch(data=folder) as server:
        yield server


@pytest.mark.usefixtures("keeping")
def test_a_folder_that_another_node_uses_is_refused(folder: Path) -> None:
    with pytest.raises(NotStarted, match="another node is using it"), opensearch(data=folder):
        pass


def test_what_was_acknowledged_is_there_after_a_kill(keeping: Server, folder: Path) -> None:
    with OpenSearch(keeping.url) as client:
        client.indices.create(index="kept", body=INDEX)
        fill(client, "kept", CHUNKS)
    keeping.kill()
    with opensearch(data=folder) as again, OpenSearch(again.url) as client:
        client.cluster.health(index="kept", params={"wait_for_status": "green"})
        kept = client.mget(index="kept", body={"ids": [chunk.id for chunk in CHUNKS]})
        assert [document["_source"]["text"] for document in kept["docs"]] == [chunk.text for chunk in CHUNKS]


def test_the_indexes_of_a_test_go_with_it_and_no_others(client: OpenSearch, index: str) -> None:
    with nodes.opensearch_node() as other:
        client.indices.create(index=f"{other.prefix}gone", body=INDEX)
    assert not client.indices.exists(index=f"{other.prefix}gone")
    assert client.indices.exists(index=index)
