"""Every adapter of `Executors`, ready to run, and how its executors lose their processes."""

from collections.abc import Callable, Generator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

import pytest

from loci.adapters.aws.blobs import S3Blobs
from loci.adapters.aws.clients import Clients
from loci.adapters.aws.records import DynamoRecords
from loci.adapters.aws.sandbox.executor_records import ExecutorRecords
from loci.adapters.aws.sandbox.lambda_executors import LambdaExecutors, blobs_of
from loci.adapters.aws.sandbox.machine import Machine
from loci.adapters.aws.sandbox.run_credentials import Lender
from loci.adapters.local.executors.confined_executors import ConfinedExecutors
from loci.adapters.local.executors.executor_starter import ExecutorStarter
from loci.code.ports import Executors
from loci.core.identity import Owner
from loci.sandbox.lambda_host import python_function
from loci.sandbox.supervisor.limits import Bounds
from tests.contract.sandboxes import KEY, ROLE
from tests.contract.stores import CLOCK
from tests.support.deno import STRONGEST
from tests.support.executors import runner_packages
from tests.support.functions import loaded

if TYPE_CHECKING:
    from tests.support.invoke_api import InvokeApi

FUNCTION = "loci-run-python"
PACKAGES = ("pandas",)
"""What is loaded before any code: of all packages what the tests use, since most tests start anew."""
BOUNDS = Bounds(seconds=3.0, grace_seconds=0.3, memory_bytes=512 << 20, disk_bytes=64 << 20, files=2_000)


@dataclass(frozen=True, slots=True)
class Place:
    """Executors, and what takes their processes away, as a restart or another machine does."""

    executors: Executors
    move: Callable[[], None]
    crash: Callable[[], None]
    """As `move`, but nothing can be saved any more."""
    left_of: Callable[[Owner, str], Sequence[object]]
    """What is stored of an executor."""


@contextmanager
def embedded(folder: Path) -> Generator[Place]:
    """Each move is a restart of the server."""

    def made() -> ConfinedExecutors:
        starter = ExecutorStarter(
            folder / "executors", runner_packages(), BOUNDS, layers=lambda: STRONGEST, drawing=True, packages=PACKAGES
        )
        return ConfinedExecutors(folder / "executors", starter, BOUNDS, CLOCK, idle_seconds=900, kept_seconds=86_400)

    class Restarted:
        now = made()

        def move(self) -> None:
            self.now.close()
            self.now = made()

        def crash(self) -> None:
            """What is left when the server is killed. The clock stands still, so that nothing was saved since."""
            self.now._closed.set()  # pyright: ignore[reportPrivateUsage]
            for session in self.now.sessions():
                session._end()  # pyright: ignore[reportPrivateUsage]
            self.now._starter.close()  # pyright: ignore[reportPrivateUsage]
            self.now = made()

        def __getattr__(self, name: str) -> object:
            return getattr(self.now, name)

    restarted = Restarted()
    try:
        yield Place(restarted, restarted.move, restarted.crash, lambda _, one: [*(folder / "executors").glob(one)])  # type: ignore[arg-type]
    finally:
        restarted.now.close()


@contextmanager
def function(folder: Path) -> Generator[Place]:
    """Each move is another machine: the handler, loaded anew."""
    # Imported where they are used: `make test` needs none of them.
    from tests.support.invoke_api import invoke_api
    from tests.support.loopback_aws import loopback_aws
    from tests.support.moto_aws import EXECUTORS

    with invoke_api() as api, loopback_aws(), pytest.MonkeyPatch.context() as changed:
        changed.setattr(python_function, "Forks", partial(python_function.Forks, packages=PACKAGES))
        handlers: list[ModuleType] = []

        def move() -> None:
            handlers.append(_loaded(api, folder))

        move()
        try:
            blobs = S3Blobs(EXECUTORS, Clients())
            yield Place(_executors(), move, move, lambda owner, one: blobs.list(owner, blobs_of(one)))
        finally:
            for one in handlers:
                one.runs.close()


def _loaded(api: "InvokeApi", folder: Path) -> ModuleType:
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("LOCI_RUNNER", str(runner_packages()))
        environment.setenv("TMPDIR", str(folder))
        module = loaded(Path("run_python"))
    api.functions[FUNCTION] = module.lambda_handler
    return module


def _executors() -> LambdaExecutors:
    from tests.support.moto_aws import BUCKET, EXECUTORS, RUN_TABLE, TABLE

    clients = Clients()
    records = DynamoRecords(TABLE, S3Blobs(BUCKET, clients), CLOCK, clients)
    return LambdaExecutors(
        Machine(FUNCTION, "LOCI_RUN_PYTHON_FUNCTION", KEY, clients),
        ExecutorRecords(records, CLOCK, lambda _: None),
        S3Blobs(EXECUTORS, clients),
        Lender(RUN_TABLE, ROLE, clients),
        BOUNDS,
    )


ADAPTERS: dict[str, Callable[[Path], AbstractContextManager[Place]]] = {"embedded": embedded, "function": function}
