"""Loci on one machine. Nothing of AWS is loaded, but for a language model of Bedrock."""

import time
from functools import partial

from loci.adapters.embedded.blobs import FolderBlobs
from loci.adapters.embedded.executors.later import LaterExecutors
from loci.adapters.embedded.folder import kept_secret, make_writable
from loci.adapters.embedded.index import SqliteIndex
from loci.adapters.embedded.later_sandbox import LaterSandbox
from loci.adapters.embedded.records import SqliteRecords
from loci.adapters.embedded.sqlite import Database
from loci.adapters.embedded.turns import FolderTurns
from loci.composition.adapters import Adapters
from loci.composition.inference import local_inference
from loci.composition.language_model import language_model
from loci.composition.secrets import given_secrets
from loci.ports import BlobStore, Executors, RecordStore, Sandbox
from loci.settings import Settings
from loci.signing import Keyring

DATABASE = "loci.db"


def embedded(settings: Settings) -> Adapters:
    """All in the data folder, which is made where there is none."""
    folder = settings.data
    make_writable(folder)
    keyring = Keyring(given_secrets(settings) or [kept_secret(folder / "secret")])
    blobs = FolderBlobs(folder / "blobs", keyring.seal("link"), settings.base_url, time.time)
    database = Database(folder / DATABASE)
    records = SqliteRecords(database, time.time)
    embedder, reranker = local_inference(settings)
    return Adapters(
        keyring=keyring,
        records=records,
        blobs=blobs,
        local_links=blobs,
        index=SqliteIndex(database),
        embedder=embedder,
        reranker=reranker,
        turns=FolderTurns(folder / "turns"),
        language_model=language_model(settings, records, None),
        executors=LaterExecutors(partial(_executors, settings, records, blobs)),
        sandbox=LaterSandbox(partial(_sandbox, settings)),
        errands=None,
    )


def _sandbox(settings: Settings) -> Sandbox:
    from loci.adapters.embedded.executors.forks import wall  # once code is run
    from loci.adapters.embedded.typescript import DenoSandbox

    return DenoSandbox(settings.deno, partial(wall, allow_none=settings.allow_unsandboxed))


def _executors(settings: Settings, records: RecordStore, blobs: BlobStore) -> Executors:
    from loci.adapters.embedded.executors.confined import ConfinedExecutors  # once code is run
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
