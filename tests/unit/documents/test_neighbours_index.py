"""The nearest neighbours of documents are exactly those that comparing all pairs gives."""

from dataclasses import replace

import numpy as np
import pytest

from loci.graph.similarity import (
    AT_ONCE,
    BY_WORDS,
    MINIMUM_BY_MODEL,
    MINIMUM_BY_WORDS,
    NeighboursIndex,
    Similarity,
    minimum_similarity,
    nearest_neighbours,
)
from tests.support.each import each
from tests.unit.documents.test_gaps import random_similarity


def by_brute_force(one: Similarity, most: int, least: float) -> set[tuple[int, int]]:
    near = np.round(one.vectors @ one.vectors.T, 4)
    best: list[list[int]] = []
    for at in range(len(one.ids)):
        others = [other for other in range(len(one.ids)) if other != at and near[at, other] >= least]
        best.append(sorted(others, key=lambda other: (-near[at, other], other))[:most])
    return {(a, b) for a in range(len(one.ids)) for b in best[a] if a < b and a in best[b]}


@each("least", [-1.0, 0.3, 0.8])
@each("most", [1, 3, 300])
def test_pairs_are_those_of_brute_force(least: float, most: int) -> None:
    one = random_similarity(120)
    assert {(a, b) for a, b, _ in NeighboursIndex(one, most, least).mutual_pairs()} == by_brute_force(one, most, least)


def test_pairs_are_found_across_blocks() -> None:
    one = random_similarity(AT_ONCE + 50)
    rows = one.vectors.copy()
    rows[-1] = rows[0]
    found = {(a, b): value for a, b, value in NeighboursIndex(replace(one, vectors=rows), 3, 0.5).mutual_pairs()}
    assert found[0, AT_ONCE + 49] == 1.0


def test_what_one_document_resembles_is_what_all_pairs_say() -> None:
    one = random_similarity(200)
    pairs = {(a, b) for a, b, _ in NeighboursIndex(one, 3, 0.5).mutual_pairs()}
    assert pairs
    asked = NeighboursIndex(one, 3, 0.5)
    for at, id in enumerate(one.ids):
        others = {one.ids.index(other) for other, _ in asked.similar_to(id)}
        assert others == {b for a, b in pairs if a == at} | {a for a, b in pairs if b == at}


def test_of_equally_near_ones_the_first_by_id_are_taken() -> None:
    rows = np.ones((6, 2), np.float32) / np.sqrt(2).astype(np.float32)
    same = Similarity("model", tuple("abcdef"), rows, {})
    assert [list(one) for one in nearest_neighbours(same, [0, 5], 2, 0.0)] == [[1, 2], [0, 1]]


def test_a_library_of_none_or_one_has_no_similar_documents() -> None:
    assert NeighboursIndex(random_similarity(0), 3, 0.0).similar_to("a") == []
    assert NeighboursIndex(random_similarity(1), 3, 0.0).similar_to("d00000") == []
    assert NeighboursIndex(random_similarity(5), 3, 0.0).similar_to("d9") == []
    assert list(NeighboursIndex(random_similarity(0), 3, 0.0).mutual_pairs()) == []
    assert list(NeighboursIndex(random_similarity(1), 3, 0.0).mutual_pairs()) == []


def test_the_average_is_the_mean_of_all_pairs() -> None:
    one = random_similarity(50)
    rows = np.abs(one.vectors)
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    near = (rows @ rows.T)[np.triu_indices(50, 1)]
    assert replace(one, vectors=rows).average() == pytest.approx(float(near.mean()), abs=1e-5)


def test_a_model_that_puts_all_texts_close_together_needs_more() -> None:
    one = random_similarity(50)
    close = one.vectors + 5
    close /= np.linalg.norm(close, axis=1, keepdims=True)
    assert minimum_similarity(one) == MINIMUM_BY_MODEL
    assert minimum_similarity(replace(one, vectors=close)) > 0.9
    assert minimum_similarity(replace(one, compared_by=BY_WORDS)) == MINIMUM_BY_WORDS
