"""An index in OpenSearch gets other shards while it is used: it is copied, and an alias leads to the copy."""

from collections.abc import Callable, Iterator
from copy import deepcopy

import pytest

from loci.adapters.aws import index_copy
from loci.adapters.aws.index import OpenSearchIndex
from loci.adapters.aws.index_fields import index_body, vector_fields
from loci.adapters.aws.opensearch import Json, OpenSearchCluster
from loci.core.errors import Unavailable
from loci.core.identity import Owner
from tests.contract.indexes import NOTES, by_words, chunk, embedding, find, node, put, vector

pytestmark = pytest.mark.aws
OWNERS = [Owner("acme", name) for name in ("ann", "bob", "cleo", "dan")]
ANN = OWNERS[0]


@pytest.fixture
def opened() -> Iterator[tuple[OpenSearchCluster, str]]:
    with node() as opened:
        yield opened


@pytest.fixture
def cluster(opened: tuple[OpenSearchCluster, str]) -> OpenSearchCluster:
    return opened[0]


@pytest.fixture
def name(opened: tuple[OpenSearchCluster, str]) -> str:
    return opened[1]


def filled(index: OpenSearchIndex) -> OpenSearchIndex:
    for owner in OWNERS:
        put(index, owner, *(chunk(f"{n}#0", f"river stone {'cloud ' * n}", embedding(1, n)) for n in range(6)))
    return index


def found(index: OpenSearchIndex) -> list[object]:
    """All that the owners find, with every score."""
    return [find(index, owner, "river cloud", vector(1, 2)) for owner in OWNERS]


def layout(cluster: OpenSearchCluster, name: str) -> Json:
    [held] = cluster.client.indices.get_settings(index=name).values()
    return held["settings"]["index"]


def meanwhile(monkeypatch: pytest.MonkeyPatch, step: str, act: Callable[[], object]) -> None:
    """Act once, after this step of a copy."""
    does, rest = getattr(index_copy, step), [act]

    def step_and_act(*given: object, **named: object) -> None:
        does(*given, **named)
        if rest:
            rest.pop()()

    monkeypatch.setattr(index_copy, step, step_and_act)


def test_an_index_from_before_the_alias_is_served_and_copied_behind_one(cluster: OpenSearchCluster, name: str) -> None:
    before = deepcopy(index_body())
    del before["settings"]["index"]["codec"], before["settings"]["index"]["auto_expand_replicas"]
    before["mappings"]["_source"] = {"excludes": ["near_*"]}
    before["mappings"]["properties"] |= {"near_8": {**vector_fields(8)["near_8"], "doc_values": True}}
    cluster.client.indices.create(index=name, body=before)
    index = filled(OpenSearchIndex(cluster, name))
    wanted, whole = found(index), [list(index.passages(owner, NOTES)) for owner in OWNERS]
    assert OpenSearchIndex(cluster, name, shards=3).fit() == 3
    assert layout(cluster, name)["number_of_shards"] == "3"
    assert list(cluster.client.indices.get_alias(name=name)) == [f"{name}-1"]
    assert found(index) == wanted  # by a process that knows nothing of it
    assert [list(index.passages(owner, NOTES)) for owner in OWNERS] == whole
    put(index, ANN, chunk("0#0", "garden", embedding(1, 0)))
    assert by_words(find(index, ANN, "garden")) == ["0#0"]


def test_an_index_of_the_layout_of_today_is_left_alone(cluster: OpenSearchCluster, name: str) -> None:
    index = filled(OpenSearchIndex(cluster, name))
    assert index.fit() is None
    assert layout(cluster, name)["number_of_replicas"] == "0"  # on one node; on two it would be 1


def test_it_may_be_copied_again_into_fewer(cluster: OpenSearchCluster, name: str) -> None:
    index = filled(OpenSearchIndex(cluster, name, shards=4))
    wanted = found(index)
    assert OpenSearchIndex(cluster, name, shards=2).fit() == 2
    assert OpenSearchIndex(cluster, name, shards=1).fit() == 1
    assert found(index) == wanted
    assert list(cluster.client.indices.get_alias(name=name)) == [f"{name}-3"]


def test_what_is_written_while_it_is_copied_is_in_the_copy(
    cluster: OpenSearchCluster, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    writer = filled(OpenSearchIndex(cluster, name))

    def write() -> None:
        put(writer, ANN, chunk("0#0", "garden", embedding(1, 0)))
        put(writer, ANN, chunk("new#0", "garden", embedding(1, 1)))
        writer.remove(ANN, NOTES, "1")

    meanwhile(monkeypatch, "_copy", write)
    OpenSearchIndex(cluster, name, shards=2).fit()
    assert by_words(find(writer, ANN, "garden")) == ["0#0", "new#0"]
    assert writer.documents(ANN, NOTES) == {"0": 1, "2": 1, "3": 1, "4": 1, "5": 1, "new": 1}


def test_searches_go_on_to_the_end_and_the_last_writes_are_refused(
    cluster: OpenSearchCluster, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    user, seen = filled(OpenSearchIndex(cluster, name)), list[object]()
    wanted = found(user)

    def use() -> None:
        seen.extend(found(user))
        with pytest.raises(Unavailable, match="takes no writes"):
            put(user, ANN, chunk("0#0", "garden"))
        with pytest.raises(Unavailable, match="takes no writes"):
            user.remove(ANN, NOTES, "1")

    meanwhile(monkeypatch, "_remove_gone", use)
    OpenSearchIndex(cluster, name, shards=2).fit()
    assert seen == wanted == found(user)
    put(user, ANN, chunk("0#0", "garden"))
    assert by_words(find(user, ANN, "garden")) == ["0#0"]


def test_a_copy_that_fails_leaves_the_index_as_it_was(
    cluster: OpenSearchCluster, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stop() -> None:
        raise KeyboardInterrupt

    index = filled(OpenSearchIndex(cluster, name))
    meanwhile(monkeypatch, "_remove_gone", stop)
    with pytest.raises(KeyboardInterrupt):
        OpenSearchIndex(cluster, name, shards=2).fit()
    put(index, ANN, chunk("0#0", "garden"))
    assert layout(cluster, name)["number_of_shards"] == "1"


def test_after_a_copy_that_was_killed_the_next_one_begins_anew(cluster: OpenSearchCluster, name: str) -> None:
    index = filled(OpenSearchIndex(cluster, name))
    wanted = found(index)
    cluster.client.indices.create(index=f"{name}-2", body=index_body(5))
    cluster.client.index(index=f"{name}-2", id="half", body={"owner": ANN.key}, params={"refresh": "true"})
    cluster.client.indices.add_block(index=f"{name}-1", block="write")
    assert OpenSearchIndex(cluster, name, shards=2).fit() == 2
    assert found(index) == wanted
    put(index, ANN, chunk("0#0", "garden"))
