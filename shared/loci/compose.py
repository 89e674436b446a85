"""The composition root: the only door to what is assembled. Only it and `loci.composition` name adapters."""

import os
import time
from typing import TYPE_CHECKING

from loci.api_keys import ApiKeys
from loci.app import App
from loci.composition.adapters import Adapters
from loci.later import Later
from loci.scratchpad import Scratchpad
from loci.settings import Settings, load_settings
from loci.telemetry import Telemetry

if TYPE_CHECKING:
    from loci.code.parts import Code
    from loci.documents.intake import Intake
    from loci.documents.parts import Documents


def build_app(settings: Settings | None = None) -> App:
    """Loci on the adapters that the settings name."""
    settings = settings or load_settings()
    # numpy reads it when it is loaded, at the first search. Threads of its BLAS wait busily for the next product, on
    # the processors that the model and other searches need: with them a search took twice the processor time.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    made = _adapters(settings)
    telemetry, scratchpad = Telemetry(settings.log_level), Scratchpad(made.records, made.blobs, time.time)

    def documents() -> "Documents":
        from loci.composition.documents import documents

        return documents(settings, made.records, made.blobs, made.documents())

    def code() -> "Code":
        from loci.composition.code import code

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
        later_documents=Later(documents),
        later_code=Later(code),
    )


def _adapters(settings: Settings) -> Adapters:
    if settings.mode == "embedded":
        from loci.composition.embedded import embedded  # each runtime loads its own adapters only

        return embedded(settings)
    from loci.composition.aws import aws

    return aws(settings)


def build_intake(settings: Settings | None = None) -> "Intake":
    """What makes documents of a deployment's uploads. It signs nothing, so it needs none of the server's secrets."""
    from loci.adapters.aws.clients import Clients
    from loci.adapters.aws.uploads import S3Uploads
    from loci.composition.aws import for_documents, stores
    from loci.documents.catalog import Catalog
    from loci.documents.intake import Intake
    from loci.documents.library import Library
    from loci.documents.writer import Writer

    settings = settings or load_settings()
    clients = Clients()
    records, blobs = stores(settings, clients)
    made = for_documents(settings, records, clients)
    catalog = Catalog(records)
    writer = Writer(catalog, made.index, made.embedder, time.time)
    library = Library(catalog, writer, blobs, made.turns)
    return Intake(S3Uploads(settings.bucket or "", clients), library, writer, Telemetry(settings.log_level))


def keys_of_stack(stack: str) -> ApiKeys:
    """The API keys of a deployment on AWS. They need none of the secrets that its server has."""
    from loci.adapters.aws.clients import Clients
    from loci.adapters.aws.stack import settings_of
    from loci.composition.aws import stores

    clients = Clients()
    records, _ = stores(Settings.model_validate(settings_of(stack, clients)), clients)
    return ApiKeys(records, time.time)


def checked_database(settings: Settings) -> str | None:
    """What the embedded database is, in words; None where there is none. An error says what is wrong with it."""
    from loci.adapters.embedded.checkup import checked
    from loci.composition.embedded import DATABASE

    return checked(settings.data / DATABASE)


def signing_secrets(settings: Settings) -> int:
    """How many signing secrets a deployment on AWS accepts."""
    from loci.adapters.aws.clients import Clients
    from loci.composition.secrets import given_secrets, stored_secrets

    return len(given_secrets(settings) or stored_secrets(settings, Clients()))


def rotate_secret(name: str, token: str, step: str) -> None:
    """One step of the rotation of a deployment's signing secret."""
    from loci.adapters.aws.clients import Clients
    from loci.adapters.aws.secrets import rotate

    rotate(name, token, step, Clients())
