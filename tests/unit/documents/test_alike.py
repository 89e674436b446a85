"""The vectors that documents are compared by, and what they are about: the one does not wait for the other."""

from collections import Counter

import pytest

from loci.adapters.local.inference.current_model import CurrentModel
from loci.adapters.local.inference.embedder import OnnxEmbedder
from loci.core.identity import LOCAL
from loci.documents.graph import similarity as module
from loci.documents.graph.similarity import BY_WORDS, Similarities
from loci.documents.graph.tf_idf import TfIdf
from loci.documents.ingest.index_writer import COLLECTION
from loci.model_store.models_folder import ModelsFolder

from .conftest import Desk

NOTES = {
    "ferry.md": "# Ferry\n\nThe ferry sails at noon.\n\n# Back\n\nThe ferry is back at dawn.\n",
    "train.md": "# Train\n\nThe train meets the ferry.\n",
    "bread.md": "# Bread\n\nFlour and water.\n",
}


def likeness(desk: Desk) -> Similarities:
    for path, text in NOTES.items():
        desk.write(path, text)
    desk.run()
    return Similarities(desk.index, OnnxEmbedder(CurrentModel(ModelsFolder(desk.models), "embedder")))


def telling(desk: Desk) -> TfIdf:
    words: dict[str, Counter[str]] = {}
    for chunk in desk.index.passages(LOCAL, COLLECTION):
        words.setdefault(chunk.document, Counter()).update(chunk.words.split())
    return TfIdf(tuple(sorted(words)), words)


@pytest.mark.parametrize("library", ["desk", "modelled"])
def test_what_documents_are_about_is_the_same_whenever_it_is_asked_for(
    request: pytest.FixtureRequest, library: str
) -> None:
    desk: Desk = request.getfixturevalue(library)
    alike = likeness(desk).of(LOCAL)
    before = telling(desk).most()
    desk.write("bread.md", "# Bread\n\nRye.\n")
    desk.run()
    assert dict(alike.terms) == before
    assert len(alike.terms) == 3
    assert (alike.by == BY_WORDS) == (library == "desk")


def test_where_a_model_compares_no_word_is_weighed_before_somebody_asks_what_documents_are_about(
    modelled: Desk,
) -> None:
    weighed: list[int] = []

    def weigh(ids: tuple[str, ...], words: dict[str, Counter[str]]) -> TfIdf:
        weighed.append(len(ids))
        return TfIdf(ids, words)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "TfIdf", weigh)
        alike = likeness(modelled).of(LOCAL)
        assert (alike.rows.shape[0], weighed) == (3, [])
        for _ in range(2):
            assert "ferri" in alike.terms["notes-ferry"]
        assert weighed == [3]
