"""Loci on one machine. Nothing of AWS is loaded, but for a language model of Bedrock."""

import time

from loci.adapters.embedded.blobs import FolderBlobs
from loci.adapters.embedded.folder import kept_secret, make_writable
from loci.adapters.embedded.index import SqliteIndex
from loci.adapters.embedded.records import SqliteRecords
from loci.adapters.embedded.sqlite import Database
from loci.adapters.embedded.turns import FolderTurns
from loci.composition.adapters import Adapters
from loci.composition.inference import local_inference
from loci.composition.language_model import language_model
from loci.composition.sandboxes import local_executors, local_sandbox
from loci.composition.secrets import given_secrets
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
        executors=local_executors(settings, records, blobs),
        sandbox=local_sandbox(settings),
        errands=None,
    )
