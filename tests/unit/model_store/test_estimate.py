"""How many tokens a text has, where no model can say."""

from loci.search.inference import estimated_tokens
from tests.support.each import each


@each(
    ("text", "tokens"),
    [
        ("", 0),
        (" \n", 0),
        ("How do I reset my password?", 8),
        ("def read_node(id: str) -> Node:", 12),
        ("寿司を食べる", 6),
        ("안녕하세요", 5),
        ("2026-11-21", 6),
    ],
)
def test_it_is_not_less_than_what_the_usual_vocabulary_makes_of_it(text: str, tokens: int) -> None:
    assert estimated_tokens(text) >= tokens


def test_prose_is_not_cut_into_crumbs() -> None:
    prose = "The index is one file, and each write takes the next number of a sequence stored with it."
    assert estimated_tokens(prose) <= 1.6 * len(prose.split())
