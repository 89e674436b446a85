"""Loci in an AWS account. Its clients are made at their first calls, and adapters are loaded when they are needed."""

import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING

from loci.adapters.aws.blobs import S3Blobs
from loci.adapters.aws.clients import Clients
from loci.adapters.aws.event_log import RecordEventLog
from loci.adapters.aws.records import DynamoRecords
from loci.app import App
from loci.core.diagnosis import Finding, counted
from loci.core.errors import Misconfigured, Refused, Unavailable
from loci.core.identity import Owner, UnnamedOwner
from loci.core.json import iso
from loci.core.settings import Settings, load_settings
from loci.core.signing import Keyring, given_secrets
from loci.core.storage_keys import ARRIVING, CALLS, FILES_IN, UPLOADS, UPLOADS_A_CALL, owner_and_rest, owner_prefix
from loci.runtimes.providers import Providers

if TYPE_CHECKING:
    from loci.adapters.aws.index_fill import IndexFill
    from loci.adapters.aws.sandbox.run_credentials import Lender
    from loci.adapters.aws.upload_queue import UploadQueue
    from loci.code.parts import CodeAdapters
    from loci.code.ports import Executors, Jobs, Sandbox
    from loci.documents.ingest.uploads import UploadIngest
    from loci.files.parts import FileAdapters
    from loci.files.ports import FileReader
    from loci.gateway.connect_function import ServerConnector
    from loci.gateway.parts import ToolAdapters
    from loci.gateway.ports import Changed, ToolServers
    from loci.gateway.server_config import ServerResolver
    from loci.search.document_index import DocumentIndex, SearchAdapters
    from loci.workflows.parts import WorkflowAdapters

EXTRACT_TENANTS = b"extract"
MAX_OUTPUT_BYTES = 1 << 19
"""The most bytes of output of a run. The answer of a function has at most 6 MB, with the figures."""


class AwsRuntime(Providers):
    """Everything in the resources that the settings name."""

    local_links = None

    def __init__(
        self, settings: Settings, clients: Clients | None = None, *, signs: bool = True, at_once: bool = True
    ) -> None:
        """`signs=False`: the process signs nothing, and so it needs none of the server's secrets.

        `at_once`: a search sees a new document as soon as it is written.
        """
        if settings.auth == "open":
            raise Misconfigured("auth = open would let everybody in", "In AWS mode set LOCI_AUTH=required")
        if not settings.aws.table or not settings.aws.bucket:
            raise Misconfigured("In AWS mode a table and a bucket are needed", "Set LOCI_TABLE and LOCI_BUCKET")
        self.clients = clients or Clients()
        self.bucket = settings.aws.bucket
        self.blobs = S3Blobs(self.bucket, self.clients)
        self.arriving = S3Blobs(self.bucket, self.clients, ARRIVING)
        super().__init__(settings, DynamoRecords(settings.aws.table, self.blobs, time.time, self.clients))
        self.event_log = RecordEventLog(self.records)
        kept = settings.call_log_days * 86_400.0
        self.call_log = RecordEventLog(self.records, kind=CALLS, kept_seconds=kept, keeps_all=True)
        self._signs = signs
        self._at_once = at_once
        self.keyring = Keyring(signing_secrets(settings, self.clients) if signs else ())
        if signs:
            _check_runs(settings)

    def read_public(self, url: str) -> bytes:
        """The bytes behind a public https address, read by the only function that reaches other people's servers."""
        from loci.adapters.aws.lambda_tool_servers import LambdaToolServers

        return LambdaToolServers(self.settings.aws.connect_function, self.clients).read_public(url)

    def remove_rest(self, owner: Owner) -> int:
        """Remove the owner's uploads, and the files of executors."""
        from loci.adapters.aws.blobs import remove_versions

        executors = self.settings.aws.executor_bucket
        number = S3Blobs(executors, self.clients).remove_all(owner) if executors else 0
        prefixes = (one for folder in (UPLOADS, FILES_IN) for one in self._prefixes(folder, owner))
        return number + sum(remove_versions(self.clients, self.bucket, one) for one in prefixes)

    def _prefixes(self, folder: str, owner: Owner) -> list[str]:
        """The prefixes of the owner's objects in the folder. They have names, so that of an unnamed owner is found."""
        from loci.adapters.aws.blobs import folders_of_versions

        if not isinstance(owner, UnnamedOwner):
            return [owner_prefix(folder, owner)]
        found: list[str] = []
        for tenant in folders_of_versions(self.clients, self.bucket, f"{folder}/"):
            for prefix in folders_of_versions(self.clients, self.bucket, tenant):
                with suppress(Refused):  # it names nobody
                    if owner_and_rest(folder, f"{prefix}any")[0].key == owner.key:
                        found.append(prefix)
        return found

    def backups(self) -> list[str]:
        from loci.adapters.aws.records import recovery_days

        days = recovery_days(self.settings.aws.table or "", self.clients)
        until = iso(time.time() + days * 24 * 3600)[:10]
        told = [f"The table can be restored as it was, with these records, until {until} ({days} days)"] if days else []
        if self.settings.aws.search_url is not None and self.settings.aws.search != "vectors":
            told.append("OpenSearch keeps its own snapshots of the domain for 14 days")
        return [*told, "Logs name owners only by a hash, and are kept as long as the stage says (log_days)"]

    def check_database(self) -> None:
        """Return None: there is no database file."""

    def search(self) -> "SearchAdapters":
        """Make the index, and the models of the inference function or, without one, of this machine."""
        from loci.adapters.aws.index_fill import FillNotes
        from loci.adapters.aws.inference import LambdaEmbedder, LambdaInference, LambdaReranker
        from loci.adapters.aws.write_locks import RecordWriteLocks
        from loci.search.document_index import SearchAdapters

        if self.settings.aws.inference_function is None:
            from loci.runtimes.local import local_inference

            embedder, reranker = local_inference(self.settings)
        else:
            inference = LambdaInference(self.settings.aws.inference_function, self.clients)
            embedder, reranker = LambdaEmbedder(inference), LambdaReranker(inference)
        locks = RecordWriteLocks(self.records, time.time)
        return SearchAdapters(self._index(), embedder, reranker, locks, FillNotes(self.records))

    def _index(self) -> "DocumentIndex":
        """The index in S3 Vectors or in the domain, if there is one."""
        on_aws = self.settings.aws
        if on_aws.search == "vectors":
            from loci.adapters.aws.vector_index import VectorIndex

            if on_aws.vector_bucket is None:
                raise Misconfigured("The index needs a vector bucket", "Set LOCI_VECTOR_BUCKET to the one of the stack")
            return VectorIndex(on_aws.vector_bucket, self.records, self.clients)
        if on_aws.search_url is None:
            from loci.adapters.aws.no_index import NoIndex

            return NoIndex()
        from loci.adapters.aws.index import OpenSearchIndex
        from loci.adapters.aws.opensearch import OpenSearchCluster

        cluster, shards = OpenSearchCluster(on_aws.search_url), on_aws.search_shards
        return OpenSearchIndex(cluster, on_aws.search_index, shards=shards, at_once=self._at_once)

    def files(self) -> "FileAdapters":
        """Make the adapters that take files in.

        A process that signs nothing is the ingestion, which reads them. Others send it what is to be read.
        """
        from loci.adapters.aws.file_uploads import S3FileUploads
        from loci.adapters.aws.jobs import QueueFileJobs
        from loci.files.parts import FileAdapters

        queue = self.settings.aws.ingest_queue if self._signs else None
        if not queue:
            return FileAdapters(self._file_reader)
        uploads = S3FileUploads(self.bucket, self.clients, self.keyring.seal("file parts"))
        return FileAdapters(self._file_reader, uploads=uploads, jobs=QueueFileJobs(queue, self.clients))

    def _file_reader(self) -> "FileReader":
        """Reads files in the function that the settings name."""
        from loci.adapters.aws.sandbox.lambda_reader import LambdaReader, NoReader
        from loci.adapters.aws.sandbox.machine import Machine

        on_aws = self.settings.aws
        if on_aws.extract_function is None:
            return NoReader()
        if on_aws.executor_bucket is None:
            advice = "Set LOCI_EXECUTOR_BUCKET to the bucket of the stack"
            raise Misconfigured("Files that are read need a bucket", advice)
        # The ingestion knows no secret. The names of its tenants need not be secret either: only its role may invoke.
        machine = Machine(on_aws.extract_function, "LOCI_EXTRACT_FUNCTION", EXTRACT_TENANTS, self.clients)
        return LambdaReader(machine, self.blobs, S3Blobs(on_aws.executor_bucket, self.clients))

    def code(self) -> "CodeAdapters":
        from loci.code.parts import CodeAdapters

        return CodeAdapters(self._executors, self._sandbox, self._jobs())

    def _executors(self) -> "Executors":
        """Python, in the function that the settings name."""
        from loci.adapters.aws.sandbox.executor_records import ExecutorRecords
        from loci.adapters.aws.sandbox.lambda_executors import LambdaExecutors
        from loci.adapters.aws.sandbox.machine import Machine
        from loci.code.parts import executor_bounds

        on_aws = self.settings.aws
        if on_aws.run_python_function is None:
            raise _not_deployed("Python")
        return LambdaExecutors(
            Machine(on_aws.run_python_function, "LOCI_RUN_PYTHON_FUNCTION", self._tenant_key(), self.clients),
            ExecutorRecords(self.records, time.time),
            S3Blobs(on_aws.executor_bucket or "", self.clients),
            self._lender(),
            replace(executor_bounds(self.settings), output_bytes=MAX_OUTPUT_BYTES),
            lake=self.blobs,
        )

    def _sandbox(self) -> "Sandbox":
        """TypeScript, in the function that the settings name."""
        from loci.adapters.aws.sandbox.lambda_sandbox import LambdaSandbox
        from loci.adapters.aws.sandbox.machine import Machine

        function = self.settings.aws.run_deno_function
        if function is None:
            raise _not_deployed("TypeScript")
        machine = Machine(function, "LOCI_RUN_DENO_FUNCTION", self._tenant_key(), self.clients)
        return LambdaSandbox(machine, self._lender())

    def _jobs(self) -> "Jobs | None":
        """Work that outlives its request, done by another function. Without one, a run goes on in this process."""
        if self.settings.aws.errand_function is None:
            return None
        from loci.adapters.aws.jobs import LambdaJobs

        return LambdaJobs(self.settings.aws.errand_function, "code", self.clients)

    def _lender(self) -> "Lender":
        from loci.adapters.aws.sandbox.run_credentials import Lender

        return Lender(self.settings.aws.run_table or "", self.settings.aws.run_role or "", self.clients)

    def _tenant_key(self) -> bytes:
        """The key of the newest secret. A new secret makes new tenants, so every machine is started again."""
        return self.keyring.keys("tenant")[0]

    def tools(self) -> "ToolAdapters":
        """Tool servers, which the function that the settings name reaches for all others."""
        from loci.adapters.aws.lambda_tool_servers import LambdaToolServers

        servers = LambdaToolServers(self.settings.aws.connect_function, self.clients)
        return replace(self._tools(lambda _, __: servers, only_public=True), ask_later=servers.ask_later)

    def connections(self, *, only_public: bool) -> "ToolAdapters":
        """Tool servers, as that function itself reaches them."""
        from loci.adapters.aws.tool_functions import ToolFunctions
        from loci.adapters.tool_servers.connections import Connections
        from loci.gateway.server_config import RedactedServers

        functions = ToolFunctions(self.clients, self.settings.aws.tool_functions)

        def servers(changed: "Changed", resolver: "ServerResolver") -> "ToolServers":
            return RedactedServers(Connections(changed, only_public=only_public, invoke=functions.invoke), resolver)

        return self._tools(servers, only_public=only_public)

    def _tools(
        self, servers: "Callable[[Changed, ServerResolver], ToolServers]", *, only_public: bool
    ) -> "ToolAdapters":
        from loci.adapters.aws.kms_box import KmsBox
        from loci.adapters.tool_servers.authorization_servers import HttpAuthorizationServers
        from loci.gateway.parts import ToolAdapters

        box = KmsBox(self.settings.aws.secret_key, self.clients)
        token_givers = HttpAuthorizationServers(only_public=only_public)
        return ToolAdapters(box, servers, token_givers, _no_variable, only_public=only_public)

    def workflows(self) -> "WorkflowAdapters":
        """Workflows, moved on by the state machine that the settings name."""
        from loci.adapters.aws.workflow_engine import WorkflowMachine
        from loci.workflows.parts import WorkflowAdapters

        machine = self.settings.aws.workflow_machine
        if machine is None:
            raise Unavailable(
                "This deployment runs no workflows",
                "Call the tools one by one, or set LOCI_WORKFLOW_MACHINE to the machine of the stack",
                code="WORKFLOWS_UNAVAILABLE",
            )
        # Whether a function still runs is not known: a lease is over when its time is.
        return WorkflowAdapters(lambda _, runs: WorkflowMachine(machine, runs, self.clients), lambda _: False)


def signing_secrets(settings: Settings, clients: Clients | None = None) -> list[str]:
    """The secrets of the settings, else those in Secrets Manager, newest first."""
    if given := given_secrets(settings):
        return given
    from loci.adapters.aws.secrets import read_secrets

    if not settings.aws.secrets_from:
        raise Misconfigured("In AWS mode a signing secret is needed", "Set LOCI_SECRETS_FROM or LOCI_SECRETS")
    return read_secrets(settings.aws.secrets_from, clients or Clients())


def settings_of_stack(stack: str) -> Settings:
    """The settings of a deployment's gateway."""
    from loci.adapters.aws.stack import gateway_settings

    return Settings.model_validate(gateway_settings(stack, Clients()))


def check_alarms(stack: str) -> Finding | None:
    """Check that somebody is told of the alarms of a deployment, if it has any."""
    from loci.adapters.aws.stack import alarm_subscribers

    told = alarm_subscribers(stack, Clients())
    if told == 0:
        advice = "Set alarm_email in cdk.json and deploy again, or confirm the mail that AWS sent"
        return Finding("alarms", "warning", "Nobody is told of alarms", advice)
    return Finding("alarms", "ok", f"Alarms go to {counted(told, 'subscriber')}") if told else None


def endpoint_of_stack(stack: str) -> str:
    """The URL of a deployment's MCP endpoint."""
    from loci.adapters.aws.stack import endpoint_of

    return endpoint_of(stack, Clients())


def app_of_stack(stack: str, *, whole: bool = False) -> App:
    """A deployment, as commands on another machine reach it: without the secrets of its server.

    Its stores alone, or `whole`: as its gateway is set, whose settings not everybody may read.
    """
    from loci.adapters.aws.stack import gateway_settings, settings_of

    clients = Clients()
    settings = Settings.model_validate((gateway_settings if whole else settings_of)(stack, clients))
    return App(settings, AwsRuntime(settings, clients, signs=False))


def build_upload_queue(settings: Settings | None = None) -> "UploadQueue":
    """Build what ingests a deployment's uploads."""
    from loci.adapters.aws.upload_queue import FileArrivals, UploadQueue

    settings = settings or load_settings()
    runtime = AwsRuntime(settings, signs=False, at_once=False)
    app = App(settings, runtime)
    files = FileArrivals(runtime.bucket, runtime.blobs, runtime.clients, app.files.parts)
    fill = _index_fill(app, runtime, settings.aws.ingest_queue) if settings.aws.ingest_queue else None
    # A write to S3 Vectors is a few requests to services that take many at once. A domain gains nothing by it.
    at_once = UPLOADS_A_CALL if settings.aws.search == "vectors" else 1
    ingest, on_aws = upload_ingest(app, runtime.clients), settings.aws
    return UploadQueue(
        ingest, runtime.clients, on_aws.ingest_queue, on_aws.aside_queue, at_once, files, fill, app.finish
    )


def _index_fill(app: App, runtime: AwsRuntime, queue: str) -> "IndexFill":
    from loci.adapters.aws.index_fill import IndexFill
    from loci.documents.ingest.index_writer import PARSER_VERSION
    from loci.files.file import READER_VERSION

    on_aws, documents = app.settings.aws, app.documents.upkeep
    index = " ".join((on_aws.search_url or on_aws.search, on_aws.vector_bucket or on_aws.search_index))

    def name() -> str:
        return f"{index} {documents.model()} {PARSER_VERSION}.{READER_VERSION}"

    keys = runtime.blobs.owner_keys
    return IndexFill(name, runtime.records, keys, documents, app.files.upkeep, queue, runtime.clients)


def upload_ingest(app: App, clients: Clients | None = None) -> "UploadIngest":
    """Build the ingest of documents that were uploaded into the bucket."""
    from loci.adapters.aws.uploads import S3Uploads
    from loci.documents.ingest.uploads import UploadIngest

    uploads = S3Uploads(app.settings.aws.bucket or "", clients or Clients())
    return UploadIngest(uploads, app.documents.parts.library, app.telemetry, app.tell)


def fit_index(app: App) -> str | None:
    """Give an index in OpenSearch the shards that it should have; return what was done."""
    from loci.adapters.aws.index import OpenSearchIndex

    index = app.documents.parts.index
    shards = index.fit() if isinstance(index, OpenSearchIndex) else None
    return f"Copied the index into one with {counted(shards, 'shard')}" if shards else None


def build_answering(settings: Settings | None = None, *, only_public: bool = True) -> "ServerConnector":
    """Build what reaches the tool servers of a deployment's owners."""
    from loci.events.api import Events
    from loci.gateway.connect_function import ServerConnector
    from loci.gateway.parts import build_tool_list
    from loci.runtimes.local import read_public

    runtime = AwsRuntime(settings or load_settings(), signs=False)
    events = Events(runtime.event_log)
    tool_list = build_tool_list(runtime.records, runtime.connections(only_public=only_public), events.tell)
    return ServerConnector(tool_list, read_public, events.finish)


def _check_runs(settings: Settings) -> None:
    on_aws = settings.aws
    if (on_aws.run_python_function or on_aws.run_deno_function) and not (on_aws.run_role and on_aws.run_table):
        advice = "Set LOCI_RUN_ROLE and LOCI_RUN_TABLE to the role and the table of the stack"
        raise Misconfigured("Runs of code need rows to be lent", advice)
    if on_aws.run_python_function and not on_aws.executor_bucket:
        raise Misconfigured("Executors need a bucket", "Set LOCI_EXECUTOR_BUCKET to the bucket of the stack")


def _not_deployed(language: str) -> Unavailable:
    advice = "Run the code elsewhere, or on a Loci that does"
    return Unavailable(f"This deployment runs no {language}", advice, code="SANDBOX_UNAVAILABLE")


def _no_variable(_: str) -> None:
    """Return no variable: all servers would share the variables of the function, which are Loci's."""
