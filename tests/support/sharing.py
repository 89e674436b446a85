"""Shares the tests out among the workers of a run, with a folder through which they share what is made once."""

import shutil
import tempfile
from pathlib import Path

import pytest
from xdist.remote import Producer  # pyright: ignore[reportMissingTypeStubs]
from xdist.scheduler import LoadScopeScheduling  # pyright: ignore[reportMissingTypeStubs]
from xdist.workermanage import WorkerController  # pyright: ignore[reportMissingTypeStubs]

from tests.servers import shared

TOGETHER = {
    "tests/deployed/": "LocalStack",
    "tests/servers/localstack/": "LocalStack",
    "tests/infra/": "CDK",
}
"""Folders whose tests share what takes long to make, as a deployment does: one worker takes all that share it."""
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
    return Units(config, log)


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
