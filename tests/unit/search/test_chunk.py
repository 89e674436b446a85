"""Texts as passages."""

import re
from collections.abc import Sequence
from itertools import pairwise

from hypothesis import given, settings
from hypothesis import strategies as st

from loci.markdown.markdown import parse
from loci.search.inference import estimated_tokens
from loci.search.passages import LONGEST, Block, Passage, chunks, embedded_text, passages
from loci.search.ranking import Chunk
from tests.support.each import each

WORDS = "alpha beta gamma delta. "


def count(texts: Sequence[str]) -> list[int]:
    return [estimated_tokens(text) for text in texts]


def cut(text: str, longest: int = LONGEST) -> list[Chunk]:
    """The chunks of a markdown text."""
    one = parse("notes/a.md", text.encode())
    return chunks("a", "a.md", "A", one.text, passages(one.text, one.blocks, count, longest))


def prose(text: str, longest: int) -> list[Passage]:
    return passages(text, [Block(0, len(text), ())], count, longest)


def test_a_short_section_is_one_passage() -> None:
    [chunk] = cut("# A\n\none\n\ntwo\n\n- three\n")
    assert (chunk.id, chunk.heading, chunk.text) == ("a#0", ("A",), "one\n\ntwo\n\n- three")


def test_a_passage_has_its_lines() -> None:
    assert [(one.first_line, one.last_line) for one in cut("---\na: b\n---\n# A\n\none\ntwo\n\n# B\n\nthree\n")] == [
        (6, 7),
        (11, 11),
    ]


def test_its_lines_are_those_of_the_file() -> None:
    text = "\n\n".join(f"# Heading {at}\n\n" + WORDS * (at % 90) for at in range(60))
    lines = text.split("\n")
    for chunk in cut(text):
        assert "\n".join(lines[chunk.first_line - 1 : chunk.last_line]).find(chunk.text) >= 0


def test_no_passage_is_under_two_headings() -> None:
    assert [one.text for one in cut("# A\n\none\n\n## B\n\ntwo\n")] == ["one", "two"]


def test_a_long_section_is_cut_between_paragraphs() -> None:
    paragraph = WORDS * 10
    found = cut("\n\n".join([paragraph] * 12))
    assert len(found) > 1
    assert all(one.text.endswith("delta.") and one.text.startswith("alpha") for one in found)


def test_a_long_paragraph_is_cut_after_a_sentence() -> None:
    assert all(one.text.endswith(".") for one in cut(WORDS * 200))


def test_a_sentence_that_is_too_long_is_cut_at_a_space() -> None:
    found = cut("word " * 1000)
    assert {word for one in found for word in one.text.split()} == {"word"}


def test_a_word_that_is_too_long_is_cut_anywhere() -> None:
    found = cut("x" * 10_000)
    assert "".join(one.text for one in found) == "x" * 10_000


def test_chinese_is_cut_after_a_sentence() -> None:
    found = cut("我们在公园里散步。" * 200)
    assert len(found) > 1
    assert all(one.text.endswith("。") for one in found)


@each("whole", ["```\n" + "code()\n" * 30 + "```", "| a | b |\n|---|---|\n" + "| 1 | 2 |\n" * 20 + "| 3 | 4 |"])
def test_code_and_tables_stay_whole_where_they_fit(whole: str) -> None:
    found = cut(f"{WORDS * 25}\n\n{whole}\n\n{WORDS * 25}")
    assert sum(whole in one.text for one in found) == 1


@each("row", ["| 1 | 2 |", "- x | y"])
def test_a_table_that_is_too_long_is_cut_between_rows(row: str) -> None:
    table = "| a | b |\n|---|---|\n" + f"{row.replace('- x', '| x')}\n" * 300
    assert all(
        re.fullmatch(r"\|.*", line) or line.startswith("| ") for one in cut(table) for line in one.text.split("\n")
    )


def test_the_headings_count() -> None:
    heading = "long heading " * 8
    text = f"# {heading}\n\n{WORDS * 100}"
    for one in cut(text):
        assert estimated_tokens(embedded_text(one.heading, one.text)) <= LONGEST


def test_what_is_embedded_begins_with_the_headings() -> None:
    assert embedded_text(("A", "B"), "text") == "A > B\ntext"


def test_of_very_long_headings_the_nearest_are_embedded() -> None:
    assert embedded_text(("x" * 500, "near"), "text").endswith("x > near\ntext")


def test_one_text_under_one_heading_has_one_hash() -> None:
    one, other = cut("# A\n\ntext\n\n# B\n\nbetween\n\n# A\n\ntext\n")[::2]
    assert one.hash == other.hash


def test_one_text_under_two_headings_has_two_hashes() -> None:
    one, other = cut("# A\n\ntext\n\n# B\n\ntext\n")
    assert one.hash != other.hash


def test_a_passage_is_found_by_the_words_of_its_headings() -> None:
    assert {"login", "safari", "cooki"} <= set(cut("# Login\n\n## Safari\n\ncookies\n")[0].words.split())


def test_a_turn_is_a_passage_of_its_own() -> None:
    assert [one.text for one in cut("Ann: hi\n\nBob: hello\n\nAnn: bye\n")] == ["Ann: hi", "Bob: hello", "Ann: bye"]


def test_a_short_turn_is_found_by_its_neighbours_words_too_but_more_by_its_own() -> None:
    words = cut("Ann: apple\n\nBob: pear\n\nAnn: plum\n\nBob: fig\n")[1].words.split()
    assert [words.count(one) for one in ("pear", "appl", "plum", "fig")] == [2, 1, 1, 0]


def test_a_long_turn_is_found_by_its_own_words_only() -> None:
    talk = [f"Ann: apple {WORDS * 35}", f"Bob: pear {WORDS * 35}", f"Ann: plum {WORDS * 35}"]
    assert "appl" not in cut("\n\n".join(talk))[1].words.split()


def test_a_few_passages_under_a_heading_are_found_by_their_neighbours_words_too() -> None:
    parts = [f"apple {WORDS * 35}", f"pear {WORDS * 35}", f"plum {WORDS * 35}", f"fig {WORDS * 35}"]
    few, many = cut("\n\n".join(parts[:3]))[1].words.split(), cut("\n\n".join(parts))[1].words.split()
    assert [few.count(one) for one in ("pear", "appl", "plum")] == [1, 1, 1]
    assert [many.count(one) for one in ("pear", "appl", "plum")] == [1, 0, 0]


def test_a_short_passage_borrows_no_words_from_under_other_headings() -> None:
    assert "appl" not in cut("# A\n\napple\n\n# B\n\npear\n")[1].words.split()


def test_what_a_short_turn_is_embedded_by_is_itself() -> None:
    one, *_ = cut("Ann: apple\n\nBob: pear\n\nAnn: plum\n")
    other, *_ = cut("Ann: apple\n\nBob: fig\n\nAnn: plum\n")
    assert (one.hash, one.words) != (other.hash, other.words)
    assert one.hash == other.hash


def test_a_long_answer_is_embedded_with_its_question_and_neither_shows_it_nor_has_its_words() -> None:
    answer = f"**Assistant:** pear {WORDS * 35}\n\n{WORDS * 300}"
    one, *more = cut(f"**User:** apple?\n\n{answer}\n")[1:]
    other, *_ = cut(f"**User:** plum?\n\n{answer}\n")[1:]
    assert one.hash != other.hash
    assert (one.text, one.context) == (other.text, "**User:** apple?")
    assert {chunk.context for chunk in more} == {one.context}
    assert not any("appl" in chunk.words.split() for chunk in more)
    for chunk in (one, *more):
        assert estimated_tokens(embedded_text(chunk.heading, chunk.text, chunk.context)) <= LONGEST


def test_the_tokens_of_a_document_are_counted_in_one_call() -> None:
    calls: list[int] = []

    def counting(texts: Sequence[str]) -> list[int]:
        calls.append(len(texts))
        return count(texts)

    one = parse("a.md", "\n\n".join(f"# Heading {at}\n\n{WORDS}" for at in range(50)).encode())
    passages(one.text, one.blocks, counting)
    assert calls == [100]


def test_a_very_long_line_is_counted_in_pieces() -> None:
    longest: list[int] = []

    def counting(texts: Sequence[str]) -> list[int]:
        longest.append(max(map(len, texts)))
        return count(texts)

    text = "x" * 3_000_000
    passages(text, [Block(0, len(text), ())], counting)
    assert max(longest) <= 4096


@settings(deadline=None)
@given(st.text(max_size=2000), st.integers(40, 100))
def test_no_passage_is_too_long_and_none_of_the_text_is_lost(text: str, longest: int) -> None:
    found = prose(text, longest)
    assert all(one.tokens <= longest for one in found)
    assert re.sub(r"\s", "", "".join(text[one.start : one.end] for one in found)) == re.sub(r"\s", "", text)


@settings(deadline=None)
@given(
    st.lists(
        st.sampled_from(
            ["# A", "## B", "", "text. " * 30, "- item", "```", "| a |", "|---|", "Ann: hi", "> q", "    x"]
        )
    )
)
def test_the_passages_of_a_document_are_in_order_and_do_not_overlap(lines: list[str]) -> None:
    one = parse("a.md", "\n".join(lines).encode())
    found = passages(one.text, one.blocks, count, 60)
    assert all(first.end <= second.start for first, second in pairwise(found))
