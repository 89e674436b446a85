"""What runs callers' code on one machine."""

import time
from functools import partial

from loci.adapters.local.deno_sandbox import DenoSandbox
from loci.adapters.local.executors.confined_executors import ConfinedExecutors
from loci.adapters.local.executors.executor_starter import ExecutorStarter, strongest_wall
from loci.adapters.sandbox.snapshots import Snapshots
from loci.code.ports import Executors, Sandbox
from loci.code.python import KEPT_SECONDS
from loci.core.settings import Settings
from loci.core.stores import BlobStore, RecordStore
from loci.runtimes.bounds import bounds


def local_executors(settings: Settings, records: RecordStore, blobs: BlobStore) -> Executors:
    """Python, in processes of this machine."""
    folder = settings.data.absolute() / "executors"
    allowed = bounds(settings)
    layers = partial(strongest_wall, allow_none=settings.allow_unsandboxed)
    return ConfinedExecutors(
        folder,
        ExecutorStarter(folder, settings.runner_folder, allowed, layers=layers, drawing=settings.runner_matplotlib),
        Snapshots(records, blobs, time.time),
        allowed,
        time.time,
        idle_seconds=settings.runner_idle_minutes * 60,
        kept_seconds=KEPT_SECONDS,
    )


def local_sandbox(settings: Settings) -> Sandbox:
    """TypeScript, in processes of this machine."""
    return DenoSandbox(settings.deno, partial(strongest_wall, allow_none=settings.allow_unsandboxed))
