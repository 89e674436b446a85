"""How many tokens a text has, where no model can say."""

from loci.search.inference import counted, estimated_tokens
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


@each(
    ("text", "tokens", "counts"),
    [
        ("نص قصير عن القمر", 13, 5),
        ("the same in Latin letters", 40, 40),
        ("half Latin, половина", 20, 5),
        ("月亮很远", 4, 4),
        ("1, 2, 3", 5, 5),
    ],
)
def test_a_text_in_letters_that_a_model_does_not_know_counts_at_most_the_estimate(
    text: str, tokens: int, counts: int
) -> None:
    assert counted([text], ("LATIN",), [tokens]) == [counts]
    assert counted([text], (), [tokens]) == [tokens]
