"""Which documents resemble each other: exactly those that comparing every two gives."""

from dataclasses import replace

import numpy as np
import pytest

from loci.documents.graph.neighbours_ahead import Ahead
from loci.documents.graph.neighbours_index import AT_ONCE, NeighboursIndex, nearest
from loci.documents.graph.similar_links import LEAST_BY_MODEL, LEAST_BY_WORDS, least_of, resembling, usual
from loci.documents.graph.similarity import BY_WORDS, Similarity
from tests.support.polling import until
from tests.unit.documents.test_gaps import alike


def by_brute_force(one: Similarity, most: int, least: float) -> set[tuple[int, int]]:
    near = np.round(one.rows @ one.rows.T, 4)
    best: list[list[int]] = []
    for at in range(len(one.ids)):
        others = [other for other in range(len(one.ids)) if other != at and near[at, other] >= least]
        best.append(sorted(others, key=lambda other: (-near[at, other], other))[:most])
    return {(a, b) for a in range(len(one.ids)) for b in best[a] if a < b and a in best[b]}


@pytest.mark.parametrize("least", [-1.0, 0.3, 0.8])
@pytest.mark.parametrize("most", [1, 3, 300])
def test_pairs_are_those_of_brute_force(least: float, most: int) -> None:
    one = alike(120)
    assert {(a, b) for a, b, _ in NeighboursIndex(one, most, least).mutual()} == by_brute_force(one, most, least)


def test_pairs_are_found_across_blocks() -> None:
    one = alike(AT_ONCE + 50)
    rows = one.rows.copy()
    rows[-1] = rows[0]
    found = {(a, b): value for a, b, value in NeighboursIndex(replace(one, rows=rows), 3, 0.5).mutual()}
    assert found[0, AT_ONCE + 49] == 1.0


def test_what_one_document_resembles_is_what_all_pairs_say() -> None:
    one = alike(200)
    pairs = {(a, b) for a, b, _ in NeighboursIndex(one, 3, 0.5).mutual()}
    assert pairs
    asked = NeighboursIndex(one, 3, 0.5)
    for at, id in enumerate(one.ids):
        others = {one.ids.index(other) for other, _ in resembling(asked, id)}
        assert others == {b for a, b in pairs if a == at} | {a for a, b in pairs if b == at}


def test_what_is_found_ahead_is_what_asking_finds() -> None:
    one, ahead = alike(3 * AT_ONCE), Ahead()
    first, other = NeighboursIndex(alike(2 * AT_ONCE), 3, 0.5), NeighboursIndex(one, 3, 0.5)
    for wanted in (first, other):
        ahead.find(wanted)
    places = range(len(one.ids))
    until(lambda: len(other) == len(places))
    assert other.of(places) == NeighboursIndex(one, 3, 0.5).of(places)


def test_of_equally_near_ones_the_first_by_id_are_taken() -> None:
    rows = np.ones((6, 2), np.float32) / np.sqrt(2).astype(np.float32)
    same = Similarity("model", tuple("abcdef"), rows, {})
    assert [list(one) for one in nearest(same, [0, 5], 2, 0.0)] == [[1, 2], [0, 1]]


def test_nothing_resembles_nobody() -> None:
    assert resembling(NeighboursIndex(alike(0), 3, 0.0), "a") == []
    assert resembling(NeighboursIndex(alike(1), 3, 0.0), "d00000") == []
    assert resembling(NeighboursIndex(alike(5), 3, 0.0), "d9") == []
    assert list(NeighboursIndex(alike(0), 3, 0.0).mutual()) == []
    assert list(NeighboursIndex(alike(1), 3, 0.0).mutual()) == []


def test_what_is_usual_is_the_mean_of_all_pairs() -> None:
    one = alike(50)
    rows = np.abs(one.rows)
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    near = (rows @ rows.T)[np.triu_indices(50, 1)]
    assert usual(replace(one, rows=rows)) == pytest.approx(float(near.mean()), abs=1e-5)


def test_a_model_that_puts_all_texts_close_together_needs_more() -> None:
    one = alike(50)
    close = one.rows + 5
    close /= np.linalg.norm(close, axis=1, keepdims=True)
    assert least_of(one) == LEAST_BY_MODEL
    assert least_of(replace(one, rows=close)) > 0.9
    assert least_of(replace(one, by=BY_WORDS)) == LEAST_BY_WORDS
