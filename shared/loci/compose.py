"""The composition root: the only file that names adapters."""

import os
import secrets
import time
from pathlib import Path
from typing import TYPE_CHECKING

from loci.api_keys import ApiKeys
from loci.app import App
from loci.errors import Misconfigured
from loci.ports import BlobStore, LocalLinks, RecordStore
from loci.scratchpad import Scratchpad
from loci.settings import Settings, load_settings
from loci.signing import Keyring
from loci.telemetry import Telemetry

if TYPE_CHECKING:
    from loci.adapters.aws.clients import Clients

SHORTEST_SECRET = 32


def build_app(settings: Settings | None = None) -> App:
    """Loci on the adapters that the settings name."""
    settings = settings or load_settings()
    if settings.mode == "embedded":
        _make_writable(settings.data)
        keyring = Keyring(_given(settings) or [_kept_secret(settings.data / "secret")])
        records, blobs, links = _embedded(settings, keyring)
    else:
        from loci.adapters.aws.clients import Clients  # each runtime loads its own adapters only

        clients = Clients()
        keyring = Keyring(_given(settings) or _stored(settings, clients))
        (records, blobs), links = _aws(settings, clients), None
    return App(
        settings=settings,
        telemetry=Telemetry(settings.log_level),
        keyring=keyring,
        records=records,
        blobs=blobs,
        local_links=links,
        scratchpad=Scratchpad(records, blobs, time.time),
        api_keys=ApiKeys(records, time.time),
    )


def keys_of_stack(stack: str) -> ApiKeys:
    """The API keys of a deployment on AWS. They need none of the secrets that its server has."""
    from loci.adapters.aws.clients import Clients
    from loci.adapters.aws.stack import settings_of

    clients = Clients()
    records, _ = _aws(Settings.model_validate(settings_of(stack, clients)), clients)
    return ApiKeys(records, time.time)


def rotate_secret(name: str, token: str, step: str) -> None:
    """One step of the rotation of a deployment's signing secret."""
    from loci.adapters.aws.clients import Clients
    from loci.adapters.aws.secrets import rotate

    rotate(name, token, step, Clients())


def _embedded(settings: Settings, keyring: Keyring) -> tuple[RecordStore, BlobStore, LocalLinks]:
    from loci.adapters.embedded.blobs import FolderBlobs  # each runtime loads its own adapters only
    from loci.adapters.embedded.records import SqliteRecords
    from loci.adapters.embedded.sqlite import Database

    folder = settings.data
    blobs = FolderBlobs(folder / "blobs", keyring.seal("link"), settings.base_url, time.time)
    return SqliteRecords(Database(folder / "loci.db"), time.time), blobs, blobs


def _aws(settings: Settings, clients: "Clients") -> tuple[RecordStore, BlobStore]:
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
