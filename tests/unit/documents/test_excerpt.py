"""Parts of a text: they keep the room, and together they are the text."""

import json
import random
from collections.abc import Sequence

import pytest

from loci.core.errors import Refused
from loci.markdown.excerpt import Excerpt, ExcerptRequest, read_excerpt
from tests.support.each import each

PIECES = ["a", "word ", "\n", "\r\n", "\r", "\n\n", '"', "\t", "é", "日本", "🦊", "\0", "\ufeff", "x" * 30]


def characters(texts: Sequence[str]) -> list[int]:
    return [len(text) for text in texts]


def size(text: str) -> int:
    return len(json.dumps(text, ensure_ascii=False).encode()) - 2


def parts(
    text: str, room: int | None, most: int | None, first: int | None = None, last: int | None = None
) -> list[Excerpt]:
    """All parts, each begun where the one before says."""
    found = [read_excerpt(text, ExcerptRequest(None, first, last, most, None, room), characters)]
    while rest := found[-1].rest:
        assert len(found) <= len(text)
        request = ExcerptRequest(None, rest.line, found[-1].rest_ends, most, rest.column, room)
        found.append(read_excerpt(text, request, characters))
    return found


@each("seed", range(150))
def test_parts_keep_the_room_and_together_are_the_text(seed: int) -> None:
    chance = random.Random(seed)
    text = "".join(chance.choices(PIECES, k=chance.randrange(60)))
    room, most = chance.choice([12, 40, 200, None]), chance.choice([12, 40, 200, None])
    found = parts(text, room, most)
    assert "".join(one.text for one in found) == text
    assert room is None or all(size(one.text) <= room for one in found)
    assert most is None or all(len(one.text) <= most for one in found)


@each("seed", range(50))
def test_parts_of_a_range_together_are_the_range(seed: int) -> None:
    chance = random.Random(seed)
    lines = ["".join(chance.choices(["a", "word ", '"'], k=chance.randrange(40))) for _ in range(12)]
    first, last = sorted((chance.randrange(12), chance.randrange(12)))
    end = chance.choice(["\n", "\r\n", "\r"])
    found = parts(end.join(lines), chance.choice([12, 40]), None, first + 1, last + 1)
    assert "".join(one.text for one in found) == end.join(lines[first : last + 1])
    assert (found[0].first_line, found[-1].last_line) == (first + 1, last + 1)


def test_a_line_that_fits_alone_is_not_cut() -> None:
    [one, other] = parts(f"{'a' * 8}\n{'b' * 12}\n", 16, None)
    assert (one.text, other.text) == (f"{'a' * 8}\n", f"{'b' * 12}\n")


def test_a_carriage_return_stays_with_its_line_feed() -> None:
    assert [one.text for one in parts(f"{'a' * 9}\r\nb", None, 10)] == ["a" * 9, "\r\nb"]


def test_a_section_of_a_file_from_windows_has_its_line_ends() -> None:
    text = "\ufeff# A\r\n\r\nOne.\r\n\r\n## B\r\n\r\nTwo.\r\n"
    assert read_excerpt(text, ExcerptRequest("A > B"), characters).text == "## B\r\n\r\nTwo."
    assert read_excerpt(text, ExcerptRequest("A"), characters).first_line == 1


@each("request_", [ExcerptRequest(first_line=4), ExcerptRequest(first_line=2, first_column=6)])
def test_what_is_not_there_is_refused(request_: ExcerptRequest) -> None:
    with pytest.raises(Refused) as refused:
        read_excerpt("one\ntwo\nlast", request_, characters)
    assert refused.value.code == "BAD_RANGE"


def test_an_empty_text_has_no_lines() -> None:
    assert parts("", 10, 10) == [Excerpt("", 0, 0, 0)]
