"""What every `DocumentIndex` compares with a question: all chunks that have a vector."""

import numpy as np

from loci.core.identity import Owner
from loci.search.document_index import DocumentIndex
from tests.contract.indexes import by_vector, chunk, embedding, find, put, vector


def test_none_is_passed_over(index: DocumentIndex, ann: Owner) -> None:
    directions = np.random.default_rng(1).standard_normal((300, 8)).tolist()
    put(index, ann, *[chunk(f"{n:03}#0", "a", embedding(*one)) for n, one in enumerate(directions)])
    for n in range(0, 300, 23):
        assert by_vector(find(index, ann, near=vector(*directions[n]), limit=1)) == [f"{n:03}#0"]
