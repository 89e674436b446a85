"""The short form of vectors, and how those get it that an older version wrote."""

import numpy as np

from loci.adapters.local.index.vector_codes import code_bytes, code_of
from loci.core.identity import Owner
from tests.support.each import each

ANN = Owner("acme", "ann")


@each("dimensions", [8, 100, 384])
def test_a_code_tells_the_signs_and_which_numbers_are_great(dimensions: int) -> None:
    numbers = np.random.default_rng(1).standard_normal(dimensions)
    stored = (numbers / np.linalg.norm(numbers)).astype("<f2")
    code = code_of(stored.tobytes())
    assert len(code) == code_bytes(dimensions)
    signs, halves = np.unpackbits(np.frombuffer(code, np.uint8)).reshape(2, -1)[:, :dimensions]
    assert signs.tolist() == (stored > 0).astype(int).tolist()
    great = halves == signs
    assert np.abs(stored[great]).min(initial=1) > np.abs(stored[~great]).max(initial=0)
    assert 0 < great.sum() < dimensions


def test_levels_order_vectors_nearly_as_their_cosines_do() -> None:
    source = np.random.default_rng(2)
    rows = source.standard_normal((500, 384))
    rows = (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype("<f2")
    query = rows[0].astype(float) + source.standard_normal(384) / 384**0.5
    bits = np.unpackbits(np.array([np.frombuffer(code_of(row.tobytes()), np.uint8) for row in rows]), axis=1)
    levels = 2.0 * bits[:, :384] + bits[:, 384:]
    assert np.corrcoef(levels @ query, rows.astype(float) @ query)[0, 1] > 0.9
