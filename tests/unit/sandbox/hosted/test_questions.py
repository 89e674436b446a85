"""Questions out of a run, as rows: whole or not at all, and answered, whatever becomes of the answer."""

import random
import time
import zlib
from typing import Any

import pytest

from loci.adapters.aws.sandbox.run_credentials import Answer, answering
from loci.core.errors import Unavailable
from loci.core.json import Json
from loci.sandbox.lambda_host import questions
from loci.sandbox.lambda_host.questions import LARGEST, PART, BadMessageError, QuestionLine
from tests.support.each import each
from tests.support.polling import until

SECONDS = 60
FAILED: dict[str, Json] = {"ok": False}


class Table:
    """Rows in memory."""

    def __init__(self) -> None:
        self.rows: dict[str, bytes] = {}

    def put(self, sort: str, body: bytes) -> None:
        self.rows[sort] = body

    def starting(self, prefix: str, most: int) -> list[bytes]:
        found = [self.rows[sort] for sort in sorted(self.rows) if sort.startswith(prefix)]
        return found[: 1 + next((at for at in range(len(found)) if sum(map(len, found[: at + 1])) > most), len(found))]

    def close(self) -> None:
        """It has no connections."""


def test_a_message_comes_as_it_was_sent() -> None:
    table = Table()
    questions.send(table, questions.QUESTION, 7, {"tool": "a:b", "arguments": {"text": "é" * 100}})
    assert questions.receive(table, questions.QUESTION, 7) == {"tool": "a:b", "arguments": {"text": "é" * 100}}
    assert questions.receive(table, questions.QUESTION, 8) is None
    assert questions.receive(table, questions.ANSWER, 7) is None


def test_a_message_is_not_seen_before_it_is_whole() -> None:
    table = Table()
    seen: list[object] = []

    class Watched(Table):
        def put(self, sort: str, body: bytes) -> None:
            seen.append(questions.receive(table, questions.ANSWER, 1))
            table.put(sort, body)

    questions.send(Watched(), questions.ANSWER, 1, random.Random(1).randbytes(4 * PART).hex())
    assert len(seen) > 2
    assert set(seen) == {None}
    assert questions.receive(table, questions.ANSWER, 1) is not None


BODIES = {
    "not compressed": b"no message",
    "not JSON": zlib.compress(b"{"),
    "deep": zlib.compress(b"[" * 100_000),
    "a bomb": zlib.compress(b'"' + b" " * (LARGEST[questions.QUESTION] + 1) + b'"'),
    "cut off": zlib.compress(b"1")[:-2],
    "lists": zlib.compress(b"[" + b"[]," * 400_000 + b"[]]"),
    "texts": zlib.compress(b"[" + b'"",' * 400_000 + b"0]"),
    "names": zlib.compress(b"{" + b",".join(b'"%d":0' % n for n in range(150_000)) + b"}"),
    "no number": zlib.compress(b"NaN"),
}


@each("name", BODIES)
def test_what_is_no_message_is_refused(name: str) -> None:
    table = Table()
    table.put("question#000001#0000", BODIES[name])
    with pytest.raises(BadMessageError):
        questions.receive(table, questions.QUESTION, 1)


def asked(table: Table, answer: Answer) -> dict[str, Any] | None:
    line = QuestionLine(table, time.monotonic() + SECONDS)
    with answering(table, answer, 5, FAILED):
        return line.ask({"file": "ds-1"})


def test_a_question_is_answered() -> None:
    assert asked(Table(), lambda question: {"ok": True, "value": question}) == {"ok": True, "value": {"file": "ds-1"}}


@each("error", [RuntimeError("a bug"), Unavailable("The bucket is gone", "Make it")])
def test_an_answer_that_fails_is_told_at_once(thread_errors: list[BaseException | None], error: Exception) -> None:
    def fails(_: object) -> dict[str, Json]:
        raise error

    assert asked(Table(), fails) == FAILED
    until(lambda: error in thread_errors)


def test_an_answer_that_cannot_be_sent_is_told_at_once(thread_errors: list[BaseException | None]) -> None:
    class Full(Table):
        fails = True

        def put(self, sort: str, body: bytes) -> None:
            if sort.startswith("answer") and self.fails:
                self.fails = False
                raise Unavailable("The table is throttled", "Try again")
            super().put(sort, body)

    assert asked(Full(), lambda _: {"ok": True}) == FAILED
    until(lambda: thread_errors)
