"""The vectors that documents are compared by, and what they are about: the one does not wait for the other."""

from collections import Counter

import pytest

from loci.adapters.embedded.inference.embedder import OnnxEmbedder
from loci.adapters.embedded.inference.in_use import InUse
from loci.documents import alike as module
from loci.documents.alike import BY_WORDS, Likeness
from loci.documents.telling import Telling
from loci.documents.writer import COLLECTION
from loci.model.identity import LOCAL
from loci.models.shelf import Shelf

from .conftest import Desk

NOTES = {
    "ferry.md": "# Ferry\n\nThe ferry sails at noon.\n\n# Back\n\nThe ferry is back at dawn.\n",
    "train.md": "# Train\n\nThe train meets the ferry.\n",
    "bread.md": "# Bread\n\nFlour and water.\n",
}


def likeness(desk: Desk) -> Likeness:
    for path, text in NOTES.items():
        desk.write(path, text)
    desk.run()
    return Likeness(desk.index, OnnxEmbedder(InUse(Shelf(desk.models), "embedder")))


def telling(desk: Desk) -> Telling:
    words: dict[str, Counter[str]] = {}
    for chunk in desk.index.passages(LOCAL, COLLECTION):
        words.setdefault(chunk.document, Counter()).update(chunk.words.split())
    return Telling(tuple(sorted(words)), words)


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

    def weigh(ids: tuple[str, ...], words: dict[str, Counter[str]]) -> Telling:
        weighed.append(len(ids))
        return Telling(ids, words)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "Telling", weigh)
        alike = likeness(modelled).of(LOCAL)
        assert (alike.rows.shape[0], weighed) == (3, [])
        for _ in range(2):
            assert "ferri" in alike.terms["notes-ferry"]
        assert weighed == [3]
