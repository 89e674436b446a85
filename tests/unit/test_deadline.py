"""What a request has left is handed on: each call gets its share, and none is begun after the end."""

from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from types import SimpleNamespace

import pytest

from loci.adapters.aws import inference, opensearch
from loci.core import deadline
from loci.core.deadline import is_nearly_over, time_for, time_left, within
from loci.core.errors import OutOfTime

BEHIND_THE_API = 24.0


@pytest.fixture(autouse=True)
def no_time_passes(monkeypatch: pytest.MonkeyPatch) -> None:
    """However slow the machine is."""
    monkeypatch.setattr(deadline, "time", SimpleNamespace(monotonic=lambda: 1000.0))


def test_without_a_deadline_a_call_may_take_what_it_needs() -> None:
    assert (time_left(), time_for(120, of_all=0.1, of_rest=0.1), is_nearly_over(1.0)) == (None, 120, False)


def test_behind_the_api_opensearch_gets_six_seconds_and_the_models_fifteen() -> None:
    with within(BEHIND_THE_API):
        assert time_for(opensearch.SECONDS, of_all=opensearch.SHARE) == pytest.approx(6)
        assert time_for(inference.SECONDS, of_rest=inference.SHARE) == pytest.approx(15)


def test_a_second_slow_call_gets_less_and_leaves_something() -> None:
    with within(BEHIND_THE_API):
        first = time_for(inference.SECONDS, of_rest=inference.SHARE)
    with within(BEHIND_THE_API - first):
        second = time_for(inference.SECONDS, of_rest=inference.SHARE)
    assert first + second < BEHIND_THE_API


def test_after_the_end_no_call_is_begun() -> None:
    with within(0), pytest.raises(OutOfTime, match="took more than the 0 s"):
        time_for(1)


def test_a_deadline_ends_with_its_block() -> None:
    with within(5), within(1):
        pass
    assert time_left() is None


def test_a_thread_sees_the_deadline_in_a_copy_of_the_context() -> None:
    with ThreadPoolExecutor(1) as threads, within(5):
        assert threads.submit(time_left).result() is None
        assert threads.submit(copy_context().run, time_left).result() == 5
