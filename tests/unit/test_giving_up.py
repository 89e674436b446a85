"""Work that is given up: who waits for it is told, once."""

import threading
from concurrent.futures import CancelledError, Future
from typing import Any

import pytest

from loci.adapters.aws.lambda_tool_servers import _first  # pyright: ignore[reportPrivateUsage]
from loci.core.giving_up import GivingUp
from tests.support.each import each


def test_who_waits_is_told_once() -> None:
    given_up, told = GivingUp(), list[str]()
    with given_up.telling(lambda: told.append("before")):
        assert not given_up()
    with given_up.telling(lambda: told.append("within")):
        given_up.give_up()
        given_up.give_up()
    with given_up.telling(lambda: told.append("after")):
        assert given_up()
    assert told == ["within", "after"]
    assert given_up.wait(0)


def test_nobody_waits_for_a_function_whose_call_is_given_up() -> None:
    given_up, call = GivingUp(), Future[dict[str, Any]]()
    call.set_running_or_notify_cancel()
    threading.Timer(0.05, given_up.give_up).start()
    with pytest.raises(CancelledError):
        _first(call, None, given_up)


@each("given_up", [None, GivingUp()])
def test_an_answer_comes_as_before(given_up: GivingUp | None) -> None:
    call = Future[dict[str, Any]]()
    threading.Timer(0.05, lambda: call.set_result({"result": 1})).start()
    assert _first(call, 60, given_up) == {"result": 1}
    with pytest.raises(TimeoutError):
        _first(Future(), 0.01, given_up)
