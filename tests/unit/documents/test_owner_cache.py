"""Callers who ask at once share one computation, and an older result never replaces a newer one."""

from collections.abc import Callable, Generator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from threading import Event

import pytest

from loci.core.identity import Owner
from loci.documents.owner_cache import OwnerCache

ANN, BOB, EVE = Owner("acme", "ann"), Owner("acme", "bob"), Owner("acme", "eve")
SOON = 60.0
"""Seconds. Only a test that fails waits so long."""


def ask(cache: OwnerCache[str, str], owner: Owner, state: str, make: Callable[[], str]) -> str:
    def compute(_state: str, _last: str | None) -> str:
        return make()

    return cache.get(owner, lambda: state, compute)


def never() -> str:
    raise AssertionError("It was computed again")


class Blocked:
    """A computation that goes on when the test says so."""

    def __init__(self, result: str) -> None:
        self.began, self.may_end = Event(), Event()
        self._result = result

    def __call__(self) -> str:
        self.began.set()
        assert self.may_end.wait(SOON)
        return self._result


@contextmanager
def on_threads(*blocked: Blocked) -> Generator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(4) as threads:
        try:
            yield threads
        finally:
            for one in blocked:
                one.may_end.set()


def test_two_callers_at_once_share_one_computation() -> None:
    cache, first = OwnerCache[str, str](2), Blocked("one")
    with on_threads(first) as threads:
        one = threads.submit(ask, cache, ANN, "state", first)
        assert first.began.wait(SOON)
        other = threads.submit(ask, cache, ANN, "state", never)
        first.may_end.set()
        assert (one.result(SOON), other.result(SOON)) == ("one", "one")


def test_a_result_of_an_older_state_does_not_replace_a_newer_one() -> None:
    cache, older = OwnerCache[str, str](2), Blocked("older")
    with on_threads(older) as threads:
        one = threads.submit(ask, cache, ANN, "before", older)
        assert older.began.wait(SOON)
        other = threads.submit(ask, cache, ANN, "after", lambda: "newer")
        older.may_end.set()
        assert (one.result(SOON), other.result(SOON)) == ("older", "newer")
    assert ask(cache, ANN, "after", never) == "newer"


def test_a_computation_gets_the_state_and_the_last_result() -> None:
    cache = OwnerCache[int, list[int]](2)

    def compute(state: int, last: list[int] | None) -> list[int]:
        return [*(last or ()), state]

    assert [cache.get(ANN, lambda state=state: state, compute) for state in (1, 2, 2, 3)][-1] == [1, 2, 3]


def test_after_a_failure_the_next_caller_tries_again() -> None:
    cache, first = OwnerCache[str, str](2), Blocked("")

    def fails() -> str:
        first()
        raise ValueError("No disk")

    with on_threads(first) as threads:
        one = threads.submit(ask, cache, ANN, "state", fails)
        assert first.began.wait(SOON)
        other = threads.submit(ask, cache, ANN, "state", lambda: "made")
        first.may_end.set()
        with pytest.raises(ValueError, match="No disk"):
            one.result(SOON)
        assert other.result(SOON) == "made"
    assert ask(cache, ANN, "state", never) == "made"


def test_an_owner_does_not_wait_for_another() -> None:
    cache, slow = OwnerCache[str, str](2), Blocked("slow")
    with on_threads(slow) as threads:
        one = threads.submit(ask, cache, ANN, "state", slow)
        assert slow.began.wait(SOON)
        assert ask(cache, BOB, "state", lambda: "quick") == "quick"
        assert not one.done()


def test_results_of_the_owners_who_asked_last_are_kept() -> None:
    cache = OwnerCache[str, str](2)
    for owner in (ANN, BOB, ANN, EVE):
        ask(cache, owner, "state", lambda: "first")
    assert ask(cache, ANN, "state", never) == "first"
    assert ask(cache, EVE, "state", never) == "first"
    assert ask(cache, BOB, "state", lambda: "second") == "second"
