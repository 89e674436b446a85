"""Gaps are exactly the pairs that comparing all documents gives."""

import random
from dataclasses import replace
from itertools import combinations

import numpy as np

from loci.documents.document import Document
from loci.graph.gaps import find_gaps
from loci.graph.graph import build_graph
from loci.graph.similarity import BLOCK, Similarity
from loci.markdown.nouns import Mention, WrittenLinks
from tests.support.each import each


def random_similarity(count: int, dimensions: int = 8, seed: int = 1) -> Similarity:
    rows = np.random.default_rng(seed).standard_normal((count, dimensions)).astype(np.float32)
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    return Similarity("model", tuple(f"d{number:05}" for number in range(count)), rows, {})


def by_brute_force(
    one: Similarity, least: float, most: int, without: frozenset[tuple[str, str]]
) -> list[tuple[str, str]]:
    left_out = without | {(b, a) for a, b in without}
    near = {
        (a, b): float(one.vectors[at] @ one.vectors[other])
        for (at, a), (other, b) in combinations(enumerate(one.ids), 2)
        if (a, b) not in left_out
    }
    found = [pair for pair in near if near[pair] >= least]
    return sorted(found, key=lambda pair: (-near[pair], pair))[:most]


@each("least", [-1.0, 0.0, 0.7, 0.95])
@each("most", [1, 10, 500])
def test_they_are_those_of_brute_force(least: float, most: int) -> None:
    one = random_similarity(120)
    source = random.Random(2)
    without = frozenset(tuple(source.sample(one.ids, 2)) for _ in range(200))
    found = [(a, b) for _, a, b in one.most_similar_pairs(least, most, without)]  # pyright: ignore[reportArgumentType]
    assert found == by_brute_force(one, least, most, without)  # pyright: ignore[reportArgumentType]


def test_they_are_found_across_blocks() -> None:
    one = random_similarity(2 * BLOCK + 50)
    rows = one.vectors.copy()
    rows[-1], rows[BLOCK + 3] = rows[0], rows[BLOCK - 1]
    found = replace(one, vectors=rows).most_similar_pairs(0.9999, 10, frozenset())
    assert {(a, b) for _, a, b in found} >= {
        (one.ids[0], one.ids[-1]),
        (one.ids[BLOCK - 1], one.ids[BLOCK + 3]),
    }


def test_a_lower_threshold_gives_all_that_a_higher_one_gives() -> None:
    one = random_similarity(200)
    high = {(a, b) for _, a, b in one.most_similar_pairs(0.9, 10_000, frozenset())}
    low = {(a, b) for _, a, b in one.most_similar_pairs(0.7, 10_000, frozenset())}
    assert high < low


def test_none_and_one_document_have_no_gaps() -> None:
    assert random_similarity(0).most_similar_pairs(0, 10, frozenset()) == []
    assert random_similarity(1).most_similar_pairs(0, 10, frozenset()) == []


def document(id: str, path: str, date: str | None = None) -> Document:
    return Document(id, path, "r", path, (), date, "x", 1, 1, 1, None, "2026-01-01T00:00:00Z")


def test_who_is_linked_either_way_is_no_gap_and_the_younger_is_the_source() -> None:
    old, young = document("a", "r/briefs/x.md", "2026-01-01"), document("b", "r/debriefs/y.md", "2026-02-01")
    third = document("c", "r/z.md")
    near = Similarity("model", ("a", "b", "c"), np.array([[1, 0], [0.9, 0.436], [1, 0]], np.float32), {})
    said = {"c": WrittenLinks(mentions=(Mention("a", "name", "references", 1, ""),))}
    found = find_gaps(build_graph([old, young, third], said), near, 10, 0.8)
    assert {(one.source.id, one.target.id, one.relation) for one in found} == {
        ("b", "a", "follows"),
        ("b", "c", "references"),
    }


def test_what_says_the_same_is_marked() -> None:
    documents = [document("a", "r/x.md"), document("b", "r/y.md")]
    near = Similarity(
        "model", ("a", "b"), np.array([[1, 0], [1, 0]], np.float32), {"a": {"ferri": 2.0}, "b": {"ferri": 1.0}}
    )
    [gap] = find_gaps(build_graph(documents, {}), near, 10, 0.8)
    assert (gap.kind, gap.relation, gap.stems, gap.similarity) == ("duplicate", "similar", ("ferri",), 1.0)
