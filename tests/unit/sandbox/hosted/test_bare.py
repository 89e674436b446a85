"""Where no layer can be put up, as in a function of Lambda, the machine is the wall, and code still runs."""

from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

import pytest

from loci.code.packages import find_deno
from loci.sandbox.lambda_host import python_function, typescript_function
from loci.sandbox.lambda_host.function_answer import unpacked_answer
from loci.sandbox.supervisor.limits import Bounds
from loci.sandbox.wall.layers import BASE, Layer, Offered
from tests.support.deno import needs_deno
from tests.support.each import each
from tests.support.executors import runner_packages

WITHOUT = [BASE, BASE - {Layer.PRIVILEGES}]


@pytest.fixture(scope="module", params=WITHOUT, ids=["base", "not even privileges"], autouse=True)
def bare(request: pytest.FixtureRequest) -> Iterator[None]:
    refused = tuple((layer, "Operation not permitted") for layer in Layer if layer not in request.param)
    with pytest.MonkeyPatch.context() as patch:
        for module in (python_function, typescript_function):
            patch.setattr(module, "offered", lambda: Offered("Lambda", refused))
        yield


@pytest.fixture(scope="module")
def runs(bare: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[python_function.PythonRuns]:
    """One machine: each test has an executor of its own."""
    made = python_function.PythonRuns(str(runner_packages()), str(tmp_path_factory.mktemp("machine")))
    yield made
    made.close()


def order(code: str, **more: object) -> dict[str, Any]:
    save: dict[str, Any] = {"puts": [], "files": "", "most": 1 << 20}
    told: dict[str, Any] = {
        "executor": "e",
        "expected": None,
        "process": "1",
        "state": None,
        "save": save,
    }
    return {**told, "code": code, "bounds": asdict(Bounds(seconds=10)), **more}


def test_python_runs(runs: python_function.PythonRuns) -> None:
    told = unpacked_answer(runs.answer(order("print(2)")))
    assert (told["began"], told["run"]["stdout"]) == ("new", "2\n")


def test_what_cannot_be_kept_is_told_and_python_goes_on(runs: python_function.PythonRuns) -> None:
    told = unpacked_answer(runs.answer(order("x = 1", executor="kept")))
    assert "more pieces than forms" in told["unsaved"]
    again = unpacked_answer(runs.answer(order("print(x)", executor="kept", expected="1", process="2")))
    assert (again["began"], again["run"]["stdout"]) == ("kept", "1\n")


def test_what_takes_long_to_be_saved_does_not_hold_the_answer_back(
    runs: python_function.PythonRuns, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(python_function, "SAVE_SECONDS", 0.1)
    code = "import time\nclass Slow:\n def __reduce__(self): return time.sleep(60)\nx, slow = 1, Slow()"
    told = unpacked_answer(runs.answer(order(code, executor="slow")))
    assert told["unsaved"] == "saving the variables took longer than 0.1 s"
    again = unpacked_answer(runs.answer(order("print(x)", executor="slow", expected="1", process="2")))
    assert (again["began"], again["run"]["stdout"]) == ("kept", "1\n")


@each("before", ["", "import signal; signal.signal(signal.SIGINT, signal.SIG_DFL)"])
def test_very_much_that_takes_long_to_be_saved_ends_no_executor(
    runs: python_function.PythonRuns, monkeypatch: pytest.MonkeyPatch, before: str
) -> None:
    monkeypatch.setattr(python_function, "SAVE_SECONDS", 0.05)
    code = f"much = [str(one) for one in range(2_000_000)]; x = 1\n{before}"
    save: dict[str, Any] = {"puts": [], "files": "", "most": 64 << 20}
    bounds = asdict(Bounds(seconds=10, grace_seconds=0.3))
    told = unpacked_answer(runs.answer(order(code, executor=f"much {before}", save=save, bounds=bounds)))
    assert told["unsaved"] == "saving the variables took longer than 0.05 s"
    again = unpacked_answer(runs.answer(order("print(x)", executor=f"much {before}", expected="1", process="2")))
    assert (again["began"], again["run"]["stdout"]) == ("kept", "1\n")


def test_a_process_that_is_not_the_expected_one_is_discarded(runs: python_function.PythonRuns) -> None:
    runs.answer(order("x = 1", executor="other"))
    told = unpacked_answer(
        runs.answer(order("print('x' in globals())", executor="other", expected="another", process="2"))
    )
    assert (told["began"], told["run"]["stdout"]) == ("new", "False\n")


@needs_deno
def test_typescript_runs() -> None:
    made = typescript_function.TypeScriptRuns(str(find_deno(None)))
    limits = {"timeout_ms": 10_000, "memory_mb": 256}
    try:
        wanted: dict[str, Any] = {"code": "1 + 1", "context": {}, "clients": [], "limits": limits}
        told = unpacked_answer(made.answer({"order": wanted}))
    finally:
        made.close()
    assert '"value": 2' in told["said"]
