"""Groups of documents: the same for the same documents, in whatever order and process."""

import os
import random
import subprocess
import sys

import numpy as np

from loci.documents.document import Document
from loci.graph.clusters import Clustering, Method, communities, find_clusters
from loci.graph.graph import build_graph
from loci.graph.similarity import Similarity
from loci.markdown.nouns import Mention, WrittenLinks
from tests.support.each import each

METHODS: tuple[Method, ...] = ("louvain", "tags")
TOPICS = 3
EACH = 12


def document(id: str, tags: tuple[str, ...] = ()) -> Document:
    return Document(id, f"r/{id}.md", "r", id, tags, None, "x", 1, 1, 1, None, "2026-01-01T00:00:00Z")


def library() -> tuple[list[Document], Similarity]:
    """Documents about some topics, in turn."""
    numbers = np.random.default_rng(1)
    centres = np.eye(TOPICS, 16)
    ids = [f"d{number:03}" for number in range(TOPICS * EACH)]
    rows = np.stack([centres[at % TOPICS] + 0.1 * numbers.standard_normal(16) for at in range(len(ids))])
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    terms = {id: {f"topic{at % TOPICS}": 2.0, f"rare{at}": 9.0, "every": 1.0} for at, id in enumerate(ids)}
    documents = [document(id, (f"t{at % TOPICS}",)) for at, id in enumerate(ids)]
    return documents, Similarity("model", tuple(ids), rows.astype(np.float32), terms)


def clustered(method: Method, order: int = 0) -> Clustering:
    documents, similarity = library()
    random.Random(order).shuffle(documents)
    return find_clusters(build_graph(documents, {}), similarity, method)


def found_by_each() -> list[list[tuple[str, tuple[str, ...]]]]:
    return [[(one.id, one.stems) for one in clustered(method).clusters] for method in METHODS]


@each("method", METHODS)
def test_documents_of_one_topic_are_together(method: Method) -> None:
    found = clustered(method)
    for one in found.clusters:
        assert len({int(id[1:]) % TOPICS for id in one.documents}) == 1
    assert sum(len(one.documents) for one in found.clusters) == TOPICS * EACH


def test_louvain_finds_the_topics_themselves() -> None:
    assert [len(one.documents) for one in clustered("louvain").clusters] == [EACH] * TOPICS


@each("method", METHODS)
def test_the_order_of_documents_does_not_matter(method: Method) -> None:
    assert clustered(method, 1) == clustered(method, 2)


def test_another_process_finds_the_same() -> None:
    program = "from tests.unit.documents.test_clusters import found_by_each\nprint(found_by_each())"
    said = [
        subprocess.run(
            [sys.executable, "-c", program],
            env={**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": os.pathsep.join(sys.path)},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    ]
    assert said[0] == said[1] == f"{found_by_each()}\n"


def test_words_that_several_say_and_others_do_not_tell_a_cluster_apart() -> None:
    for one in clustered("louvain").clusters:
        topic = f"topic{int(one.documents[0][1:]) % TOPICS}"
        assert one.stems.index(topic) < one.stems.index("every") if "every" in one.stems else topic in one.stems


def test_another_document_makes_another_id_of_its_cluster_only() -> None:
    documents, similarity = library()
    more = [*documents, document("z", ("t0",))]
    before = {one.tag: one.id for one in find_clusters(build_graph(documents, {}), similarity, "tags").clusters}
    after = {one.tag: one.id for one in find_clusters(build_graph(more, {}), similarity, "tags").clusters}
    assert {tag for tag in before if before[tag] != after[tag]} == {"t0"}


def test_links_join_what_is_not_alike() -> None:
    documents = [document(id) for id in "abcd"]
    apart = Similarity("model", tuple("abcd"), np.eye(4, dtype=np.float32), {})
    said = {
        id: WrittenLinks(mentions=(Mention(to, "name", "references", 1, ""),))
        for id, to in {"a": "c", "b": "d"}.items()
    }
    found = find_clusters(build_graph(documents, said), apart, "louvain")
    assert sorted(sorted(one.documents) for one in found.clusters) == [["a", "c"], ["b", "d"]]


@each("method", METHODS)
def test_an_empty_library_has_no_clusters(method: Method) -> None:
    nothing = Similarity("model", (), np.zeros((0, 4), np.float32), {})
    assert find_clusters(build_graph([], {}), nothing, method).clusters == ()


def test_a_point_without_edges_is_a_group_of_its_own() -> None:
    assert communities(3, {(0, 2): 1.0}) == [[0, 2], [1]]
