"""The composition root: the only file that names adapters."""

import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from loci.api_keys import ApiKeys
from loci.app import App
from loci.code.bridge import NoTools
from loci.code.no_files import NoFiles
from loci.code.results_cache import ResultsCache
from loci.code.runner import Runner
from loci.code.typescript import TypeScript
from loci.documents.alike import Likeness
from loci.documents.catalog import Catalog
from loci.documents.clusters import Clusters
from loci.documents.edits import Edits
from loci.documents.feed import Feed
from loci.documents.fill import Fill
from loci.documents.graphs import Graphs
from loci.documents.ingest import Ingest
from loci.documents.intake import Intake
from loci.documents.library import Library
from loci.documents.read_lately import ReadLately
from loci.documents.remarks import Remarks
from loci.documents.similar import Similar
from loci.documents.writer import Writer
from loci.errors import Misconfigured
from loci.ports import (
    BlobStore,
    DocumentIndex,
    Embedder,
    Executors,
    LanguageModel,
    LocalLinks,
    RecordStore,
    Reranker,
    Sandbox,
    Turns,
)
from loci.scratchpad import Scratchpad
from loci.search.reading import Reader
from loci.search.search import Search
from loci.settings import Settings, load_settings
from loci.signing import SHORTEST_SECRET, Keyring
from loci.telemetry import Telemetry

if TYPE_CHECKING:
    from loci.adapters.aws.clients import Clients

DATABASE = "loci.db"


@dataclass(frozen=True, slots=True)
class _Adapters:
    """What the ports are made of, on one runtime."""

    keyring: Keyring
    records: RecordStore
    blobs: BlobStore
    local_links: LocalLinks | None
    index: DocumentIndex
    embedder: Embedder
    reranker: Reranker
    turns: Turns
    executors: Executors
    sandbox: Sandbox
    clients: "Clients | None" = None


@dataclass(frozen=True, slots=True)
class _Found:
    """What finds documents, on AWS."""

    index: DocumentIndex
    embedder: Embedder
    reranker: Reranker


def build_app(settings: Settings | None = None) -> App:
    """Loci on the adapters that the settings name."""
    settings = settings or load_settings()
    # numpy reads it when it is loaded, at the first search. Threads of its BLAS wait busily for the next product, on
    # the processors that the model and other searches need: with them a search took twice the processor time.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    made = _embedded(settings) if settings.mode == "embedded" else _aws(settings)
    catalog = Catalog(made.records)
    writer = Writer(catalog, made.index, made.embedder, time.time)
    language_model = _language_model(settings, made.records, made.clients)
    model_name, seconds = settings.language_model or "", settings.language_model_seconds
    reader = Reader(language_model, model_name, seconds=seconds)
    graphs, likeness = Graphs(catalog, made.index), Likeness(made.index, made.embedder)
    library = Library(catalog, writer, made.blobs)
    telemetry, scratchpad = Telemetry(settings.log_level), Scratchpad(made.records, made.blobs, time.time)
    return App(
        settings=settings,
        telemetry=telemetry,
        keyring=made.keyring,
        records=made.records,
        blobs=made.blobs,
        local_links=made.local_links,
        scratchpad=scratchpad,
        api_keys=ApiKeys(made.records, time.time),
        index=made.index,
        embedder=made.embedder,
        search=Search(made.index, made.embedder, made.reranker, reader, rerank_seconds=settings.rerank_seconds),
        documents=library,
        edits=Edits(catalog, writer, made.records, made.blobs, made.turns, time.time, _own_roots(settings)),
        ingest=Ingest(catalog, writer),
        fill=Fill(catalog, writer),
        feed=Feed(catalog, library, writer),
        catalog=catalog,
        graphs=graphs,
        likeness=likeness,
        similar=Similar(likeness),
        clusters=Clusters(graphs, likeness),
        read_lately=ReadLately(made.records, time.time),
        remarks=Remarks(language_model, model_name, seconds=seconds),
        runner=Runner(made.records, made.executors, NoFiles(), time.time),
        typescript=_typescript(settings, made.sandbox, scratchpad, telemetry),
    )


def _typescript(settings: Settings, sandbox: Sandbox, scratchpad: Scratchpad, telemetry: Telemetry) -> TypeScript:
    own = settings.mode == "embedded"  # on AWS there are no files
    return TypeScript(
        sandbox,
        NoTools(),
        scratchpad,
        telemetry,
        cache=ResultsCache() if settings.code_cache else None,
        read_roots=settings.code_read_paths if own else (),
        private=settings.data.absolute() if own else None,
    )


def _own_roots(settings: Settings) -> tuple[Path, ...]:
    return settings.write_roots if settings.mode == "embedded" else ()  # on AWS there are no folders


def build_intake(settings: Settings | None = None) -> Intake:
    """What makes documents of a deployment's uploads. It signs nothing, so it needs none of the server's secrets."""
    from loci.adapters.aws.clients import Clients
    from loci.adapters.aws.uploads import S3Uploads

    settings = settings or load_settings()
    clients = Clients()
    records, blobs = _cloud_stores(settings, clients)
    found = _cloud_search(settings, clients)
    catalog = Catalog(records)
    writer = Writer(catalog, found.index, found.embedder, time.time)
    uploads = S3Uploads(settings.bucket or "", clients)
    return Intake(uploads, Library(catalog, writer, blobs), writer, Telemetry(settings.log_level))


def keys_of_stack(stack: str) -> ApiKeys:
    """The API keys of a deployment on AWS. They need none of the secrets that its server has."""
    from loci.adapters.aws.clients import Clients
    from loci.adapters.aws.stack import settings_of

    clients = Clients()
    records, _ = _cloud_stores(Settings.model_validate(settings_of(stack, clients)), clients)
    return ApiKeys(records, time.time)


def checked_database(settings: Settings) -> str | None:
    """What the embedded database is, in words; None where there is none. An error says what is wrong with it."""
    from loci.adapters.embedded.checkup import checked

    return checked(settings.data / DATABASE)


def signing_secrets(settings: Settings) -> int:
    """How many signing secrets a deployment on AWS accepts."""
    from loci.adapters.aws.clients import Clients

    return len(_given(settings) or _stored(settings, Clients()))


def rotate_secret(name: str, token: str, step: str) -> None:
    """One step of the rotation of a deployment's signing secret."""
    from loci.adapters.aws.clients import Clients
    from loci.adapters.aws.secrets import rotate

    rotate(name, token, step, Clients())


def _embedded(settings: Settings) -> _Adapters:
    from loci.adapters.embedded.blobs import FolderBlobs  # each runtime loads its own adapters only
    from loci.adapters.embedded.executors.later import LaterExecutors
    from loci.adapters.embedded.folder import kept_secret, make_writable
    from loci.adapters.embedded.index import SqliteIndex
    from loci.adapters.embedded.later_sandbox import LaterSandbox
    from loci.adapters.embedded.records import SqliteRecords
    from loci.adapters.embedded.sqlite import Database
    from loci.adapters.embedded.turns import FolderTurns

    folder = settings.data
    make_writable(folder)
    keyring = Keyring(_given(settings) or [kept_secret(folder / "secret")])
    blobs = FolderBlobs(folder / "blobs", keyring.seal("link"), settings.base_url, time.time)
    database = Database(folder / DATABASE)
    turns = FolderTurns(folder / "turns")
    embedder, reranker = _local_inference(settings)
    records = SqliteRecords(database, time.time)
    executors = LaterExecutors(partial(_executors, settings, records, blobs))
    sandbox = LaterSandbox(partial(_sandbox, settings))
    index = SqliteIndex(database)
    return _Adapters(keyring, records, blobs, blobs, index, embedder, reranker, turns, executors, sandbox)


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


def _aws(settings: Settings) -> _Adapters:
    from loci.adapters.aws.clients import Clients
    from loci.adapters.aws.no_executors import NoExecutors
    from loci.adapters.aws.no_sandbox import NoSandbox
    from loci.adapters.aws.turns import RecordTurns

    clients = Clients()
    records, blobs = _cloud_stores(settings, clients)
    turns = RecordTurns(records, time.time)
    keyring = Keyring(_given(settings) or _stored(settings, clients))
    found = _cloud_search(settings, clients)
    return _Adapters(
        *(keyring, records, blobs, None, found.index, found.embedder, found.reranker, turns),
        *(NoExecutors(), NoSandbox(), clients),
    )


def _cloud_search(settings: Settings, clients: "Clients") -> _Found:
    from loci.adapters.aws.index import OpenSearchIndex
    from loci.adapters.aws.inference import LambdaEmbedder, LambdaInference, LambdaReranker
    from loci.adapters.aws.no_index import NoIndex
    from loci.adapters.aws.opensearch import Domain

    url, name = settings.search_url, settings.search_index
    index = OpenSearchIndex(Domain(url), name) if url else NoIndex()
    if settings.inference_function is None:
        return _Found(index, *_local_inference(settings))
    inference = LambdaInference(settings.inference_function, clients)
    return _Found(index, LambdaEmbedder(inference), LambdaReranker(inference))


def _local_inference(settings: Settings) -> tuple[Embedder, Reranker]:
    from loci.adapters.embedded.inference.embedder import OnnxEmbedder
    from loci.adapters.embedded.inference.in_use import InUse
    from loci.adapters.embedded.inference.reranker import OnnxReranker
    from loci.models.shelf import Shelf

    shelf = Shelf(settings.models_folder)
    return (
        OnnxEmbedder(InUse(shelf, "embedder", settings.embedder)),
        OnnxReranker(InUse(shelf, "reranker", settings.reranker)),
    )


def _language_model(settings: Settings, records: RecordStore, clients: "Clients | None") -> LanguageModel | None:
    """The one that is set, within the day's allowance of tokens."""
    if settings.language_model is None:
        return None
    from loci.adapters.language_model.allowance import DailyAllowance  # only where there is one
    from loci.adapters.language_model.checked import CheckedModel

    provider, _, name = settings.language_model.partition(":")
    if provider == "bedrock":
        from loci.adapters.aws.language import BedrockModel

        writer = BedrockModel(name, clients)
    else:
        from loci.adapters.language_model.openai import OpenAiModel

        writer = OpenAiModel(name, settings.language_model_url, _language_model_key(settings, clients))
    return CheckedModel(writer, DailyAllowance(records, settings.language_model_daily_tokens, time.time))


def _language_model_key(settings: Settings, clients: "Clients | None") -> str | Callable[[], str] | None:
    if settings.language_model_key:
        return settings.language_model_key.get_secret_value()
    secret = settings.language_model_key_from
    if secret is None or clients is None:
        return None
    from loci.adapters.aws.secrets import read_key

    return partial(read_key, secret, clients)


def _cloud_stores(settings: Settings, clients: "Clients") -> tuple[RecordStore, BlobStore]:
    from loci.adapters.aws.blobs import S3Blobs
    from loci.adapters.aws.records import DynamoRecords

    if settings.auth == "open":
        raise Misconfigured("auth = open would let everybody in", "In AWS mode set LOCI_AUTH=required")
    if not settings.table or not settings.bucket:
        raise Misconfigured("In AWS mode a table and a bucket are needed", "Set LOCI_TABLE and LOCI_BUCKET")
    blobs = S3Blobs(settings.bucket, clients)
    return DynamoRecords(settings.table, blobs, time.time, clients), blobs


def _given(settings: Settings) -> list[str]:
    given = [secret.get_secret_value() for secret in settings.secrets]
    if any(len(secret) < SHORTEST_SECRET for secret in given):
        raise Misconfigured(
            f"A signing secret has fewer than {SHORTEST_SECRET} characters", "Set longer ones in LOCI_SECRETS"
        )
    return given


def _stored(settings: Settings, clients: "Clients") -> list[str]:
    from loci.adapters.aws.secrets import read_secrets

    if not settings.secrets_from:
        raise Misconfigured("In AWS mode a signing secret is needed", "Set LOCI_SECRETS_FROM or LOCI_SECRETS")
    return read_secrets(settings.secrets_from, clients)
