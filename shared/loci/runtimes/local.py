"""Loci on one machine. Nothing of AWS is loaded, but for a language model of Bedrock."""

import time
from functools import partial

from loci.adapters.local.blobs import FolderBlobs
from loci.adapters.local.data_folder import load_secret, make_writable
from loci.adapters.local.records import SqliteRecords
from loci.adapters.local.sqlite import Database
from loci.core.settings import Settings
from loci.core.signing import Keyring
from loci.core.stores import BlobStore, RecordStore
from loci.runtimes.adapters import Adapters, ForCode, ForDocuments
from loci.runtimes.secrets import given_secrets

DATABASE = "loci.db"


def embedded(settings: Settings) -> Adapters:
    """All in the data folder, which is made where there is none."""
    folder = settings.data
    make_writable(folder)
    keyring = Keyring(given_secrets(settings) or [load_secret(folder / "secret")])
    blobs = FolderBlobs(folder / "blobs", keyring.seal("link"), settings.base_url, time.time)
    database = Database(folder / DATABASE)
    records = SqliteRecords(database, time.time)
    return Adapters(
        keyring=keyring,
        records=records,
        blobs=blobs,
        local_links=blobs,
        documents=partial(_documents, settings, database, records),
        code=partial(_code, settings, records, blobs),
    )


def _documents(settings: Settings, database: Database, records: RecordStore) -> ForDocuments:
    from loci.adapters.local.index import SqliteIndex
    from loci.adapters.local.write_locks import FolderWriteLocks
    from loci.runtimes.inference import local_inference
    from loci.runtimes.language_model import language_model

    embedder, reranker = local_inference(settings)
    return ForDocuments(
        index=SqliteIndex(database),
        embedder=embedder,
        reranker=reranker,
        turns=FolderWriteLocks(settings.data / "turns"),
        language_model=language_model(settings, records, None),
    )


def _code(settings: Settings, records: RecordStore, blobs: BlobStore) -> ForCode:
    from loci.runtimes.sandboxes import local_executors, local_sandbox

    return ForCode(
        executors=partial(local_executors, settings, records, blobs),
        sandbox=partial(local_sandbox, settings),
        jobs=None,
    )
