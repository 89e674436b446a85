"""Code behind a wall, on the adapters of a runtime."""

import time
from functools import partial

from loci.code.api import Code, CodeParts
from loci.code.bridge import NoTools
from loci.code.detached_runs import DetachedRuns
from loci.code.ports import NoFiles
from loci.code.python import Runner
from loci.code.results_cache import ResultsCache
from loci.code.typescript import TypeScript
from loci.core.lazy import Lazy
from loci.core.settings import Settings
from loci.core.stores import RecordStore
from loci.core.telemetry import Telemetry
from loci.runtimes.adapters import ForCode
from loci.scratchpad.api import Scratchpad


def code(settings: Settings, records: RecordStore, scratchpad: Scratchpad, telemetry: Telemetry, made: ForCode) -> Code:
    """Everything that runs callers' code."""
    return Code(
        CodeParts(
            Lazy(partial(_runner, settings, records, made)),
            Lazy(partial(_typescript, settings, made, scratchpad, telemetry)),
            DetachedRuns(records, scratchpad, made.jobs, time.time) if made.jobs else None,
        )
    )


def _runner(settings: Settings, records: RecordStore, made: ForCode) -> Runner:
    return Runner(records, made.executors(), NoFiles(), time.time, seconds=settings.runner_seconds)


def _typescript(settings: Settings, made: ForCode, scratchpad: Scratchpad, telemetry: Telemetry) -> TypeScript:
    own = settings.mode == "embedded"  # on AWS there are no files
    return TypeScript(
        made.sandbox(),
        NoTools(),
        scratchpad,
        telemetry,
        cache=ResultsCache() if settings.code_cache else None,
        read_roots=settings.code_read_paths if own else (),
        private=settings.data.absolute() if own else None,
    )
