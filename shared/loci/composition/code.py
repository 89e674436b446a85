"""Code behind a wall, on the adapters of a runtime."""

import time
from functools import partial

from loci.code.bridge import NoTools
from loci.code.elsewhere import Elsewhere
from loci.code.no_files import NoFiles
from loci.code.parts import Code
from loci.code.results_cache import ResultsCache
from loci.code.runner import Runner
from loci.code.typescript import TypeScript
from loci.composition.adapters import ForCode
from loci.later import Later
from loci.ports.stores import RecordStore
from loci.scratchpad import Scratchpad
from loci.settings import Settings
from loci.telemetry import Telemetry


def code(settings: Settings, records: RecordStore, scratchpad: Scratchpad, telemetry: Telemetry, made: ForCode) -> Code:
    """Everything that runs callers' code."""
    elsewhere = Elsewhere(records, scratchpad, made.errands, time.time) if made.errands else None
    return Code(
        Later(partial(_runner, settings, records, made, elsewhere)),
        Later(partial(_typescript, settings, made, scratchpad, telemetry, elsewhere)),
        elsewhere,
    )


def _runner(settings: Settings, records: RecordStore, made: ForCode, elsewhere: Elsewhere | None) -> Runner:
    seconds = settings.runner_seconds
    return Runner(records, made.executors(), NoFiles(), time.time, seconds=seconds, elsewhere=elsewhere)


def _typescript(
    settings: Settings, made: ForCode, scratchpad: Scratchpad, telemetry: Telemetry, elsewhere: Elsewhere | None
) -> TypeScript:
    own = settings.mode == "embedded"  # on AWS there are no files
    return TypeScript(
        made.sandbox(),
        NoTools(),
        scratchpad,
        telemetry,
        cache=ResultsCache() if settings.code_cache else None,
        read_roots=settings.code_read_paths if own else (),
        private=settings.data.absolute() if own else None,
        elsewhere=elsewhere,
    )
