"""What runs callers' code on one machine."""

import time
from functools import partial

from loci.adapters.local.executors.confined import ConfinedExecutors
from loci.adapters.local.executors.forks import Forks, wall
from loci.adapters.local.typescript import DenoSandbox
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
    layers = partial(wall, allow_none=settings.allow_unsandboxed)
    return ConfinedExecutors(
        folder,
        Forks(folder, settings.runner_folder, allowed, layers=layers, drawing=settings.runner_matplotlib),
        Snapshots(records, blobs, time.time),
        allowed,
        time.time,
        idle_seconds=settings.runner_idle_minutes * 60,
        kept_seconds=KEPT_SECONDS,
    )


def local_sandbox(settings: Settings) -> Sandbox:
    """TypeScript, in processes of this machine."""
    return DenoSandbox(settings.deno, partial(wall, allow_none=settings.allow_unsandboxed))
