"""Loci on one machine. Nothing of AWS is loaded, but for a language model of Bedrock."""

import time
from functools import partial

from loci.adapters.embedded.blobs import FolderBlobs
from loci.adapters.embedded.folder import kept_secret, make_writable
from loci.adapters.embedded.records import SqliteRecords
from loci.adapters.embedded.sqlite import Database
from loci.composition.adapters import Adapters, ForCode, ForDocuments
from loci.composition.secrets import given_secrets
from loci.ports.stores import BlobStore, RecordStore
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
    return Adapters(
        keyring=keyring,
        records=records,
        blobs=blobs,
        local_links=blobs,
        documents=partial(_documents, settings, database, records),
        code=partial(_code, settings, records, blobs),
    )


def _documents(settings: Settings, database: Database, records: RecordStore) -> ForDocuments:
    from loci.adapters.embedded.index import SqliteIndex
    from loci.adapters.embedded.turns import FolderTurns
    from loci.composition.inference import local_inference
    from loci.composition.language_model import language_model

    embedder, reranker = local_inference(settings)
    return ForDocuments(
        index=SqliteIndex(database),
        embedder=embedder,
        reranker=reranker,
        turns=FolderTurns(settings.data / "turns"),
        language_model=language_model(settings, records, None),
    )


def _code(settings: Settings, records: RecordStore, blobs: BlobStore) -> ForCode:
    from loci.composition.sandboxes import local_executors, local_sandbox

    return ForCode(
        executors=partial(local_executors, settings, records, blobs),
        sandbox=partial(local_sandbox, settings),
        errands=None,
    )
