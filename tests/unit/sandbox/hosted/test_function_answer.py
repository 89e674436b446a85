"""Answers of a function: packed small, and unpacked however hostile their writer is."""

from collections.abc import Mapping

import pytest

from loci.sandbox.lambda_host.function_answer import packed_answer, unpacked_answer
from tests.support.each import each


def test_an_answer_of_a_function_comes_as_it_was() -> None:
    answer = {"a": ["é", 1, None]}
    small = packed_answer(answer)
    assert small is not None
    assert unpacked_answer(small) == answer


@each("answer", [None, {}, {"packed": 1}, {"packed": "é"}, {"packed": "AAAA"}, ["packed"]])
def test_what_is_no_answer_is_refused(answer: Mapping[str, object] | None) -> None:
    with pytest.raises(ValueError):  # noqa: PT011
        unpacked_answer(answer)
