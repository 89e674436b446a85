"""What runs callers' code on one machine. Nothing of it is loaded before there is code to run."""

import time
from functools import partial

from loci.adapters.embedded.executors.later import LaterExecutors
from loci.adapters.embedded.later_sandbox import LaterSandbox
from loci.ports.code import Executors, Sandbox
from loci.ports.stores import BlobStore, RecordStore
from loci.settings import Settings


def local_executors(settings: Settings, records: RecordStore, blobs: BlobStore) -> Executors:
    """Python, in processes of this machine."""
    return LaterExecutors(partial(_executors, settings, records, blobs))


def local_sandbox(settings: Settings) -> Sandbox:
    """TypeScript, in processes of this machine."""
    return LaterSandbox(partial(_sandbox, settings))


def _sandbox(settings: Settings) -> Sandbox:
    from loci.adapters.embedded.executors.forks import wall
    from loci.adapters.embedded.typescript import DenoSandbox

    return DenoSandbox(settings.deno, partial(wall, allow_none=settings.allow_unsandboxed))


def _executors(settings: Settings, records: RecordStore, blobs: BlobStore) -> Executors:
    from loci.adapters.embedded.executors.confined import ConfinedExecutors
    from loci.adapters.embedded.executors.forks import Forks, wall
    from loci.code.runner import KEPT_SECONDS
    from loci.code.snapshots import Snapshots
    from loci.sandbox_programs.python.told import MB, Bounds

    bounds = Bounds(
        seconds=settings.runner_seconds,
        memory_bytes=settings.runner_memory_mb * MB,
        disk_bytes=settings.runner_disk_mb * MB,
    )
    folder = settings.data.absolute() / "executors"
    layers = partial(wall, allow_none=settings.allow_unsandboxed)
    forks = Forks(folder, settings.runner_folder, bounds, layers=layers, drawing=settings.runner_matplotlib)
    return ConfinedExecutors(
        folder,
        forks,
        Snapshots(records, blobs, time.time),
        bounds,
        time.time,
        idle_seconds=settings.runner_idle_minutes * 60,
        kept_seconds=KEPT_SECONDS,
    )
