"""Work that is given up: who waits for it is told, once."""

import threading
from concurrent.futures import CancelledError, Future
from typing import Any

import pytest

from loci.adapters.aws.lambda_tool_servers import _first  # pyright: ignore[reportPrivateUsage]
from loci.core.cancellation import Cancellation
from tests.support.each import each


def test_who_waits_is_told_once() -> None:
    cancelled, told = Cancellation(), list[str]()
    with cancelled.telling(lambda: told.append("before")):
        assert not cancelled()
    with cancelled.telling(lambda: told.append("within")):
        cancelled.cancel()
        cancelled.cancel()
    with cancelled.telling(lambda: told.append("after")):
        assert cancelled()
    assert told == ["within", "after"]
    assert cancelled.wait(0)


def test_nobody_waits_for_a_function_whose_call_is_given_up() -> None:
    cancelled, call = Cancellation(), Future[dict[str, Any]]()
    call.set_running_or_notify_cancel()
    threading.Timer(0.05, cancelled.cancel).start()
    with pytest.raises(CancelledError):
        _first(call, None, cancelled)


@each("cancelled", [None, Cancellation()])
def test_an_answer_comes_as_before(cancelled: Cancellation | None) -> None:
    call = Future[dict[str, Any]]()
    threading.Timer(0.05, lambda: call.set_result({"result": 1})).start()
    assert _first(call, 60, cancelled) == {"result": 1}
    with pytest.raises(TimeoutError):
        _first(Future(), 0.01, cancelled)
