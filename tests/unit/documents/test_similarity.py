"""The vectors that documents are compared by, and their terms, which are computed only when somebody needs them."""

import pytest

from loci.core.identity import LOCAL
from loci.documents.ingest.index_writer import COLLECTION
from loci.graph import similarity as module
from loci.graph.graphs import Graphs
from loci.graph.similarity import BY_WORDS, TfIdf, WordNumbers
from loci.search.words import words_of_text

from .conftest import Desk

NOTES = {
    "ferry.md": "# Ferry\n\nThe ferry sails at noon.\n\n# Back\n\nThe ferry is back at dawn.\n",
    "train.md": "# Train\n\nThe train meets the ferry.\n",
    "bread.md": "# Bread\n\nFlour and water.\n",
}


def graphs(desk: Desk) -> Graphs:
    for path, text in NOTES.items():
        desk.write(path, text)
    desk.run()
    return Graphs(desk.catalog, desk.index, desk.embedder)


def tf_idf(desk: Desk) -> TfIdf:
    words = WordNumbers()
    for chunk in desk.index.passages(LOCAL, COLLECTION):
        words.add(chunk.document, words_of_text(chunk.words))
    return TfIdf(tuple(sorted(words.of)), words)


@pytest.mark.parametrize("library", ["desk", "modelled"])
def test_the_terms_are_those_of_the_documents_that_were_compared(request: pytest.FixtureRequest, library: str) -> None:
    desk: Desk = request.getfixturevalue(library)
    similarity = graphs(desk).similarity(LOCAL)
    before = tf_idf(desk).terms()
    desk.write("bread.md", "# Bread\n\nRye.\n")
    desk.run()
    assert dict(similarity.terms) == dict(before)
    assert len(similarity.terms) == 3
    assert (similarity.compared_by == BY_WORDS) == (library == "desk")


def test_if_a_model_compares_terms_are_computed_only_when_somebody_asks(
    modelled: Desk,
) -> None:
    weighed: list[int] = []

    def weigh(ids: tuple[str, ...], words: WordNumbers) -> TfIdf:
        weighed.append(len(ids))
        return TfIdf(ids, words)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "TfIdf", weigh)
        similarity = graphs(modelled).similarity(LOCAL)
        assert (similarity.vectors.shape[0], weighed) == (3, [])
        for _ in range(2):
            assert "ferri" in similarity.terms["notes-ferry"]
        assert weighed == [3]
