"""Loci in an AWS account. Its clients are made at their first calls, and adapters are loaded when they are needed."""

import time
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from loci.adapters.aws.blobs import S3Blobs
from loci.adapters.aws.clients import Clients
from loci.adapters.aws.event_log import RecordEventLog
from loci.adapters.aws.records import DynamoRecords
from loci.app import Adapters
from loci.core.errors import Misconfigured, Unavailable
from loci.core.layout import ARRIVING
from loci.core.settings import Settings
from loci.core.signing import Keyring, given_secrets
from loci.core.stores import RecordStore, WriteLocks

if TYPE_CHECKING:
    from loci.adapters.aws.sandbox.lent_rows import Lender
    from loci.code.parts import CodeAdapters
    from loci.code.ports import Executors, Jobs, Sandbox
    from loci.files.parts import FileAdapters
    from loci.files.ports import FileReader
    from loci.search.adapters import SearchAdapters
    from loci.search.document_index import DocumentIndex
    from loci.tools.parts import ToolAdapters
    from loci.tools.ports import Changed, ToolServers
    from loci.tools.reaching import Reaching
    from loci.workflows.parts import WorkflowAdapters

EXTRACT_TENANTS = b"extract"
MAX_OUTPUT_BYTES = 1 << 19
"""Of a run. The answer of a function has at most 6 MB, with the figures."""


def aws_adapters(settings: Settings) -> Adapters:
    """Everything in the resources that the settings name."""
    clients = Clients()
    records, blobs = aws_stores(settings, clients)
    keyring = Keyring(signing_secrets(settings, clients))
    _check_runs(settings)
    return Adapters(
        keyring=keyring,
        records=records,
        event_log=RecordEventLog(records),
        blobs=blobs,
        arriving=S3Blobs(settings.aws.bucket or "", clients, ARRIVING),
        local_links=None,
        read_public=partial(_read_public, settings, clients),
        search=partial(for_search, settings, records, clients),
        files=partial(for_files, settings, blobs, clients, keyring=keyring),
        code=partial(_for_code, settings, records, keyring, clients),
        tools=partial(for_tools, settings, clients),
        workflows=partial(_for_workflows, settings, clients),
    )


def _read_public(settings: Settings, clients: Clients, url: str) -> bytes:
    """The bytes behind a public https address, read by the only function that reaches other people's servers."""
    from loci.adapters.aws.lambda_tool_servers import LambdaToolServers

    return LambdaToolServers(settings.aws.connect_function, clients).read_public(url)


def _check_runs(settings: Settings) -> None:
    on_aws = settings.aws
    if (on_aws.run_python_function or on_aws.run_deno_function) and not (on_aws.run_role and on_aws.run_table):
        advice = "Set LOCI_RUN_ROLE and LOCI_RUN_TABLE to the role and the table of the stack"
        raise Misconfigured("Runs of code need rows to be lent", advice)
    if on_aws.run_python_function and not on_aws.executor_bucket:
        raise Misconfigured("Executors need a bucket", "Set LOCI_EXECUTOR_BUCKET to the bucket of the stack")


def aws_stores(settings: Settings, clients: Clients) -> tuple[RecordStore, S3Blobs]:
    """The table and the bucket."""
    if settings.auth == "open":
        raise Misconfigured("auth = open would let everybody in", "In AWS mode set LOCI_AUTH=required")
    if not settings.aws.table or not settings.aws.bucket:
        raise Misconfigured("In AWS mode a table and a bucket are needed", "Set LOCI_TABLE and LOCI_BUCKET")
    blobs = S3Blobs(settings.aws.bucket, clients)
    return DynamoRecords(settings.aws.table, blobs, time.time, clients), blobs


def signing_secrets(settings: Settings, clients: Clients) -> list[str]:
    """The secrets of the settings, else those in Secrets Manager, newest first."""
    if given := given_secrets(settings):
        return given
    from loci.adapters.aws.secrets import read_secrets

    if not settings.aws.secrets_from:
        raise Misconfigured("In AWS mode a signing secret is needed", "Set LOCI_SECRETS_FROM or LOCI_SECRETS")
    return read_secrets(settings.aws.secrets_from, clients)


def for_search(settings: Settings, records: RecordStore, clients: Clients, *, at_once: bool = True) -> "SearchAdapters":
    """The index, and the models of the inference function or, if there is none, of this machine.

    `at_once`: a search sees a new document as soon as it is written.
    """
    from loci.adapters.aws.inference import LambdaEmbedder, LambdaInference, LambdaReranker
    from loci.adapters.aws.write_locks import RecordWriteLocks
    from loci.search.adapters import SearchAdapters

    if settings.aws.inference_function is None:
        from loci.runtimes.local import local_inference

        embedder, reranker = local_inference(settings)
    else:
        inference = LambdaInference(settings.aws.inference_function, clients)
        embedder, reranker = LambdaEmbedder(inference), LambdaReranker(inference)
    locks = RecordWriteLocks(records, time.time)
    return SearchAdapters(_index(settings, locks, clients, at_once=at_once), embedder, reranker, locks)


def for_files(
    settings: Settings, blobs: S3Blobs, clients: Clients, shared: "SearchAdapters", *, keyring: Keyring | None
) -> "FileAdapters":
    """The index and the models of documents, and what takes files in.

    Without a keyring, this process is the ingestion, which reads them. Others send it what is to be read.
    """
    from loci.adapters.aws.file_jobs import QueueFileJobs
    from loci.adapters.aws.file_uploads import S3FileUploads
    from loci.files.parts import FileAdapters

    queue = settings.aws.ingest_queue if keyring else None
    seal = keyring.seal("file parts") if keyring and queue else None
    uploads = S3FileUploads(settings.aws.bucket or "", clients, seal) if seal else None
    return FileAdapters(
        shared.index,
        shared.embedder,
        shared.reranker,
        shared.locks,
        partial(_file_reader, settings, blobs, clients),
        uploads=uploads,
        jobs=QueueFileJobs(queue, clients) if queue else None,
    )


def _file_reader(settings: Settings, blobs: S3Blobs, clients: Clients) -> "FileReader":
    """Reads files in the function that the settings name."""
    from loci.adapters.aws.sandbox.lambda_reader import LambdaReader, NoReader
    from loci.adapters.aws.sandbox.machine import Machine

    if settings.aws.extract_function is None:
        return NoReader()
    if settings.aws.executor_bucket is None:
        raise Misconfigured("Files that are read need a bucket", "Set LOCI_EXECUTOR_BUCKET to the bucket of the stack")
    # The ingestion knows no secret. The names of its tenants need not be secret either: only its role may invoke.
    machine = Machine(settings.aws.extract_function, "LOCI_EXTRACT_FUNCTION", EXTRACT_TENANTS, clients)
    lent = S3Blobs(settings.aws.executor_bucket, clients)
    return LambdaReader(machine, blobs, lent)


def _index(settings: Settings, locks: WriteLocks, clients: Clients, *, at_once: bool) -> "DocumentIndex":
    """The index in the bucket or in the domain, if there is one."""
    if settings.aws.search == "s3":
        from loci.adapters.aws.index_objects import IndexObjects
        from loci.adapters.s3_index.copies import Copies
        from loci.adapters.s3_index.index import S3Index

        return S3Index(Copies(IndexObjects(settings.aws.bucket or "", clients), settings.aws.search_passages), locks)
    if settings.aws.search_url is None:
        from loci.adapters.aws.no_index import NoIndex

        return NoIndex()
    from loci.adapters.aws.index import OpenSearchIndex
    from loci.adapters.aws.opensearch import OpenSearchCluster

    return OpenSearchIndex(OpenSearchCluster(settings.aws.search_url), settings.aws.search_index, at_once=at_once)


def _for_code(settings: Settings, records: RecordStore, keyring: Keyring, clients: Clients) -> "CodeAdapters":
    from loci.code.parts import CodeAdapters

    return CodeAdapters(
        executors=partial(_executors, settings, records, keyring, clients),
        sandbox=partial(_sandbox, settings, keyring, clients),
        jobs=_jobs(settings, clients),
    )


def _executors(settings: Settings, records: RecordStore, keyring: Keyring, clients: Clients) -> "Executors":
    """Python, in the function that the settings name."""
    from loci.adapters.aws.sandbox.executor_records import ExecutorRecords
    from loci.adapters.aws.sandbox.lambda_executors import LambdaExecutors
    from loci.adapters.aws.sandbox.machine import Machine
    from loci.code.parts import executor_bounds

    function = settings.aws.run_python_function
    if function is None:
        raise _not_deployed("Python")
    return LambdaExecutors(
        Machine(function, "LOCI_RUN_PYTHON_FUNCTION", _tenant_key(keyring), clients),
        ExecutorRecords(records, time.time),
        S3Blobs(settings.aws.executor_bucket or "", clients),
        _lender(settings, clients),
        replace(executor_bounds(settings), output_bytes=MAX_OUTPUT_BYTES),
        drawing=True,
        lake=S3Blobs(settings.aws.bucket or "", clients),
    )


def _sandbox(settings: Settings, keyring: Keyring, clients: Clients) -> "Sandbox":
    """TypeScript, in the function that the settings name."""
    from loci.adapters.aws.sandbox.lambda_sandbox import LambdaSandbox
    from loci.adapters.aws.sandbox.machine import Machine

    function = settings.aws.run_deno_function
    if function is None:
        raise _not_deployed("TypeScript")
    machine = Machine(function, "LOCI_RUN_DENO_FUNCTION", _tenant_key(keyring), clients)
    return LambdaSandbox(machine, _lender(settings, clients))


def _jobs(settings: Settings, clients: Clients) -> "Jobs | None":
    """Work that outlives its request, done by another function. Without one, a run goes on in this process."""
    if settings.aws.errand_function is None:
        return None
    from loci.adapters.aws.lambda_jobs import LambdaJobs

    return LambdaJobs(settings.aws.errand_function, "code", clients)


def _lender(settings: Settings, clients: Clients) -> "Lender":
    from loci.adapters.aws.sandbox.lent_rows import Lender

    return Lender(settings.aws.run_table or "", settings.aws.run_role or "", clients)


def _tenant_key(keyring: Keyring) -> bytes:
    """The key of the newest secret. A new secret makes new tenants, so every machine is started again."""
    return keyring.keys("tenant")[0]


def _not_deployed(language: str) -> Unavailable:
    return Unavailable(
        f"This deployment runs no {language}",
        "Run the code elsewhere, or on a Loci that does",
        code="SANDBOX_UNAVAILABLE",
    )


def for_tools(settings: Settings, clients: Clients) -> "ToolAdapters":
    """Tool servers, which the function that the settings name reaches for all others."""
    from loci.adapters.aws.kms_box import KmsBox
    from loci.adapters.aws.lambda_tool_servers import LambdaToolServers
    from loci.adapters.tool_servers.authorization_servers import HttpAuthorizationServers
    from loci.tools.parts import ToolAdapters

    servers = LambdaToolServers(settings.aws.connect_function, clients)
    return ToolAdapters(
        KmsBox(settings.aws.secret_key, clients),
        lambda _, __: servers,
        HttpAuthorizationServers(only_public=True),
        _no_variable,
        ask_later=servers.ask_later,
        only_public=True,
    )


def for_connections(settings: Settings, clients: Clients, *, only_public: bool) -> "ToolAdapters":
    """Tool servers, as that function itself reaches them."""
    from loci.adapters.aws.kms_box import KmsBox
    from loci.adapters.tool_servers.authorization_servers import HttpAuthorizationServers
    from loci.tools.parts import ToolAdapters

    box, servers = KmsBox(settings.aws.secret_key, clients), partial(_reached_servers, only_public=only_public)
    who_gives_tokens = HttpAuthorizationServers(only_public=only_public)
    return ToolAdapters(box, servers, who_gives_tokens, _no_variable, only_public=only_public)


def _reached_servers(changed: "Changed", reaching: "Reaching", *, only_public: bool) -> "ToolServers":
    from loci.adapters.tool_servers.connections import Connections
    from loci.tools.reaching import ReachedServers

    return ReachedServers(Connections(changed, only_public=only_public), reaching)


def _no_variable(_: str) -> None:
    """Entries may name none: all owners' servers would share those of the function, which are Loci's."""


def _for_workflows(settings: Settings, clients: Clients) -> "WorkflowAdapters":
    """Workflows, moved on by the state machine that the settings name."""
    from loci.adapters.aws.workflow_engine import WorkflowMachine
    from loci.workflows.parts import WorkflowAdapters

    machine = settings.aws.workflow_machine
    if machine is None:
        raise Unavailable(
            "This deployment runs no workflows",
            "Call the tools one by one, or set LOCI_WORKFLOW_MACHINE to the machine of the stack",
            code="WORKFLOWS_UNAVAILABLE",
        )
    # Whether a function still runs is not known: a lease is over when its time is.
    return WorkflowAdapters(lambda _, runs: WorkflowMachine(machine, runs, clients), lambda _: False)
