"""A snippet that a language model gives is the passage's, word for word."""

from loci.search.language_stage import LanguageStage
from tests.support.each import each
from tests.support.stub_model import StubModel
from tests.unit.search.language.passages import QUERY, hit, hits, judged


class TestASnippet:
    TEXT = "Keys lie in a vault.\n\n    Tokens are\n    kept (hashed) in the table.  Nothing else is kept."

    def test_that_the_passage_has_is_shown(self, reader: LanguageStage, stub: StubModel) -> None:
        assert snippet_for(reader, stub, self.TEXT, "Nothing else is kept.") == "Nothing else is kept."

    def test_is_shown_as_it_stands_in_the_passage(self, reader: LanguageStage, stub: StubModel) -> None:
        shown = snippet_for(reader, stub, self.TEXT, " Tokens are kept (hashed)\nin the   table.")
        assert shown == "Tokens are\n    kept (hashed) in the table."

    @each(
        "said",
        [
            "Tokens are kept in the clear.",
            "tokens are kept (hashed) in the table.",
            "Keys lie in a vault. … Nothing else is kept.",
            "Keys lie in a vault. Nothing else is kept.",
            "Tokens.are.*table",
            "kept",
            "",
            "  \n",
        ],
    )
    def test_that_the_passage_has_not_leaves_the_old_one(
        self, reader: LanguageStage, stub: StubModel, said: str
    ) -> None:
        assert snippet_for(reader, stub, self.TEXT, said) == "old 1"

    def test_of_another_passage_leaves_the_old_one(self, reader: LanguageStage, stub: StubModel) -> None:
        stub.will(judged([1, 2], (1, "c", "Passage 2 says that tokens")))
        assert reader.read(QUERY, hits(2), room=300).hits[0].snippet == "old 1"

    def test_may_be_a_short_passage_whole(self, reader: LanguageStage, stub: StubModel) -> None:
        assert snippet_for(reader, stub, "颜色是蓝的", "颜色是蓝的") == "颜色是蓝的"

    def test_fits_into_its_room(self, reader: LanguageStage, stub: StubModel) -> None:
        text = "Tokens " * 200
        shown = snippet_for(reader, stub, text, text, room=100)
        assert len(shown) <= 100
        assert text.startswith(shown.removesuffix("…"))

    @each("text", ["a " * 3000, "a" * 6000, " " * 6000 + "a"])
    def test_is_looked_for_in_no_time(self, reader: LanguageStage, stub: StubModel, text: str) -> None:
        assert snippet_for(reader, stub, text, f"{text} b") == "old 1"


def snippet_for(reader: LanguageStage, stub: StubModel, text: str, said: str, room: int = 300) -> str:
    stub.will(judged([1], (1, "c", said)))
    return reader.read(QUERY, [hit(1, text)], room=room).hits[0].snippet
