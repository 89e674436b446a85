"""The errors of threads, for tests that mean them: a thread may tell its error after everybody has the answer."""

import threading

import pytest


@pytest.fixture
def thread_errors(monkeypatch: pytest.MonkeyPatch) -> list[BaseException | None]:
    """Each error that ends a thread from now on. Without this fixture it fails the test."""
    found: list[BaseException | None] = []

    def report(told: threading.ExceptHookArgs) -> None:
        found.append(told.exc_value)

    monkeypatch.setattr(threading, "excepthook", report)
    return found
