"""How many capabilities are kept, and which are forgotten."""

from collections.abc import Generator
from contextlib import closing
from pathlib import Path

import pytest

from loci.app import App
from loci.compose import build_app
from loci.core.identity import LOCAL
from loci.core.settings import load_settings
from loci.core.stores import every
from loci.gateway.capabilities import capability_store
from loci.gateway.capabilities.api import EndedRun
from loci.gateway.capabilities.capability import lower_bound


@pytest.fixture
def app(tmp_path: Path) -> Generator[App]:
    with closing(build_app(load_settings({"data": tmp_path, "models": tmp_path / "models"}))) as app:
        yield app


def learn(app: App, code: str, intent: str | None, *, worked: bool = True) -> None:
    app.tools.capabilities.learn(LOCAL, EndedRun(code, intent, {}, (), worked))
    app.tools.finish_learning()


def test_the_least_useful_are_forgotten_for_new_ones(app: App, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(capability_store, "MOST", 3)
    for number in range(3):
        for _ in range(3 - number):
            learn(app, f"return {number} * 7", f"task {number}")
    learn(app, "return 'new'", "a new task")
    assert {one.intent for one in app.tools.capabilities.all(LOCAL)} == {"task 0", "task 1", "a new task"}
    assert len(list(every(app.records, LOCAL, "capability_code"))) == 3


def test_the_least_useful_versions_are_forgotten(app: App, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(capability_store, "MOST_VERSIONS", 2)
    learn(app, "return 1 + 1", "one task")
    for number in (2, 3):
        learn(app, "return 1 + 1", "one task")
        learn(app, f"return {number} * 7", "one task")
    [one] = app.tools.capabilities.all(LOCAL)
    assert [version.number for version in one.versions] == [1, 3]
    assert one.versions_made == 3
    assert len(list(every(app.records, LOCAL, "capability_code"))) == 2


def test_a_run_without_an_intent_counts_for_code_that_is_known(app: App) -> None:
    learn(app, "return 40 * 7", "one task")
    learn(app, "return 40*7", None)
    learn(app, "return 40 * 7", None, worked=False)
    [one] = app.tools.capabilities.all(LOCAL)
    assert (one.best.successes, one.best.failures) == (2, 1)


def test_code_whose_record_is_damaged_is_left_out(app: App) -> None:
    learn(app, "return 40 * 7", "one task")
    [code] = every(app.records, LOCAL, "capability_code")
    app.records.put(LOCAL, "capability_code", code.key, {"code": 5})
    assert app.tools.capabilities.find(LOCAL, "one task").capabilities == ()
    learn(app, "return 40 * 7", "one task")
    [found] = app.tools.capabilities.find(LOCAL, "one task").capabilities
    assert (found.version.successes, len(found.capability.versions)) == (2, 1)


def test_the_success_rate_is_a_lower_bound_of_the_share_that_worked() -> None:
    assert lower_bound(0, 0) == lower_bound(0, 5) == 0
    for successes in range(1, 20):
        for failures in range(20):
            rate = lower_bound(successes, failures)
            assert 0 < rate < successes / (successes + failures)
            assert lower_bound(successes, failures + 1) < rate < lower_bound(successes + 1, failures)
