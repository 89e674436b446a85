"""The official MCP conformance suite, on both revisions it scores, through every way that the server is reached."""

import json
import re
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager
from pathlib import Path

import pytest

from tests.support.event_front import event_front
from tests.support.serving import clean_environment

from . import serve_fixture
from .node import HERE, Revision, conformance, required
from .running import served

# Named with their reasons in the suite's own form, too: baseline-2025-11-25.yml.
NEED_A_BACK_CHANNEL = {
    "tools-call-sampling",
    "tools-call-elicitation",
    "elicitation-sep1034-defaults",
    "elicitation-sep1330-enums",
}

pytestmark = pytest.mark.conformance


@pytest.fixture(scope="module", params=["uvicorn", "lambda-v1", "lambda-v2"])
def url(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The MCP endpoint of the server under test."""
    data = tmp_path_factory.mktemp("data")
    with _reached_by(str(request.param), clean_environment(data, LOCI_AUTH="open")) as base:
        yield base.removesuffix(serve_fixture.PATH) + serve_fixture.PATH


def _reached_by(transport: str, env: Mapping[str, str]) -> AbstractContextManager[str]:
    match transport:
        case "lambda-v1":
            return event_front(serve_fixture.LAMBDA, env, version="v1", seed=1)
        case "lambda-v2":
            return event_front(serve_fixture.LAMBDA, env, version="v2", seed=1)
        case _:
            return served(serve_fixture.HTTP, env)


def test_all_37_scenarios_of_2026_07_28_pass(url: str, tmp_path: Path) -> None:
    assert_conforms(url, "2026-07-28", tmp_path, count=37, failing=set())


def test_26_of_30_scenarios_of_2025_11_25_pass_and_four_need_a_back_channel(url: str, tmp_path: Path) -> None:
    assert_conforms(url, "2025-11-25", tmp_path, count=30, failing=NEED_A_BACK_CHANNEL)


def assert_conforms(url: str, revision: Revision, results: Path, *, count: int, failing: set[str]) -> None:
    """Every required scenario ran, and exactly the named ones failed."""
    baseline = HERE / f"baseline-{revision}.yml"
    suite = conformance(url, revision, results, baseline=baseline if baseline.exists() else None)
    failures = _failures(results)
    wanted = required(revision)
    assert len(wanted) == count
    assert failures.keys() >= set(wanted), suite.stderr
    failed = {name: failures[name] for name in wanted if failures[name]}
    assert failed.keys() == failing, json.dumps(failed, indent=2)
    assert suite.returncode == 0, suite.stdout


def _failures(results: Path) -> dict[str, list[str]]:
    """For each scenario that ran, the checks that failed and why."""
    failures: dict[str, list[str]] = {}
    for file in results.glob("server-*/checks.json"):
        scenario = re.sub(r"-\d{4}-\d\d-\d\dT[\dZ-]+$", "", file.parent.name.removeprefix("server-"))
        checks: list[dict[str, str]] = json.loads(file.read_text())
        failed = [f"{check['id']}: {check.get('errorMessage')}" for check in checks if check["status"] == "FAILURE"]
        failures[scenario] = failed
    return failures
