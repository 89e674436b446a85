"""Letters as rows: whole or not at all, and none that a hostile writer could make too large."""

import zlib
from collections.abc import Mapping

import pytest

from loci.sandbox.lambda_host import questions
from loci.sandbox.lambda_host.function_answer import packed_answer, unpacked_answer
from loci.sandbox.lambda_host.questions import LARGEST, PART, BadMessageError


class Table:
    """Rows in memory."""

    def __init__(self) -> None:
        self.rows: dict[str, bytes] = {}

    def put(self, sort: str, body: bytes) -> None:
        self.rows[sort] = body

    def starting(self, prefix: str) -> list[bytes]:
        return [self.rows[sort] for sort in sorted(self.rows) if sort.startswith(prefix)]

    def close(self) -> None:
        """It has no connections."""


def test_a_letter_comes_as_it_was_sent() -> None:
    table = Table()
    questions.send(table, questions.QUESTION, 7, {"tool": "a:b", "arguments": {"text": "é" * 100}})
    assert questions.receive(table, questions.QUESTION, 7) == {"tool": "a:b", "arguments": {"text": "é" * 100}}
    assert questions.receive(table, questions.QUESTION, 8) is None
    assert questions.receive(table, questions.ANSWER, 7) is None


def test_a_letter_is_not_seen_before_it_is_whole() -> None:
    table = Table()
    seen: list[object] = []

    class Watched(Table):
        def put(self, sort: str, body: bytes) -> None:
            seen.append(questions.receive(table, questions.ANSWER, 1))
            table.put(sort, body)

    import random

    questions.send(Watched(), questions.ANSWER, 1, random.Random(1).randbytes(4 * PART).hex())
    assert len(seen) > 2
    assert set(seen) == {None}
    assert questions.receive(table, questions.ANSWER, 1) is not None


@pytest.mark.parametrize(
    "body",
    [
        b"no letter",
        zlib.compress(b"{"),
        zlib.compress(b"[" * 100_000),
        zlib.compress(b'"' + b" " * (LARGEST + 1) + b'"'),
        zlib.compress(b"1")[:-2],
    ],
    ids=["not compressed", "not JSON", "deep", "a bomb", "cut off"],
)
def test_what_is_no_letter_is_refused(body: bytes) -> None:
    table = Table()
    table.put("question#000001#0000", body)
    with pytest.raises(BadMessageError):
        questions.receive(table, questions.QUESTION, 1)


def test_an_answer_of_a_function_comes_as_it_was() -> None:
    answer = {"a": ["é", 1, None]}
    small = packed_answer(answer)
    assert small is not None
    assert unpacked_answer(small) == answer


@pytest.mark.parametrize("answer", [None, {}, {"packed": 1}, {"packed": "é"}, {"packed": "AAAA"}, ["packed"]], ids=str)
def test_what_is_no_answer_is_refused(answer: Mapping[str, object] | None) -> None:
    with pytest.raises(ValueError):  # noqa: PT011
        unpacked_answer(answer)
