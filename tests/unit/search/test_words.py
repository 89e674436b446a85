"""The words that a text is found by."""

import re
import sys
from concurrent.futures import ThreadPoolExecutor

from hypothesis import given, settings
from hypothesis import strategies as st

from loci.search.languages import english_stem
from loci.search.words import LONGEST_WORD, index_words, query_words
from tests.support.each import each

LETTERS = str.maketrans("01", "am")


@each(
    ("text", "words"),
    [
        ("The cats are RUNNING", ["the", "cat", "ar", "run"]),
        ("snake_case_name", ["snake_case_name", "snake", "case", "name"]),
        ("camelCase HTTPServer", ["camelcas", "camel", "case", "httpserver", "http", "server"]),
        ("v1.2.3 foo-bar", ["v1_2_3", "1_2_3", "1_2", "v1", "v", "1", "2", "3", "foo_bar", "foo", "bar"]),
        ("a.b 2018-01-05", ["a_b", "a", "b", "2018_01_05", "2018_01", "2018", "01", "1", "05", "5"]),
        ("0018-use 0.5 000", ["0018_use", "0018", "18", "us", "0_5", "0", "5", "000"]),
        ("FY2018 größe7", ["fy2018", "fy", "2018", "große7", "große", "7"]),
        ("2018Q3", ["2018q3", "2018", "q3", "q", "3"]),
        ("828e1496d7fa", ["828e1496d7fa"]),
        ("don't user's user’s", ["dont", "user", "user"]),  # noqa: RUF001
        ("Café naïve", ["cafe", "naiv"]),
        ("ｆｕｌｌ ﬁne", ["full", "fine"]),  # noqa: RUF001
        ("数据库", ["数据", "据库"]),
        ("字", ["字"]),
        ("用Python写", ["用", "python", "写"]),
        ("заметки größe", ["заметк", "große"]),
        ("a,b;c", ["a", "b", "c"]),
        ("__init__", ["init"]),
        ("हिन्दी में", ["हिनद", "म"]),
        ("vitamin s", ["vitamin", "s"]),
        ("...", list[str]()),
        ("", list[str]()),
    ],
)
def test_a_text_is_cut_into_words(text: str, words: list[str]) -> None:
    assert index_words(text) == words


@each(
    ("question", "words"),
    [("What is the login?", ["login"]), ("who is the who", ["who", "i", "the"]), ("login LOGIN logins", ["login"])],
)
def test_a_question_is_cut_into_what_to_look_for(question: str, words: list[str]) -> None:
    assert query_words(question) == words


@each(
    "text", ["getUserName", "user.name", "multi-word", "数据库系统", "running", "Größe", "don't", "İstanbul", "ΣΊΣΥΦΟΣ"]
)
def test_a_text_is_found_by_itself_whatever_the_case(text: str) -> None:
    assert set(query_words(text.lower())) & set(index_words(text))


def test_a_part_finds_the_whole_identifier() -> None:
    assert set(query_words("user name")) <= set(index_words("def getUserName(self):"))


@settings(deadline=None)
@given(st.text())
def test_no_word_can_be_taken_for_syntax_or_two_words(text: str) -> None:
    for word in index_words(text):
        assert word.isprintable() or not word.isascii()
        assert not re.search(r"[\s\"'*():^]", word)
        assert 0 < len(word) <= LONGEST_WORD


@settings(deadline=None)
@given(st.text())
def test_a_question_asks_for_words_of_the_index_each_once(text: str) -> None:
    asked = query_words(text)
    assert set(asked) <= set(index_words(text))
    assert len(asked) == len(set(asked))


def test_a_million_characters_without_a_space_are_a_word() -> None:
    assert index_words("x" * 1_000_000) == ["x" * LONGEST_WORD]


def test_words_have_the_same_stems_on_all_threads_at_once() -> None:
    endings = ("ational", "izations", "fulness", "ingly", "ements", "ies")
    words = [f"{one}{at:b}".translate(LETTERS) + ending for at in range(400) for one in "bd" for ending in endings]
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(8) as threads:
            together = [*threads.map(index_words, words)]
    finally:
        sys.setswitchinterval(before)
    assert together == [[english_stem(one)] for one in words]
