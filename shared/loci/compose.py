"""The composition root: the only door to what is assembled. Only it and `loci.composition` name adapters."""

import os
import time
from pathlib import Path

from loci.api_keys import ApiKeys
from loci.app import App
from loci.code.bridge import NoTools
from loci.code.elsewhere import Elsewhere
from loci.code.no_files import NoFiles
from loci.code.results_cache import ResultsCache
from loci.code.runner import Runner
from loci.code.typescript import TypeScript
from loci.composition.adapters import Adapters
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
from loci.scratchpad import Scratchpad
from loci.search.reading import Reader
from loci.search.search import Search
from loci.settings import Settings, load_settings
from loci.telemetry import Telemetry


def build_app(settings: Settings | None = None) -> App:
    """Loci on the adapters that the settings name."""
    settings = settings or load_settings()
    # numpy reads it when it is loaded, at the first search. Threads of its BLAS wait busily for the next product, on
    # the processors that the model and other searches need: with them a search took twice the processor time.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    made = _adapters(settings)
    catalog = Catalog(made.records)
    writer = Writer(catalog, made.index, made.embedder, time.time)
    model_name, seconds = settings.language_model or "", settings.language_model_seconds
    reader = Reader(made.language_model, model_name, seconds=seconds)
    graphs, likeness = Graphs(catalog, made.index), Likeness(made.index, made.embedder)
    library = Library(catalog, writer, made.blobs, made.turns)
    telemetry, scratchpad = Telemetry(settings.log_level), Scratchpad(made.records, made.blobs, time.time)
    elsewhere = Elsewhere(made.records, scratchpad, made.errands, time.time) if made.errands else None
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
        remarks=Remarks(made.language_model, model_name, seconds=seconds),
        runner=Runner(
            made.records,
            made.executors,
            NoFiles(),
            time.time,
            seconds=settings.runner_seconds,
            elsewhere=elsewhere,
        ),
        typescript=_typescript(settings, made, scratchpad, telemetry, elsewhere),
        elsewhere=elsewhere,
    )


def _typescript(
    settings: Settings, made: Adapters, scratchpad: Scratchpad, telemetry: Telemetry, elsewhere: Elsewhere | None
) -> TypeScript:
    own = settings.mode == "embedded"  # on AWS there are no files
    return TypeScript(
        made.sandbox,
        NoTools(),
        scratchpad,
        telemetry,
        cache=ResultsCache() if settings.code_cache else None,
        read_roots=settings.code_read_paths if own else (),
        private=settings.data.absolute() if own else None,
        elsewhere=elsewhere,
    )


def _adapters(settings: Settings) -> Adapters:
    if settings.mode == "embedded":
        from loci.composition.embedded import embedded  # each runtime loads its own adapters only

        return embedded(settings)
    from loci.composition.aws import aws

    return aws(settings)


def _own_roots(settings: Settings) -> tuple[Path, ...]:
    return settings.write_roots if settings.mode == "embedded" else ()  # on AWS there are no folders


def build_intake(settings: Settings | None = None) -> Intake:
    """What makes documents of a deployment's uploads. It signs nothing, so it needs none of the server's secrets."""
    from loci.adapters.aws.clients import Clients
    from loci.adapters.aws.turns import RecordTurns
    from loci.adapters.aws.uploads import S3Uploads
    from loci.composition.aws import finding, stores

    settings = settings or load_settings()
    clients = Clients()
    records, blobs = stores(settings, clients)
    found = finding(settings, clients)
    catalog = Catalog(records)
    writer = Writer(catalog, found.index, found.embedder, time.time)
    uploads = S3Uploads(settings.bucket or "", clients)
    library = Library(catalog, writer, blobs, RecordTurns(records, time.time))
    return Intake(uploads, library, writer, Telemetry(settings.log_level))


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
