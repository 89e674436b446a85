"""Loci on one machine, in one data folder. Nothing of AWS is loaded, except for a language model of Bedrock."""

import os
import time
from functools import partial
from typing import TYPE_CHECKING

from loci.core.full_disk import freeing
from loci.core.settings import Settings
from loci.core.signing import Keyring, given_secrets
from loci.core.stores import BlobStore

# Adapters are loaded in the functions that need them: a cold start pays for one request, and the image of the
# inference function holds only what runs models.
if TYPE_CHECKING:
    from loci.adapters.local.inference.embedder import OnnxEmbedder
    from loci.adapters.local.inference.reranker import OnnxReranker
    from loci.adapters.local.sqlite import Database
    from loci.app import Adapters
    from loci.code.parts import CodeAdapters
    from loci.code.ports import Executors, Sandbox
    from loci.files.parts import FileAdapters
    from loci.files.ports import FileReader
    from loci.search.adapters import SearchAdapters
    from loci.tools.parts import ToolAdapters
    from loci.tools.ports import Changed, ToolServers
    from loci.tools.reaching import Reaching
    from loci.workflows.parts import WorkflowAdapters

DATABASE = "loci.db"
EXECUTOR_IDLE_SECONDS = 900.0
"""An executor that is idle for so long is saved and ended."""


def local_adapters(settings: Settings) -> "Adapters":
    """Everything in the data folder, which is created if it is missing."""
    from loci.adapters.local.blobs import FolderBlobs
    from loci.adapters.local.data_folder import load_secret, make_writable
    from loci.adapters.local.event_log import FolderEventLog
    from loci.adapters.local.records import Ages, SqliteRecords
    from loci.adapters.local.reserve import Reserve
    from loci.adapters.local.sqlite import Database
    from loci.app import Adapters

    folder = settings.data
    make_writable(folder)
    keyring = Keyring(given_secrets(settings) or [load_secret(folder / "secret")])
    reserve = Reserve(folder)
    blobs = FolderBlobs(folder / "blobs", keyring.seal("link"), settings.base_url, time.time, reserve)
    with freeing():  # so that something can be deleted: to open the database on a full disk takes room, too
        reserve.look()
        database = Database(folder / DATABASE, reserve)
    records = SqliteRecords(database, time.time, Ages(time.time))
    return Adapters(
        keyring=keyring,
        records=records,
        event_log=FolderEventLog(folder / "events"),
        blobs=blobs,
        arriving=blobs,
        local_links=blobs,
        read_public=read_public,
        search=partial(_for_search, settings, database),
        files=partial(_for_files, settings, blobs, keyring),
        code=partial(_for_code, settings),
        tools=partial(_for_tools, keyring),
        workflows=_for_workflows,
    )


def read_public(url: str) -> bytes:
    """The bytes behind a public https address, read from this machine."""
    from loci.adapters.tool_servers.small_requests import read_public

    return read_public(url)


def local_inference(settings: Settings) -> "tuple[OnnxEmbedder, OnnxReranker]":
    """The models in the models folder. Each is loaded at its first use."""
    from loci.adapters.local.inference.current_model import CurrentModel
    from loci.adapters.local.inference.embedder import OnnxEmbedder
    from loci.adapters.local.inference.reranker import OnnxReranker
    from loci.model_store.models_folder import ModelsFolder

    models = ModelsFolder(settings.models_folder)
    return (
        OnnxEmbedder(CurrentModel(models, "embedder", settings.embedder)),
        OnnxReranker(CurrentModel(models, "reranker", settings.reranker)),
    )


def _for_search(settings: Settings, database: "Database") -> "SearchAdapters":
    from loci.adapters.local.index import SqliteIndex
    from loci.adapters.local.write_locks import FolderWriteLocks
    from loci.search.adapters import SearchAdapters

    embedder, reranker = local_inference(settings)
    return SearchAdapters(SqliteIndex(database), embedder, reranker, FolderWriteLocks(settings.data / "turns"))


def _for_files(settings: Settings, blobs: BlobStore, keyring: Keyring, shared: "SearchAdapters") -> "FileAdapters":
    from loci.adapters.local.confined_reader import AT_ONCE
    from loci.adapters.local.file_uploads import SealedUploads
    from loci.core.worker_process import Workers
    from loci.files.parts import FileAdapters

    reader = partial(_file_reader, settings, blobs)
    uploads = SealedUploads(keyring.seal("file upload"), settings.base_url, time.time)
    workers = Workers(AT_ONCE)
    return FileAdapters(
        shared.index, shared.embedder, shared.reranker, shared.locks, reader, uploads, uploads, workers=workers
    )


def _file_reader(settings: Settings, blobs: BlobStore) -> "FileReader":
    """Reads files in confined processes of this machine, with the runner's packages."""
    from loci.adapters.local.confined_reader import ConfinedReader
    from loci.adapters.local.executors.executor_starter import strongest_wall

    layers = partial(strongest_wall, allow_none=settings.allow_unsandboxed)
    return ConfinedReader(settings.data.absolute() / "readers", settings.runner_folder, blobs, layers)


def _for_code(settings: Settings) -> "CodeAdapters":
    from loci.code.parts import CodeAdapters

    return CodeAdapters(executors=partial(local_executors, settings), sandbox=partial(_sandbox, settings), jobs=None)


def local_executors(settings: Settings) -> "Executors":
    """Python, in processes of this machine."""
    from loci.adapters.local.executors.confined_executors import ConfinedExecutors
    from loci.adapters.local.executors.executor_starter import ExecutorStarter, strongest_wall
    from loci.adapters.local.records import Ages
    from loci.code.parts import executor_bounds
    from loci.code.python import KEPT_SECONDS

    folder = settings.data.absolute() / "executors"
    bounds = executor_bounds(settings)
    layers = partial(strongest_wall, allow_none=settings.allow_unsandboxed)
    return ConfinedExecutors(
        folder,
        ExecutorStarter(folder, settings.runner_folder, bounds, layers=layers, drawing=True),
        bounds,
        time.time,
        idle_seconds=EXECUTOR_IDLE_SECONDS,
        kept_seconds=KEPT_SECONDS,
        ages=Ages(time.time),
    )


def _sandbox(settings: Settings) -> "Sandbox":
    """TypeScript, in processes of this machine."""
    from loci.adapters.local.deno_sandbox import DenoSandbox
    from loci.adapters.local.executors.executor_starter import strongest_wall

    return DenoSandbox(settings.deno, partial(strongest_wall, allow_none=settings.allow_unsandboxed))


def _for_tools(keyring: Keyring) -> "ToolAdapters":
    from loci.adapters.local.secret_box import KeyringBox
    from loci.adapters.tool_servers.authorization_servers import HttpAuthorizationServers
    from loci.tools.parts import ToolAdapters

    box, who_gives_tokens = KeyringBox(keyring), HttpAuthorizationServers(only_public=False)
    return ToolAdapters(box, _reached_servers, who_gives_tokens, os.environ.get)


def _reached_servers(changed: "Changed", reaching: "Reaching") -> "ToolServers":
    from loci.adapters.tool_servers.connections import Connections
    from loci.tools.reaching import ReachedServers

    return ReachedServers(Connections(changed), reaching)


def _for_workflows() -> "WorkflowAdapters":
    """Workflows, moved on by threads of this process."""
    from loci.adapters.local.workflow_threads import WorkflowThreads, is_gone
    from loci.workflows.parts import WorkflowAdapters

    return WorkflowAdapters(lambda slices, _: WorkflowThreads(slices), is_gone)
