"""The parts of the code vertical, put together on the adapters of a runtime."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from loci.code.computations import Computations
from loci.code.ports import Executors, Jobs, Sandbox
from loci.code.python import Runner
from loci.code.runs import DetachedRuns
from loci.code.stored_files import FilesForCode
from loci.code.table_queries import TableQueries
from loci.code.typescript import ResultsCache, TypeScript
from loci.core.errors import Unavailable
from loci.core.lazy import Lazy
from loci.core.settings import Settings
from loci.core.stores import Slots
from loci.files.api import Files
from loci.sandbox.supervisor.limits import MB, Bounds

if TYPE_CHECKING:
    from loci.app import App

PATIENCE = 25.0
"""Seconds that a call waits before it answers that the run goes on."""


@dataclass(frozen=True, slots=True)
class CodeAdapters:
    """The ports that code needs besides the stores, on one runtime. Each is made at the first run."""

    executors: Callable[[], Executors]
    sandbox: Callable[[], Sandbox]
    jobs: Jobs | None
    """Starts runs in another process; None if a run goes on in this process."""


class CodeParts:
    """The parts behind `Code`. Each language is assembled at its first run."""

    def __init__(self, app: "App") -> None:
        settings, adapters = app.settings, app.runtime.code()

        def python() -> Runner:
            files, seconds = FilesForCode(self.files, lambda: app.documents), settings.runner_seconds
            return Runner(
                app.records,
                self.executors.get(),
                files,
                time.time,
                app.telemetry,
                tools=lambda: app.tools,
                seconds=seconds,
                readings=app.readings,
            )

        def typescript() -> TypeScript:
            is_local = settings.mode == "embedded"  # there are no files on AWS
            return TypeScript(
                adapters.sandbox(),
                lambda: app.tools,
                app.scratchpad,
                app.telemetry,
                cache=ResultsCache() if settings.code_cache else None,
                read_roots=settings.code_read_paths if is_local else (),
                private=settings.data.absolute() if is_local else None,
            )

        self.patience = PATIENCE
        self.files: Callable[[], Files] = lambda: app.files
        """The stored files, made at the first need."""
        self.executors = Lazy(adapters.executors)
        self.python, self.typescript = Lazy(python), Lazy(typescript)
        self.computations = Computations(lambda: app.documents, self.files, self.python.get, app.scratchpad, time.time)
        self.tables = TableQueries(self.executors.get, self.files, time.time)
        slots, jobs = Slots(app.records, "errand", settings.aws.runs_at_once, _busy), adapters.jobs
        self.detached_runs = DetachedRuns(app.records, app.scratchpad, jobs, time.time, slots) if jobs else None
        """Drives runs in other processes. None: this process drives them."""


def executor_bounds(settings: Settings) -> Bounds:
    """The limits of an executor, as the operator has set them."""
    return Bounds(
        seconds=settings.runner_seconds,
        memory_bytes=settings.runner_memory_mb * MB,
    )


def _busy(most: int) -> Unavailable:
    return Unavailable(
        f"{most} runs of yours are under way, which is the most",
        "Wait for one of them to end, then call again; or do more in one run",
        code="SANDBOX_BUSY",
    )
