"""Work beside serving ends with the server."""

import threading
from queue import SimpleQueue

import pytest

from loci.cli.background import BackgroundThread
from tests.support.polling import until


class Failing(BackgroundThread):
    """Fails at once, or at the end of the server, which has closed what the work uses."""

    def __init__(self, *, at_once: bool) -> None:
        super().__init__("failing")
        self._at_once = at_once

    def _work(self) -> None:
        assert self._at_once or self._ended.wait(60)
        raise RuntimeError("cannot schedule new futures after interpreter shutdown")


@pytest.fixture
def told(monkeypatch: pytest.MonkeyPatch) -> "SimpleQueue[str]":
    """The errors of threads, which Python prints."""
    heard = SimpleQueue[str]()

    def hear(failed: threading.ExceptHookArgs) -> None:
        heard.put(str(failed.exc_value))

    monkeypatch.setattr(threading, "excepthook", hear)
    return heard


def test_an_error_of_the_work_is_told(told: "SimpleQueue[str]") -> None:
    with Failing(at_once=True):
        assert "cannot schedule" in told.get(timeout=60)


def test_what_fails_because_the_server_ends_is_not_told(told: "SimpleQueue[str]") -> None:
    with Failing(at_once=False):
        pass
    until(lambda: "failing" not in [one.name for one in threading.enumerate()])
    assert told.empty()
