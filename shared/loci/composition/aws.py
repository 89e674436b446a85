"""Loci in an AWS account. Its clients are made at their first calls."""

import time
from dataclasses import dataclass

from loci.adapters.aws.blobs import S3Blobs
from loci.adapters.aws.clients import Clients
from loci.adapters.aws.index import OpenSearchIndex
from loci.adapters.aws.inference import LambdaEmbedder, LambdaInference, LambdaReranker
from loci.adapters.aws.no_index import NoIndex
from loci.adapters.aws.opensearch import Domain
from loci.adapters.aws.records import DynamoRecords
from loci.adapters.aws.turns import RecordTurns
from loci.composition.adapters import Adapters
from loci.composition.cloud_code import running
from loci.composition.language_model import language_model
from loci.composition.secrets import given_secrets, stored_secrets
from loci.errors import Misconfigured
from loci.ports.documents import DocumentIndex
from loci.ports.models import Embedder, Reranker
from loci.ports.stores import RecordStore
from loci.settings import Settings
from loci.signing import Keyring


@dataclass(frozen=True, slots=True)
class Finding:
    """What finds documents."""

    index: DocumentIndex
    embedder: Embedder
    reranker: Reranker


def aws(settings: Settings) -> Adapters:
    """All in the resources that the settings name."""
    clients = Clients()
    records, blobs = stores(settings, clients)
    keyring = Keyring(given_secrets(settings) or stored_secrets(settings, clients))
    found = finding(settings, clients)
    code = running(settings, records, blobs, keyring, clients)
    return Adapters(
        keyring=keyring,
        records=records,
        blobs=blobs,
        local_links=None,
        index=found.index,
        embedder=found.embedder,
        reranker=found.reranker,
        turns=RecordTurns(records, time.time),
        language_model=language_model(settings, records, clients),
        executors=code.executors,
        sandbox=code.sandbox,
        errands=code.errands,
    )


def stores(settings: Settings, clients: Clients) -> tuple[RecordStore, S3Blobs]:
    """The table and the bucket."""
    if settings.auth == "open":
        raise Misconfigured("auth = open would let everybody in", "In AWS mode set LOCI_AUTH=required")
    if not settings.table or not settings.bucket:
        raise Misconfigured("In AWS mode a table and a bucket are needed", "Set LOCI_TABLE and LOCI_BUCKET")
    blobs = S3Blobs(settings.bucket, clients)
    return DynamoRecords(settings.table, blobs, time.time, clients), blobs


def finding(settings: Settings, clients: Clients) -> Finding:
    """The index, and the models of the inference function; without one, those of this machine."""
    url, name = settings.search_url, settings.search_index
    index = OpenSearchIndex(Domain(url), name) if url else NoIndex()
    if settings.inference_function is None:
        from loci.composition.inference import local_inference  # a function with models elsewhere needs none of it

        return Finding(index, *local_inference(settings))
    inference = LambdaInference(settings.inference_function, clients)
    return Finding(index, LambdaEmbedder(inference), LambdaReranker(inference))
