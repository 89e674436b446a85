"""Loci in an AWS account. Its clients are made at their first calls."""

import time
from functools import partial

from loci.adapters.aws.blobs import S3Blobs
from loci.adapters.aws.clients import Clients
from loci.adapters.aws.records import DynamoRecords
from loci.core.errors import Misconfigured
from loci.core.settings import Settings
from loci.core.signing import Keyring
from loci.core.stores import RecordStore
from loci.runtimes.adapters import Adapters, ForCode, ForDocuments
from loci.runtimes.secrets import given_secrets, stored_secrets


def aws(settings: Settings) -> Adapters:
    """All in the resources that the settings name."""
    clients = Clients()
    records, blobs = stores(settings, clients)
    keyring = Keyring(given_secrets(settings) or stored_secrets(settings, clients))
    if (settings.run_python_function or settings.run_deno_function) and settings.run_role is None:
        raise Misconfigured("Runs of code need credentials to be lent", "Set LOCI_RUN_ROLE to the role of the stack")
    return Adapters(
        keyring=keyring,
        records=records,
        blobs=blobs,
        local_links=None,
        documents=partial(for_documents, settings, records, clients),
        code=partial(_code, settings, records, blobs, keyring, clients),
    )


def stores(settings: Settings, clients: Clients) -> tuple[RecordStore, S3Blobs]:
    """The table and the bucket."""
    if settings.auth == "open":
        raise Misconfigured("auth = open would let everybody in", "In AWS mode set LOCI_AUTH=required")
    if not settings.table or not settings.bucket:
        raise Misconfigured("In AWS mode a table and a bucket are needed", "Set LOCI_TABLE and LOCI_BUCKET")
    blobs = S3Blobs(settings.bucket, clients)
    return DynamoRecords(settings.table, blobs, time.time, clients), blobs


def for_documents(settings: Settings, records: RecordStore, clients: Clients) -> ForDocuments:
    """The index, and the models of the inference function; without one, those of this machine."""
    from loci.adapters.aws.index import OpenSearchIndex
    from loci.adapters.aws.inference import LambdaEmbedder, LambdaInference, LambdaReranker
    from loci.adapters.aws.no_index import NoIndex
    from loci.adapters.aws.opensearch import OpenSearchCluster
    from loci.adapters.aws.write_locks import RecordWriteLocks
    from loci.runtimes.language_model import language_model

    if settings.inference_function is None:
        from loci.runtimes.inference import local_inference  # a function with models elsewhere needs none of it

        embedder, reranker = local_inference(settings)
    else:
        inference = LambdaInference(settings.inference_function, clients)
        embedder, reranker = LambdaEmbedder(inference), LambdaReranker(inference)
    url = settings.search_url
    return ForDocuments(
        index=OpenSearchIndex(OpenSearchCluster(url), settings.search_index) if url else NoIndex(),
        embedder=embedder,
        reranker=reranker,
        turns=RecordWriteLocks(records, time.time),
        language_model=language_model(settings, records, clients),
    )


def _code(settings: Settings, records: RecordStore, blobs: S3Blobs, keyring: Keyring, clients: Clients) -> ForCode:
    from loci.runtimes.functions import function_executors, function_sandbox, jobs

    return ForCode(
        executors=partial(function_executors, settings, records, blobs, keyring, clients),
        sandbox=partial(function_sandbox, settings, keyring, clients),
        jobs=jobs(settings, clients),
    )
