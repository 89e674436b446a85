"""The composition root: the only file that names adapters."""

import os
import secrets
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from loci.api_keys import ApiKeys
from loci.app import App
from loci.documents.catalog import Catalog
from loci.documents.fill import Fill
from loci.documents.ingest import Ingest
from loci.documents.library import Library
from loci.documents.writer import Writer
from loci.errors import Misconfigured
from loci.ports import BlobStore, DocumentIndex, Embedder, LanguageModel, LocalLinks, RecordStore, Reranker
from loci.scratchpad import Scratchpad
from loci.search.reading import Reader
from loci.search.search import Search
from loci.settings import Settings, load_settings
from loci.signing import Keyring
from loci.telemetry import Telemetry

if TYPE_CHECKING:
    from loci.adapters.aws.clients import Clients

SHORTEST_SECRET = 32


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


def build_app(settings: Settings | None = None) -> App:
    """Loci on the adapters that the settings name."""
    settings = settings or load_settings()
    made = _embedded(settings) if settings.mode == "embedded" else _aws(settings)
    catalog = Catalog(made.records)
    writer = Writer(catalog, made.index, made.embedder, time.time)
    reader = Reader(
        _language_model(settings, made.records), settings.language_model or "", seconds=settings.language_model_seconds
    )
    return App(
        settings=settings,
        telemetry=Telemetry(settings.log_level),
        keyring=made.keyring,
        records=made.records,
        blobs=made.blobs,
        local_links=made.local_links,
        scratchpad=Scratchpad(made.records, made.blobs, time.time),
        api_keys=ApiKeys(made.records, time.time),
        index=made.index,
        embedder=made.embedder,
        search=Search(made.index, made.embedder, made.reranker, reader, rerank_seconds=settings.rerank_seconds),
        documents=Library(catalog, writer, made.blobs),
        ingest=Ingest(catalog, writer),
        fill=Fill(catalog, writer),
        catalog=catalog,
    )


def keys_of_stack(stack: str) -> ApiKeys:
    """The API keys of a deployment on AWS. They need none of the secrets that its server has."""
    from loci.adapters.aws.clients import Clients
    from loci.adapters.aws.stack import settings_of

    clients = Clients()
    records, _ = _cloud_stores(Settings.model_validate(settings_of(stack, clients)), clients)
    return ApiKeys(records, time.time)


def rotate_secret(name: str, token: str, step: str) -> None:
    """One step of the rotation of a deployment's signing secret."""
    from loci.adapters.aws.clients import Clients
    from loci.adapters.aws.secrets import rotate

    rotate(name, token, step, Clients())


def _embedded(settings: Settings) -> _Adapters:
    from loci.adapters.embedded.blobs import FolderBlobs  # each runtime loads its own adapters only
    from loci.adapters.embedded.index import SqliteIndex
    from loci.adapters.embedded.records import SqliteRecords
    from loci.adapters.embedded.sqlite import Database

    folder = settings.data
    _make_writable(folder)
    keyring = Keyring(_given(settings) or [_kept_secret(folder / "secret")])
    blobs = FolderBlobs(folder / "blobs", keyring.seal("link"), settings.base_url, time.time)
    database = Database(folder / "loci.db")
    embedder, reranker = _local_inference(settings)
    return _Adapters(
        keyring, SqliteRecords(database, time.time), blobs, blobs, SqliteIndex(database), embedder, reranker
    )


def _aws(settings: Settings) -> _Adapters:
    from loci.adapters.aws.clients import Clients
    from loci.adapters.aws.index import OpenSearchIndex
    from loci.adapters.aws.inference import LambdaEmbedder, LambdaInference, LambdaReranker
    from loci.adapters.aws.no_index import NoIndex
    from loci.adapters.aws.opensearch import Domain

    clients = Clients()
    records, blobs = _cloud_stores(settings, clients)
    keyring = Keyring(_given(settings) or _stored(settings, clients))
    index = OpenSearchIndex(Domain(settings.search_url), "loci") if settings.search_url else NoIndex()
    if settings.inference_function is None:
        return _Adapters(keyring, records, blobs, None, index, *_local_inference(settings))
    inference = LambdaInference(settings.inference_function, clients)
    return _Adapters(keyring, records, blobs, None, index, LambdaEmbedder(inference), LambdaReranker(inference))


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


def _language_model(settings: Settings, records: RecordStore) -> LanguageModel | None:
    """The one that is set, within the day's allowance of tokens."""
    if settings.language_model is None:
        return None
    from loci.adapters.language_model.allowance import DailyAllowance  # only where there is one
    from loci.adapters.language_model.checked import CheckedModel

    provider, _, name = settings.language_model.partition(":")
    if provider == "bedrock":
        from loci.adapters.aws.language import BedrockModel

        writer = BedrockModel(name)
    else:
        from loci.adapters.language_model.openai import OpenAiModel

        key = settings.language_model_key
        writer = OpenAiModel(name, settings.language_model_url, key.get_secret_value() if key else None)
    return CheckedModel(writer, DailyAllowance(records, settings.language_model_daily_tokens, time.time))


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


def _kept_secret(path: Path) -> str:
    """The data folder's secret, made at the first start; of two first starts one wins for both."""
    try:
        if not path.exists():
            _make_secret(path)
        secret = path.read_text(encoding="ascii").strip()
    except OSError as error:
        raise Misconfigured(f"Cannot keep a secret in {path} ({error.strerror})", "Free some space there") from None
    if len(secret) < SHORTEST_SECRET:
        raise Misconfigured(f"{path} holds no secret", "Restore it from a copy, or remove it: sessions begin anew")
    return secret


def _make_secret(path: Path) -> None:
    scratch = path.with_name(f".secret-{secrets.token_hex(4)}")
    try:
        with os.fdopen(os.open(scratch, os.O_WRONLY | os.O_CREAT, 0o600), "w", encoding="ascii") as file:
            file.write(secrets.token_hex(32))
            file.flush()
            os.fsync(file.fileno())
        try:
            os.link(scratch, path)
        except FileExistsError:
            return
        except OSError:  # this file system has no links
            scratch.replace(path)
    finally:
        scratch.unlink(missing_ok=True)


def _make_writable(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        probe = folder / f".probe-{secrets.token_hex(4)}"
        probe.touch()
        probe.unlink()
    except OSError as error:
        raise Misconfigured(
            f"Cannot write to the data folder {folder} ({error.strerror})",
            "Choose another with --data DIR or LOCI_DATA",
        ) from None
