"""Loci on one machine, in one data folder. Nothing of AWS is loaded, except for a language model of Bedrock."""

import os
import time
from functools import partial
from typing import TYPE_CHECKING

from loci.core.full_disk import freeing
from loci.core.identity import Owner
from loci.core.settings import Settings
from loci.core.signing import Keyring, given_secrets
from loci.core.storage_keys import CALLS, DAMAGED
from loci.runtimes.providers import Providers

# Adapters are loaded in the functions that need them: a cold start pays for one request, and the image of the
# inference function holds only what runs models.
if TYPE_CHECKING:
    from loci.adapters.local.inference.models import OnnxEmbedder, OnnxReranker
    from loci.adapters.local.mending import Mended
    from loci.code.parts import CodeAdapters
    from loci.code.ports import Executors, Sandbox
    from loci.files.parts import FileAdapters
    from loci.files.ports import FileReader
    from loci.gateway.parts import ToolAdapters
    from loci.gateway.ports import Changed, ToolServers
    from loci.gateway.server_config import ServerResolver
    from loci.search.document_index import SearchAdapters
    from loci.workflows.parts import WorkflowAdapters

DATABASE = "loci.db"
CALL_FILES = 20
"""The files of an owner's log of calls: 40 MB, some 150,000 calls."""
EXECUTOR_IDLE_SECONDS = 900.0
"""An executor that is idle for so long is saved and ended."""


class LocalRuntime(Providers):
    """Everything in the data folder, which is created if it is missing."""

    def __init__(self, settings: Settings) -> None:
        from loci.adapters.local.blobs import FolderBlobs
        from loci.adapters.local.data_folder import Reserve, load_secret, make_writable
        from loci.adapters.local.event_log import FolderEventLog
        from loci.adapters.local.records import Ages, SqliteRecords
        from loci.adapters.local.sqlite import Database

        folder = settings.data
        make_writable(folder)
        self.keyring = Keyring(given_secrets(settings) or [load_secret(folder / "secret")])
        reserve = Reserve(folder)
        self.blobs = FolderBlobs(folder / "blobs", self.keyring.seal("link"), settings.base_url, time.time, reserve)
        self.arriving = self.local_links = self.blobs
        with freeing():  # so that something can be deleted: to open the database on a full disk takes room, too
            reserve.before_write()
            self._database = Database(folder / DATABASE, reserve)
        self.event_log = FolderEventLog(folder / "events")
        self.call_log = FolderEventLog(folder / CALLS, files=CALL_FILES)
        super().__init__(settings, SqliteRecords(self._database, time.time, Ages(time.time)))

    def read_public(self, url: str) -> bytes:
        return read_public(url)

    def search(self) -> "SearchAdapters":
        from loci.adapters.local.index.index import SqliteIndex
        from loci.adapters.local.write_locks import FolderWriteLocks
        from loci.search.document_index import SearchAdapters

        locks = FolderWriteLocks(self.settings.data / "turns")
        return SearchAdapters(SqliteIndex(self._database), *local_inference(self.settings), locks)

    def files(self) -> "FileAdapters":
        from loci.adapters.local.confined_reader import AT_ONCE
        from loci.adapters.local.file_uploads import SealedUploads
        from loci.core.worker_process import Workers
        from loci.files.parts import FileAdapters

        uploads = SealedUploads(self.keyring.seal("file upload"), self.settings.base_url, time.time)
        return FileAdapters(self._file_reader, uploads, uploads, workers=Workers(AT_ONCE))

    def _file_reader(self) -> "FileReader":
        """Reads files in confined processes of this machine, with the runner's packages."""
        from loci.adapters.local.confined_reader import ConfinedReader
        from loci.adapters.local.executors.executor_starter import strongest_wall

        settings, blobs = self.settings, self.blobs
        layers = partial(strongest_wall, allow_none=settings.allow_unsandboxed)
        return ConfinedReader(settings.data.absolute() / "readers", settings.runner_folder, blobs, layers)

    def code(self) -> "CodeAdapters":
        from loci.code.parts import CodeAdapters

        return CodeAdapters(partial(local_executors, self.settings), self._sandbox, jobs=None)

    def _sandbox(self) -> "Sandbox":
        """TypeScript, in processes of this machine."""
        from loci.adapters.local.deno_sandbox import DenoSandbox
        from loci.adapters.local.executors.executor_starter import strongest_wall

        return DenoSandbox(self.settings.deno, partial(strongest_wall, allow_none=self.settings.allow_unsandboxed))

    def tools(self) -> "ToolAdapters":
        from loci.adapters.local.secret_box import KeyringBox
        from loci.adapters.tool_servers.authorization_servers import HttpAuthorizationServers
        from loci.adapters.tool_servers.connections import Connections
        from loci.gateway.parts import ToolAdapters
        from loci.gateway.server_config import RedactedServers

        def servers(changed: "Changed", resolver: "ServerResolver") -> "ToolServers":
            return RedactedServers(Connections(changed), resolver)

        box, token_givers = KeyringBox(self.keyring), HttpAuthorizationServers(only_public=False)
        return ToolAdapters(box, servers, token_givers, os.environ.get)

    def workflows(self) -> "WorkflowAdapters":
        """Workflows, moved on by threads of this process."""
        from loci.adapters.local.workflow_threads import WorkflowThreads, is_gone
        from loci.workflows.parts import WorkflowAdapters

        return WorkflowAdapters(lambda slices, _: WorkflowThreads(slices), is_gone)

    def remove_rest(self, owner: Owner) -> int:
        from loci.adapters.local.data_folder import remove_folders

        number = remove_folders(self.settings.data.absolute(), owner)
        self._database.rewrite()
        return number

    def backups(self) -> list[str]:
        copies = [one.name for one in self.settings.data.glob(f"*{DAMAGED}*")]
        return [f"Earlier, damaged databases are in the data folder: {', '.join(sorted(copies))}"] if copies else []

    def check_database(self) -> str | None:
        return check_database(self.settings)


def read_public(url: str) -> bytes:
    """The bytes behind a public https address, read from this machine."""
    from loci.adapters.tool_servers.small_requests import read_public

    return read_public(url)


def local_inference(settings: Settings) -> "tuple[OnnxEmbedder, OnnxReranker]":
    """The models in the models folder. Each is loaded at its first use."""
    from loci.adapters.local.inference.current_model import CurrentModel
    from loci.adapters.local.inference.models import OnnxEmbedder, OnnxReranker
    from loci.model_store.models import ModelsFolder

    models = ModelsFolder(settings.models_folder)
    return (
        OnnxEmbedder(CurrentModel(models, "embedder", settings.embedder)),
        OnnxReranker(CurrentModel(models, "reranker", settings.reranker)),
    )


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


def keep_room(settings: Settings) -> None:
    """Keep room for deletions on the disk of the data folder."""
    from loci.adapters.local.data_folder import Reserve

    Reserve(settings.data).make()


def sweep_data(settings: Settings) -> None:
    """Remove what killed processes left in the data folder."""
    from loci.adapters.local.data_folder import sweep_data

    sweep_data(settings.data.absolute())


def check_database(settings: Settings) -> str | None:
    """Describe the database file, if there is one yet. Raises an error that says what is wrong with it."""
    from loci.adapters.local.sqlite import check_file

    return check_file(settings.data / DATABASE)


def mend_database(settings: Settings) -> "Mended | None":
    """Make the database whole, with an empty index; None if it is whole."""
    from loci.adapters.local.mending import mend

    return mend(settings.data / DATABASE)


def is_half_mended(settings: Settings) -> bool:
    """True if the database was mended, and the index of some owner was not rebuilt since."""
    from loci.adapters.local.mending import is_half_mended

    return is_half_mended(settings.data / DATABASE)


def end_mending(settings: Settings) -> None:
    """Note that the index of every owner was rebuilt."""
    from loci.adapters.local.mending import end_mending

    end_mending(settings.data / DATABASE)
