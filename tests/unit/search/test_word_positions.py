"""Where a text says the words of a question."""

import re

from hypothesis import given, settings
from hypothesis import strategies as st

from loci.search.words import ASCII_RUN, Question, index_words, word_positions
from tests.support.each import each

SAID = "running Run fooBar foo_bar HTTPServer ties 1981 v2 2nd it's e-mail x café"
WORDS = st.lists(st.sampled_from(SAID.split()))
TEXTS = WORDS.map(" ".join) | st.text(st.characters(max_codepoint=127)) | st.text()


@settings(deadline=None)
@given(TEXTS, TEXTS)
def test_they_are_where_cutting_every_word_finds_them(text: str, question: str) -> None:
    wanted = frozenset(index_words(question))
    found = word_positions(text, wanted)
    assert {word for word, _, _ in found} == wanted & frozenset(index_words(text))
    if text.isascii():  # in others a run may become another by its normal form
        every = (
            (word, run.start(), run.end()) for run in ASCII_RUN.finditer(text) for word in index_words(run.group())
        )
        assert found == [one for one in every if one[0] in wanted]


@each(
    ("text", "said"),
    [
        ("They were running late", "running"),
        ("call getUserName() here", "getUserName"),
        ("in 1981, not in 1982", "1981"),
        ("東京都に行く", "東京"),
    ],
)
def test_each_has_its_beginning_and_its_end(text: str, said: str) -> None:
    found = word_positions(text, frozenset(index_words(said)))
    assert {text[begin:end] for _, begin, end in found} == {re.search(said, text)[0]}  # pyright: ignore[reportOptionalSubscript]


@each(
    ("text", "asked", "found"),
    [
        ("Die Rechnung kam, und sie war nicht hoch.", "Rechnungen", "Rechnung"),
        ("Die Häuser sind alt, aber nicht die Tür.", "Haus", "Häuser"),
        ("Мы подписали новый договор.", "договоры", "договор"),
        ("Il a vu l'hôpital avec elle.", "les hôpitaux", "l'hôpital"),
    ],
)
def test_another_form_of_the_word_is_found_in_a_text_that_tells_its_language(text: str, asked: str, found: str) -> None:
    question = Question.plain(asked)
    positions = word_positions(text, frozenset(question.with_forms(question.words)))
    assert {text[begin:end] for _, begin, end in positions} == {found}
