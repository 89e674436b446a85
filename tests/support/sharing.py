"""Shares the tests out among the workers of a run, with a folder through which they share what is made once."""

import shutil
import tempfile
from collections import Counter
from pathlib import Path

import pytest
from xdist.remote import Producer  # pyright: ignore[reportMissingTypeStubs]
from xdist.scheduler import LoadScopeScheduling  # pyright: ignore[reportMissingTypeStubs]
from xdist.workermanage import WorkerController  # pyright: ignore[reportMissingTypeStubs]

from tests.servers import shared

TOGETHER = {
    "tests/contract/s3_index/test_environments.py": "LocalStack",
    "tests/contract/s3_index/test_folds.py": "LocalStack",
    "tests/deployed/": "LocalStack",
    "tests/servers/localstack/": "LocalStack",
    "tests/infra/": "CDK",
}
"""Folders whose tests share what takes long to make, as a deployment does: one worker takes all that share it."""
SECONDS = {
    "LocalStack": 3.0,
    "CDK": 0.1,
    "tests/attack/test_generated_routes.py": 10.0,
    "tests/attack/test_imports_at_once.py": 5.0,
    "tests/attack/test_large_": 5.0,
    "tests/attack/test_stalls.py": 5.0,
    "tests/contract/test_writing_crash.py": 4.0,
    "tests/e2e/test_following.py": 6.0,
    "tests/e2e/test_python.py": 10.0,
    "tests/layers/test_wheel.py": 10.0,
    "tests/unit/documents/test_large_": 5.0,
    "tests/attack/sandbox/": 0.3,
    "tests/contract/sandbox/": 1.0,
    "tests/contract/": 0.2,
    "tests/e2e/": 1.0,
    "tests/layers/": 2.5,
    "tests/servers/": 2.0,
    "tests/surface/": 0.2,
    "tests/unit/code/": 0.5,
    "tests/unit/linear/": 2.5,
    "tests/unit/sandbox/": 0.2,
}
"""About what a test takes. Long modules begin first, so that none is left over for one worker at the end."""
FOLDER = pytest.StashKey[Path]()


def unit_of(test: str) -> str:
    """Tests of one unit run one after another in one worker: a module's, whose fixtures are then made once."""
    module = test.partition("::")[0]
    return next((unit for folder, unit in TOGETHER.items() if module.startswith(folder)), module)


class Units(LoadScopeScheduling):
    """`--dist loadscope` by these units."""

    def _split_scope(self, nodeid: str) -> str:
        return unit_of(nodeid)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> Units | None:
    if config.getoption("dist") != "loadscope":
        return None
    config.option.loadscopereorder = False  # else by the number of tests, whatever they take
    return Units(config, log)


@pytest.hookimpl(trylast=True)  # after what was not asked for has been taken out
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if hasattr(config, "workerinput"):
        tests = Counter(unit_of(item.nodeid) for item in items)
        seconds = {unit: count * _each(unit) for unit, count in tests.items()}
        items.sort(key=lambda item: -seconds[unit_of(item.nodeid)])


def _each(unit: str) -> float:
    return next((seconds for begin, seconds in SECONDS.items() if unit.startswith(begin)), 0.05)


def pytest_configure(config: pytest.Config) -> None:
    told: dict[str, str] | None = getattr(config, "workerinput", None)
    config.stash[FOLDER] = Path(told["folder"] if told else tempfile.mkdtemp(prefix="loci-tests-"))
    if told:
        shared.share_in(config.stash[FOLDER])


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: WorkerController) -> None:
    node.workerinput["folder"] = str(node.config.stash[FOLDER])  # pyright: ignore[reportUnknownMemberType]


def pytest_unconfigure(config: pytest.Config) -> None:
    shared.end()
    if not hasattr(config, "workerinput"):
        shutil.rmtree(config.stash[FOLDER], ignore_errors=True)
