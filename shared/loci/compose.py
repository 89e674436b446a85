"""The composition root: the only door to what is assembled. Only it and `loci.composition` name adapters."""

import os
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

from loci.app import App
from loci.code.module import code_module
from loci.core.lazy import Lazy
from loci.core.settings import Settings, load_settings
from loci.core.telemetry import Telemetry
from loci.documents.module import documents_module
from loci.mcp.auth.api_keys import ApiKeys
from loci.mcp.module import Module
from loci.runtimes.adapters import Adapters
from loci.scratchpad.api import Scratchpad
from loci.scratchpad.module import scratchpad_module
from loci.web.module import web_module

if TYPE_CHECKING:
    from loci.code.api import Code
    from loci.documents.api import Documents
    from loci.documents.ingest.uploads import UploadIngest


def build_app(settings: Settings | None = None) -> App:
    """Loci on the adapters that the settings name."""
    settings = settings or load_settings()
    # numpy reads it when it is loaded, at the first search. Threads of its BLAS wait busily for the next product, on
    # the processors that the model and other searches need: with them a search took twice the processor time.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    made = _adapters(settings)
    telemetry, scratchpad = Telemetry(settings.log_level), Scratchpad(made.records, made.blobs, time.time)

    def documents() -> "Documents":
        from loci.runtimes.documents import documents

        return documents(settings, made.records, made.blobs, made.documents())

    def code() -> "Code":
        from loci.runtimes.code import code

        return code(settings, made.records, scratchpad, telemetry, made.code())

    return App(
        settings=settings,
        telemetry=telemetry,
        keyring=made.keyring,
        records=made.records,
        blobs=made.blobs,
        local_links=made.local_links,
        scratchpad=scratchpad,
        api_keys=ApiKeys(made.records, time.time),
        later_documents=Lazy(documents),
        later_code=Lazy(code),
        list_modules=modules,
    )


def modules(app: App) -> Sequence[Module]:
    """Every vertical: what is not in this list is not served."""
    return [scratchpad_module(app.scratchpad), documents_module(app), code_module(app), web_module(app)]


def _adapters(settings: Settings) -> Adapters:
    if settings.mode == "embedded":
        from loci.runtimes.local import embedded  # each runtime loads its own adapters only

        return embedded(settings)
    from loci.runtimes.aws import aws

    return aws(settings)


def build_intake(settings: Settings | None = None) -> "UploadIngest":
    """What makes documents of a deployment's uploads. It signs nothing, so it needs none of the server's secrets."""
    from loci.adapters.aws.clients import Clients
    from loci.adapters.aws.uploads import S3Uploads
    from loci.documents.catalog import Catalog
    from loci.documents.ingest.index_writer import IndexWriter
    from loci.documents.ingest.uploads import UploadIngest
    from loci.documents.library import Library
    from loci.runtimes.aws import for_documents, stores

    settings = settings or load_settings()
    clients = Clients()
    records, blobs = stores(settings, clients)
    made = for_documents(settings, records, clients)
    catalog = Catalog(records)
    writer = IndexWriter(catalog, made.index, made.embedder, time.time)
    library = Library(catalog, writer, blobs, made.turns)
    return UploadIngest(S3Uploads(settings.bucket or "", clients), library, Telemetry(settings.log_level))


def keys_of_stack(stack: str) -> ApiKeys:
    """The API keys of a deployment on AWS. They need none of the secrets that its server has."""
    from loci.adapters.aws.clients import Clients
    from loci.adapters.aws.stack import settings_of
    from loci.runtimes.aws import stores

    clients = Clients()
    records, _ = stores(Settings.model_validate(settings_of(stack, clients)), clients)
    return ApiKeys(records, time.time)


def checked_database(settings: Settings) -> str | None:
    """What the embedded database is, in words; None where there is none. An error says what is wrong with it."""
    from loci.adapters.local.sqlite import check_file
    from loci.runtimes.local import DATABASE

    return check_file(settings.data / DATABASE)


def signing_secrets(settings: Settings) -> int:
    """How many signing secrets a deployment on AWS accepts."""
    from loci.adapters.aws.clients import Clients
    from loci.runtimes.secrets import given_secrets, stored_secrets

    return len(given_secrets(settings) or stored_secrets(settings, Clients()))


def rotate_secret(name: str, token: str, step: str) -> None:
    """One step of the rotation of a deployment's signing secret."""
    from loci.adapters.aws.clients import Clients
    from loci.adapters.aws.secrets import rotate

    rotate(name, token, step, Clients())
