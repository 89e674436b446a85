"""What runs callers' code on one machine."""

import time
from functools import partial

from loci.adapters.embedded.executors.confined import ConfinedExecutors
from loci.adapters.embedded.executors.forks import Forks, wall
from loci.adapters.embedded.typescript import DenoSandbox
from loci.code.runner import KEPT_SECONDS
from loci.code.snapshots import Snapshots
from loci.composition.bounds import bounds
from loci.ports.code import Executors, Sandbox
from loci.ports.stores import BlobStore, RecordStore
from loci.settings import Settings


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
