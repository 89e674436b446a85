"""Questions out of a run are answered, whatever becomes of the answer."""

import time
from typing import Any

import pytest

from loci.adapters.aws.sandbox.run_questions import Answer, answering
from loci.core.errors import Unavailable
from loci.core.json import Json
from loci.sandbox.lambda_host.questions import QuestionLine
from tests.unit.sandbox.hosted.test_letters import Table

SECONDS = 20
FAILED: dict[str, Json] = {"ok": False}


def asked(table: Table, answer: Answer) -> dict[str, Any] | None:
    line = QuestionLine(table, time.monotonic() + SECONDS)
    with answering(table, answer, 5, FAILED):
        return line.ask({"file": "ds-1"})


def test_a_question_is_answered() -> None:
    assert asked(Table(), lambda question: {"ok": True, "value": question}) == {"ok": True, "value": {"file": "ds-1"}}


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
@pytest.mark.parametrize("error", [RuntimeError("a bug"), Unavailable("The bucket is gone", "Make it")])
def test_an_answer_that_fails_is_told_at_once(error: Exception) -> None:
    def fails(_: object) -> dict[str, Json]:
        raise error

    assert asked(Table(), fails) == FAILED


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_an_answer_that_cannot_be_sent_is_told_at_once() -> None:
    class Full(Table):
        fails = True

        def put(self, sort: str, body: bytes) -> None:
            if sort.startswith("answer") and self.fails:
                self.fails = False
                raise Unavailable("The table is throttled", "Try again")
            super().put(sort, body)

    assert asked(Full(), lambda _: {"ok": True}) == FAILED
