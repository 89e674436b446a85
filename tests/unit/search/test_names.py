"""Which questions are names, and whose."""

from loci.search.names import AS_ALIAS, AS_NAME, AS_PART, AS_WRITTEN, documents_named, name_word, parts_of_name
from loci.search.ranking import Chunk
from loci.search.words import MARK, index_words, words_of_text
from tests.support.each import each


def chunk(document: str, title: str, words: str = "") -> Chunk:
    return Chunk(f"{document}#0", document, f"notes/{document}.md", title, (), 1, 1, "text", "hash", words)


@each(
    ("one", "other"),
    [
        ("Auth-Guide", "auth guide"),
        ("v1.4.5", "1_4_5"),
        ("ADR-0018", "adr 18"),
        ("Gro\u0308ße", "größe"),
        ("ｸﾞﾗﾌ", "グラフ"),
        ("What's new?", "[[what's  new]]"),
        ("🚀", " 🚀"),
        ("long " * 100, "LONG-" * 100),
    ],
)
def test_one_name_has_one_word_however_it_is_written(one: str, other: str) -> None:
    assert name_word(one) == name_word(other) != ""


@each("text", ["", " \n", "\ud800", "\0", "word " * 1000])
def test_what_cannot_be_a_name_has_no_word(text: str) -> None:
    assert name_word(text) == ""


@each("name", ["Auth-Guide", "图谱视图", "رسم عرض", "a" * 300, "C++"])
def test_the_word_of_a_name_is_one_word_that_no_text_has(name: str) -> None:
    assert not any(letter.isspace() for letter in name_word(name))
    assert len(name_word(name)) <= 255
    assert name_word(name) not in index_words(f"{name} {name_word(name)}")


def test_how_exactly_a_name_fits_is_told_apart() -> None:
    chunks = [chunk("a", "C++"), chunk("b", "C#"), chunk("x", "D", f"d {name_word('c++')}"), chunk("d", "C++ 2")]
    assert documents_named("c++", chunks) == {"a": AS_WRITTEN, "b": AS_NAME, "x": AS_ALIAS}


@each(
    ("question", "name", "words"),
    [
        ("What changed in Obsidian 1.9.7?", "v1.9.7", ""),
        ("What does ADR 18 decide?", "0018-use-dashes", "decis"),
        ("ADR-0018", "0018-use-dashes", ""),
        ("What does RFC2094 say?", "RFC 2094: Non-lexical lifetimes", ""),
        ("Why was use_dashes chosen?", "0018-use-dashes", ""),
        ("Who wrote “Two words”?", "two-words", ""),
    ],
)
def test_a_question_may_name_a_document_in_a_part_of_it(question: str, name: str, words: str) -> None:
    one = chunk("a", "A title", " ".join((words, MARK, name_word(name), *parts_of_name(name))))
    assert documents_named(question, [one]) == {"a": AS_PART}


@each("question", ["Which of 18 records?", "What was 2018 like?", "Was AS-18 launched?", "Where is use dashes?"])
def test_a_number_or_words_by_chance_name_nothing(question: str) -> None:
    names = ("0018-use-dashes", "2018-01-05 Talk", "2018")
    one = chunk("a", "A title", " ".join((MARK, *(word for name in names for word in parts_of_name(name)))))
    assert documents_named(question, [one]) == {}


@each(("words", "text"), [("a b", "a b"), (f"a b {MARK} c {MARK}c", "a b"), (f"{MARK} c", ""), ("", "")])
def test_likeness_leaves_out_the_words_beside_the_text(words: str, text: str) -> None:
    assert words_of_text(words) == text
