"""The parts of the code vertical, put together on the adapters of a runtime."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from loci.code.detached_runs import DetachedRuns
from loci.code.ports import Executors, Jobs, Sandbox, StoredFiles
from loci.code.python import Runner
from loci.code.stored_files import FilesForCode
from loci.code.table_queries import TableQueries
from loci.code.typescript import ResultsCache, TypeScript
from loci.core.errors import Unavailable
from loci.core.lazy import Lazy
from loci.core.settings import Settings
from loci.core.stores import RecordStore, Slots
from loci.core.telemetry import Telemetry
from loci.documents.api import Documents
from loci.files.api import Files
from loci.gateway.api import Tools
from loci.sandbox.supervisor.exchange import MB, Bounds
from loci.scratchpad.api import Scratchpad

PATIENCE = 25.0
"""Seconds that a call waits before it answers that the run goes on."""


@dataclass(frozen=True, slots=True)
class CodeAdapters:
    """The ports that code needs besides the stores, on one runtime. Each is made at the first run."""

    executors: Callable[[], Executors]
    sandbox: Callable[[], Sandbox]
    jobs: Jobs | None
    """None: a run goes on in this process."""


@dataclass(frozen=True, slots=True)
class CodeParts:
    """The parts behind `Code`. Each language is assembled at its first run."""

    python: Lazy[Runner]
    typescript: Lazy[TypeScript]
    tables: TableQueries
    executors: Lazy[Executors]
    detached_runs: DetachedRuns | None
    """Drives runs in other processes. None: this process drives them."""
    files: Callable[[], Files]
    """The stored files, made at the first need."""
    patience: float = PATIENCE


def code_parts(
    settings: Settings,
    records: RecordStore,
    scratchpad: Scratchpad,
    telemetry: Telemetry,
    adapters: CodeAdapters,
    files: Callable[[], Files],
    tools: Callable[[], Tools],
    documents: Callable[[], Documents],
) -> CodeParts:
    """Put the parts together."""
    executors = Lazy(adapters.executors)
    slots = Slots(records, "errand", settings.aws.runs_at_once, _busy)
    return CodeParts(
        Lazy(partial(_runner, settings, records, executors, FilesForCode(files, documents), telemetry)),
        Lazy(partial(_typescript, settings, adapters, scratchpad, telemetry, tools)),
        TableQueries(executors.get, files, time.time),
        executors,
        DetachedRuns(records, scratchpad, adapters.jobs, time.time, slots) if adapters.jobs else None,
        files,
    )


def executor_bounds(settings: Settings) -> Bounds:
    """The limits of an executor, as the operator has set them."""
    return Bounds(
        seconds=settings.runner_seconds,
        memory_bytes=settings.runner_memory_mb * MB,
    )


def _runner(
    settings: Settings, records: RecordStore, executors: Lazy[Executors], files: StoredFiles, telemetry: Telemetry
) -> Runner:
    return Runner(records, executors.get(), files, time.time, telemetry, seconds=settings.runner_seconds)


def _typescript(
    settings: Settings,
    adapters: CodeAdapters,
    scratchpad: Scratchpad,
    telemetry: Telemetry,
    tools: Callable[[], Tools],
) -> TypeScript:
    is_local = settings.mode == "embedded"  # there are no files on AWS
    return TypeScript(
        adapters.sandbox(),
        tools,
        scratchpad,
        telemetry,
        cache=ResultsCache() if settings.code_cache else None,
        read_roots=settings.code_read_paths if is_local else (),
        private=settings.data.absolute() if is_local else None,
    )


def _busy(most: int) -> Unavailable:
    return Unavailable(
        f"{most} runs of yours are under way, which is the most",
        "Wait for one of them to end, then call again; or do more in one run",
        code="SANDBOX_BUSY",
    )
