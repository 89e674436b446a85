"""The composition root. Only this file and `runtimes/` name adapters."""

import os
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import TYPE_CHECKING

from loci.app import Adapters, App
from loci.code.module import code_module
from loci.core.calls import Called, Calls
from loci.core.events import EventKind
from loci.core.identity import Owner, UnnamedOwner
from loci.core.json import JsonObject
from loci.core.layout import UPLOADS_A_CALL
from loci.core.lazy import Lazy
from loci.core.settings import Settings, load_settings
from loci.core.stores import RecordStore
from loci.core.telemetry import Telemetry
from loci.documents.module import documents_module
from loci.events.module import events_module
from loci.files.module import files_module
from loci.lookup.module import lookup_module
from loci.mcp.auth.api_keys import ApiKeys
from loci.mcp.auth.module import oauth_module
from loci.mcp.module import Module, tool_families
from loci.runtimes.providers import configured_model, issuer_secret, messengers
from loci.scratchpad.api import Scratchpad
from loci.scratchpad.module import scratchpad_module
from loci.tools.module import tools_module
from loci.transfer.module import transfer_module
from loci.web.module import web_module
from loci.workflows.module import workflows_module

if TYPE_CHECKING:
    from loci.adapters.aws.upload_queue import UploadQueue
    from loci.adapters.local.mending import Mended
    from loci.code.api import Code
    from loci.core.finding import Finding
    from loci.documents.api import Documents
    from loci.documents.upkeep import IndexRebuild
    from loci.events.api import Events
    from loci.events.notices import Notices
    from loci.files.api import Files
    from loci.search.inference import Embedder
    from loci.tools.answering import Answering
    from loci.tools.api import Tools
    from loci.tools.waiting_calls import ApprovalLinks
    from loci.transfer.api import Transfer
    from loci.web.visitors import Visitors
    from loci.workflows.api import Workflows


def modules(app: App) -> Sequence[Module]:
    """Every vertical. A vertical that is not in this list is not served."""

    def visitors(is_open: bool) -> "Visitors":
        from loci.web.visitors import Visitors

        return Visitors(app, is_open=is_open, clock=time.time)

    return [
        scratchpad_module(app.scratchpad),
        documents_module(app),
        files_module(app),
        code_module(app),
        tools_module(app),
        workflows_module(app),
        lookup_module(app),
        events_module(app, visitors),  # before the pages, which take everything below their path
        transfer_module(app),
        web_module(app),
        oauth_module(app),
    ]


def examination(app: App, owner: Owner, whole: bool) -> "Iterable[Finding]":
    """The checks of `loci doctor` beside a server: all of this machine, or only those of what concerns one owner."""
    from loci.doctor.examine import check_own, examine_server

    return examine_server(app, check_database) if whole else check_own(app, owner)


def build_app(settings: Settings | None = None) -> App:
    """Build Loci on the adapters that the settings name."""
    settings = settings or load_settings()
    # numpy reads it when it is loaded, at the first search. The threads of its BLAS wait busily for the next product,
    # on processors that the model and other searches need: with them a search took twice the processor time.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    adapters = _adapters(settings)
    telemetry = Telemetry(settings.log_level)
    scratchpad = Scratchpad(adapters.records, adapters.blobs, time.time)

    def count(called: Called) -> None:
        if tools := lazy_tools.made:  # no call of another tool waits until these are loaded
            tools.count(called)
        lazy_events.get().called(called)

    lazy_events = Lazy(lambda: _events(settings, adapters, telemetry))

    def tell(owner: Owner, kind: EventKind, fields: JsonObject) -> None:
        lazy_events.get().tell(owner, kind, fields)

    calls = Calls(telemetry, count)

    approval_links = Lazy(lambda: _links(settings, adapters))

    language_model = Lazy(lambda: configured_model(settings, adapters.records))
    for_search = Lazy(adapters.search)

    def documents() -> "Documents":
        from loci.documents.api import Documents
        from loci.documents.parts import document_parts

        model = language_model.get()
        return Documents(document_parts(settings, adapters.records, adapters.blobs, for_search.get(), model, tell))

    lazy_documents = Lazy(documents)

    def files() -> "Files":
        from loci.files.api import Files
        from loci.files.parts import FileParts

        shared = adapters.files(for_search.get())
        return Files(FileParts(settings, adapters.records, adapters.blobs, shared, language_model.get(), tell))

    lazy_files = Lazy(files)

    def tools() -> "Tools":
        from loci.mcp.tool_catalog import OwnTools
        from loci.tools.api import Tools
        from loci.tools.parts import ToolParts

        def embedder() -> "Embedder":
            return for_search.get().embedder

        own = OwnTools(lambda: tool_families(app))
        return Tools(
            ToolParts(settings, adapters.records, embedder, adapters.tools(), own, calls, approval_links.get(), tell)
        )

    lazy_tools = Lazy(tools)

    def code() -> "Code":
        from loci.code.api import Code
        from loci.code.parts import code_parts

        ports = adapters.code()
        return Code(
            code_parts(
                settings,
                adapters.records,
                scratchpad,
                telemetry,
                ports,
                lazy_files.get,
                lazy_tools.get,
                lazy_documents.get,
            )
        )

    lazy_code = Lazy(code)

    def workflows() -> "Workflows":
        from loci.workflows.api import Workflows
        from loci.workflows.parts import WorkflowParts

        steps = lazy_tools.get, lazy_code.get
        links, model = approval_links.get(), language_model.get
        return Workflows(
            WorkflowParts(settings, adapters.records, scratchpad, *steps, adapters.workflows(), links, model, tell)
        )

    app = App(
        settings=settings,
        telemetry=telemetry,
        calls=calls,
        keyring=adapters.keyring,
        records=adapters.records,
        blobs=adapters.blobs,
        arriving=adapters.arriving,
        local_links=adapters.local_links,
        read_public=adapters.read_public,
        issuer_secret=partial(issuer_secret, settings),
        scratchpad=scratchpad,
        api_keys=ApiKeys(adapters.records, time.time),
        lazy_events=lazy_events,
        lazy_language_model=language_model,
        lazy_documents=lazy_documents,
        lazy_files=lazy_files,
        lazy_code=lazy_code,
        lazy_tools=lazy_tools,
        lazy_workflows=Lazy(workflows),
        lazy_transfer=Lazy(lambda: _transfer(app)),
        list_modules=modules,
        run_examination=examination,
    )
    return app


def _transfer(app: App) -> "Transfer":
    """Build what moves everything of an owner in and out."""
    from loci.transfer.api import Transfer
    from loci.transfer.documents import DeletedKind, DocumentKind
    from loci.transfer.files import FileKind
    from loci.transfer.kinds import ResultKind
    from loci.transfer.runs import RunKind
    from loci.transfer.tools import CapabilityKind, ServerKind

    documents, tools = app.lazy_documents.get, app.lazy_tools.get
    return Transfer(
        [
            DocumentKind(app.records, app.blobs, documents),
            DeletedKind(app.records, app.blobs, documents),
            FileKind(app.lazy_files.get, app.settings.file_mb << 20),
            CapabilityKind(tools),
            ServerKind(tools),
            RunKind(app.lazy_workflows.get),
            ResultKind(app.scratchpad),
        ]
    )


def build_upload_queue(settings: Settings | None = None) -> "UploadQueue":
    """Build what ingests a deployment's uploads. It signs nothing, so it needs none of the server's secrets."""
    from loci.adapters.aws.clients import Clients
    from loci.adapters.aws.event_log import RecordEventLog
    from loci.adapters.aws.file_arrivals import FileArrivals
    from loci.adapters.aws.upload_queue import UploadQueue
    from loci.adapters.aws.uploads import S3Uploads
    from loci.documents.ingest.uploads import UploadIngest
    from loci.documents.parts import document_parts
    from loci.events.api import Events
    from loci.files.parts import FileParts
    from loci.runtimes.aws import aws_stores, for_files, for_search

    settings = settings or load_settings()
    clients = Clients()
    records, blobs = aws_stores(settings, clients)
    adapters = for_search(settings, records, clients, at_once=False)
    library = document_parts(settings, records, blobs, adapters, None).library
    events = Events(RecordEventLog(records))
    telemetry = Telemetry(settings.log_level)
    ingest = UploadIngest(S3Uploads(settings.aws.bucket or "", clients), library, telemetry, events.tell)
    of_files = for_files(settings, blobs, clients, adapters, keyring=None)
    writer = configured_model(settings, records)
    parts = FileParts(settings, records, blobs, of_files, writer, events.tell)
    files = FileArrivals(settings.aws.bucket or "", blobs, clients, parts)
    # The index in the bucket writes in one go what comes at once: all of a call. A domain gains nothing by it.
    at_once = UPLOADS_A_CALL if settings.aws.search == "s3" else 1
    return UploadQueue(ingest, clients, settings.aws.aside_queue, at_once, files, events.finish)


def build_answering(settings: Settings | None = None, *, only_public: bool = True) -> "Answering":
    """Build what reaches the tool servers of a deployment's owners. It needs none of the server's secrets."""
    from loci.adapters.aws.clients import Clients
    from loci.adapters.aws.event_log import RecordEventLog
    from loci.events.api import Events
    from loci.runtimes.aws import aws_stores, for_connections
    from loci.runtimes.local import read_public
    from loci.tools.answering import Answering
    from loci.tools.parts import reached_servers

    settings = settings or load_settings()
    clients = Clients()
    records, _ = aws_stores(settings, clients)
    events = Events(RecordEventLog(records))
    tool_list = reached_servers(records, for_connections(settings, clients, only_public=only_public), events.tell)
    return Answering(tool_list, read_public, events.finish)


def build_index_rebuild(settings: Settings) -> "IndexRebuild":
    """Build what rebuilds the index. For a deployment it signs nothing, so it needs none of the server's secrets."""
    from loci.documents.upkeep import IndexRebuild

    if settings.mode == "embedded":
        from loci.adapters.local.mending import end_mending, is_half_mended
        from loci.runtimes.local import DATABASE

        app, database = build_app(settings), settings.data / DATABASE

        def end() -> int:
            files = sum(app.files.upkeep.index_again(UnnamedOwner(key)) for key in app.blobs.owner_keys())
            end_mending(database)
            return files

        named, owner_keys = _named_owners(app.records), app.blobs.owner_keys
        is_half = is_half_mended(database)
        parts = app.documents.parts
        return IndexRebuild(parts.upkeep, parts.catalog, named, owner_keys, is_after_damage=is_half, end=end)
    from loci.adapters.aws.clients import Clients
    from loci.adapters.aws.uploads import S3Uploads
    from loci.documents.ingest.uploads import UploadIngest
    from loci.documents.parts import document_parts
    from loci.runtimes.aws import aws_stores, for_search

    clients = Clients()
    records, blobs = aws_stores(settings, clients)
    parts = document_parts(settings, records, blobs, for_search(settings, records, clients), None)
    uploads = UploadIngest(S3Uploads(settings.aws.bucket or "", clients), parts.library, Telemetry(settings.log_level))
    return IndexRebuild(parts.upkeep, parts.catalog, _named_owners(records), blobs.owner_keys, uploads)


def _named_owners(records: RecordStore) -> Callable[[], list[Owner]]:
    """Return what lists the owners of whom records keep the names."""
    from loci.mcp.auth.grants import granting_owners

    return lambda: [*ApiKeys(records, time.time).owners(), *granting_owners(records)]


def keep_room(settings: Settings) -> None:
    """Keep room for deletions on the disk of the local data folder."""
    from loci.adapters.local.reserve import Reserve

    Reserve(settings.data).make()


def sweep_data(settings: Settings) -> None:
    """Remove what killed processes left in the local data folder."""
    from loci.adapters.local.data_folder import sweep_data

    sweep_data(settings.data.absolute())


def check_database(settings: Settings) -> str | None:
    """Describe the local database; None if there is none. An error says what is wrong with it."""
    from loci.adapters.local.sqlite import check_file
    from loci.runtimes.local import DATABASE

    return check_file(settings.data / DATABASE)


def mend_database(settings: Settings) -> "Mended | None":
    """Make the local database whole, with an empty index; None if it is whole."""
    from loci.adapters.local.mending import mend
    from loci.runtimes.local import DATABASE

    return mend(settings.data / DATABASE)


def mend_all(settings: Settings) -> "Finding | None":
    """Mend the local database, then rebuild the index of every owner; None if it is whole."""
    from loci.core.finding import Finding

    mended = mend_database(settings)
    if mended is None:
        return None
    rebuild = build_index_rebuild(settings)
    for owner in rebuild.owners():
        rebuild.run(owner)
    rebuild.end()
    what = f"{mended.what}. Its index was rebuilt from the texts"
    return Finding("database", "ok" if mended.is_whole else "fault", what, fixed=True)


def count_signing_secrets(settings: Settings) -> int:
    """The number of signing secrets that a deployment on AWS accepts."""
    from loci.adapters.aws.clients import Clients
    from loci.runtimes.aws import signing_secrets

    return len(signing_secrets(settings, Clients()))


def _adapters(settings: Settings) -> Adapters:
    """Each runtime loads its own adapters only."""
    if settings.mode == "embedded":
        from loci.runtimes.local import local_adapters

        return local_adapters(settings)
    from loci.runtimes.aws import aws_adapters

    for line in settings.warnings:  # into the log: on this machine `loci serve` says them
        print(line, file=sys.stderr)
    return aws_adapters(settings)


def _events(settings: Settings, adapters: Adapters, telemetry: Telemetry) -> "Events":
    from loci.events.api import Events

    return Events(adapters.event_log, notices=_notices(settings, adapters.records, telemetry))


def _notices(settings: Settings, records: RecordStore, telemetry: Telemetry) -> "Notices | None":
    """The notices that people get elsewhere than on the pages; None if the operator names no such place."""
    if not settings.notify and not settings.aws.notify_from:
        return None
    from loci.events.notices import Notices

    is_local = settings.mode == "embedded"
    url = settings.base_url if is_local else settings.public_url
    notices = Notices(lambda: messengers(settings), url, records, telemetry)
    if url and not is_local:  # the function that moves workflows on is made before the address of the API
        notices.note_pages()
    return notices


def _links(settings: Settings, adapters: Adapters) -> "ApprovalLinks":
    from loci.tools.waiting_calls import PURPOSE, ApprovalLinks

    def lacks_pin() -> bool:
        from loci.mcp.auth.pins import pins_of

        return not pins_of(settings, adapters.records).is_set

    is_embedded = settings.mode == "embedded"
    return ApprovalLinks(adapters.keyring.seal(PURPOSE), settings.base_url, lacks_pin, has_terminal=is_embedded)
