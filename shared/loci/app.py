"""The product: its verticals, put together on the adapters of a runtime."""

import sys
import time
from collections.abc import AsyncGenerator, Iterable, Sequence
from concurrent.futures import Future, wait
from contextlib import nullcontext
from contextvars import copy_context
from typing import TYPE_CHECKING, Protocol

from loci.auth.api_keys import ApiKeys
from loci.core import tracing
from loci.core.background import BackgroundQueue
from loci.core.deadline import within
from loci.core.events import EventKind
from loci.core.identity import Owner
from loci.core.json import JsonObject
from loci.core.lazy import part
from loci.core.settings import Settings
from loci.core.signing import Keyring
from loci.core.stores import BlobStore, LocalLinks, RecordStore
from loci.core.telemetry import Called, Calls, Telemetry
from loci.core.trust import Origin, Readings
from loci.scratchpad.api import Scratchpad

if TYPE_CHECKING:
    from loci.auth.gate import Gate
    from loci.authoring.api import Authoring
    from loci.code.api import Code
    from loci.code.parts import CodeAdapters
    from loci.core.diagnosis import Finding
    from loci.documents.api import Documents
    from loci.events.api import Events
    from loci.events.event import EventLog
    from loci.events.followed_lists import Look
    from loci.events.notices import Messenger, Notices
    from loci.files.api import Files
    from loci.files.parts import FileAdapters
    from loci.gateway.api import Tools
    from loci.gateway.parts import ToolAdapters
    from loci.gateway.waiting_calls import ApprovalLinks
    from loci.graph.api import DocumentGraph
    from loci.mcp.module import Module
    from loci.mcp.tool_listing import ToolListing
    from loci.recall.api import Recall
    from loci.search.document_index import SearchAdapters
    from loci.search.language_model import LanguageModel
    from loci.search.search import Search
    from loci.sessions.api import Sessions
    from loci.sharing.api import Sharing
    from loci.transfer.api import Transfer
    from loci.transfer.owners import Owners
    from loci.workflows.api import Workflows
    from loci.workflows.parts import WorkflowAdapters

CLOSE_SECONDS = 18.0
"""Seconds for all parts together, when the server stops. Executors have eight of them to save their variables."""
ANSWERED = 0.05
"""Seconds after which a call is mostly answered."""
SHARE = 0.8
"""The share of the time until this process is killed. In the rest, parts kill what has not ended by itself."""


class Runtime(Protocol):
    """The adapters of one runtime. A method makes what only some requests need, when one of them comes."""

    @property
    def keyring(self) -> Keyring: ...
    @property
    def records(self) -> RecordStore: ...
    @property
    def blobs(self) -> BlobStore: ...
    @property
    def arriving(self) -> BlobStore:
        """Pieces of what another Loci sends. Pieces that are left by mistake are removed after some days."""
        ...

    @property
    def local_links(self) -> LocalLinks | None: ...
    @property
    def event_log(self) -> "EventLog": ...
    @property
    def call_log(self) -> "EventLog": ...
    def read_public(self, url: str) -> bytes:
        """Return what is at a public https address, if it is small. Strangers may name it."""
        ...

    def search(self) -> "SearchAdapters": ...
    def files(self) -> "FileAdapters": ...
    def code(self) -> "CodeAdapters": ...
    def tools(self) -> "ToolAdapters": ...
    def workflows(self) -> "WorkflowAdapters": ...
    def language_model(self) -> "LanguageModel | None": ...
    def issuer_secret(self) -> str | None:
        """Return the secret of Loci at the issuer where people sign in. It may be changed at any time."""
        ...

    def messengers(self) -> "list[Messenger]":
        """Return what takes notices to those whom the setting `notify` names."""
        ...

    def remove_rest(self, owner: Owner) -> int:
        """Remove what the owner has beside records, blobs and index, and return the number of objects or folders."""
        ...

    def backups(self) -> Sequence[str]:
        """Say where copies of what an owner had are kept after the removal, and until when."""
        ...

    def check_database(self) -> str | None:
        """Describe the database file, if this runtime has one. Raises an error that says what is wrong with it."""
        ...


class App:
    """Everything that MCP, the command line and the pages may call.

    A cold start answers one request: a vertical is loaded and made at the first request that needs it.
    """

    def __init__(self, settings: Settings, runtime: Runtime) -> None:
        self.settings = settings
        self.runtime = runtime
        self.keyring = runtime.keyring
        self.records = runtime.records
        self.blobs = runtime.blobs
        self.arriving = runtime.arriving
        self.local_links = runtime.local_links
        self.read_public = runtime.read_public
        self.issuer_secret = runtime.issuer_secret
        self.telemetry = Telemetry(settings.log_level)
        self.calls = Calls(self.telemetry, self._count)
        later = BackgroundQueue(ANSWERED) if settings.mode == "embedded" else None
        self.scratchpad = Scratchpad(self.records, self.blobs, time.time, later=later)
        self.api_keys = ApiKeys(self.records, time.time)
        self.readings = Readings(self.records)

    def gate(self, *, is_open: bool) -> "Gate":
        """Return what recognises callers. If it is open, one without a credential is the person at this machine."""
        from loci.auth.gate import Gate

        return Gate(self, is_open=is_open)

    @part
    def documents(self) -> "Documents":
        """Documents: searched, linked, written."""
        from loci.documents.api import Documents
        from loci.documents.parts import DocumentParts

        return Documents(DocumentParts(self))

    @part
    def graph(self) -> "DocumentGraph":
        """The graph of the documents."""
        from loci.graph.api import DocumentGraph

        return DocumentGraph(self.settings, self.documents, self.language_model)

    @part
    def recall(self) -> "Recall":
        """The notes that go before a model unasked."""
        from loci.recall.api import Recall

        return Recall(self)

    @part
    def authoring(self) -> "Authoring":
        """Changes of documents. Each change can be undone."""
        from loci.authoring.api import Authoring

        locks = self.search_adapters.locks
        return Authoring(
            self.settings,
            self.blobs,
            locks,
            self.documents.parts,
            self.wrote,
            lambda owner, name: self.sharing.check_writable(owner, name),
        )

    @part
    def sharing(self) -> "Sharing":
        """The folders that owners share with each other, to be read."""
        from loci.sharing.api import Sharing

        return Sharing(self)

    @part
    def sessions(self) -> "Sessions":
        """Sessions with coding agents on this machine, as documents."""
        from loci.sessions.api import Sessions

        return Sessions(self.settings, self.records, self.documents, lambda: self.language_model)

    @part
    def files(self) -> "Files":
        """Files: added, read, searched."""
        from loci.files.api import Files
        from loci.files.parts import FileParts

        return Files(FileParts(self, self.runtime.files()))

    @part
    def code(self) -> "Code":
        """Callers' code, behind a wall."""
        from loci.code.api import Code
        from loci.code.parts import CodeParts

        return Code(CodeParts(self))

    @part
    def tools(self) -> "Tools":
        """Tool servers, and the calls of their tools."""
        from loci.gateway.api import Tools
        from loci.gateway.parts import ToolParts
        from loci.mcp.module import tool_families
        from loci.mcp.tool_catalog import InternalTools

        return Tools(ToolParts(self, InternalTools(lambda: tool_families(self), self.readings.note)))

    @part
    def tool_listing(self) -> "ToolListing":
        """The answers to `tools/list`. On AWS the layer has them, and nothing is kept."""
        from loci.mcp.module import tool_families
        from loci.mcp.tool_listing import ToolListing

        folder = self.settings.data if self.settings.mode == "embedded" else None
        return ToolListing(folder, lambda: tool_families(self))

    @part
    def workflows(self) -> "Workflows":
        """Plans of tasks, which run, wait for decisions and survive."""
        from loci.workflows.api import Workflows
        from loci.workflows.parts import WorkflowParts

        return Workflows(WorkflowParts(self))

    @part
    def transfer(self) -> "Transfer":
        """All that an owner has, to be moved elsewhere and back."""
        from loci.transfer.api import Transfer
        from loci.transfer.documents import DeletedKind, DocumentKind
        from loci.transfer.kinds import CapabilityKind, FileKind, ResultKind, RunKind, ServerKind

        return Transfer(
            [
                DocumentKind(self.records, self.blobs, lambda: self.documents),
                DeletedKind(self.records, self.blobs, lambda: self.documents),
                FileKind(lambda: self.files, self.settings.file_mb << 20),
                CapabilityKind(lambda: self.tools),
                ServerKind(lambda: self.tools),
                RunKind(lambda: self.workflows),
                ResultKind(self.scratchpad),
            ]
        )

    @part
    def owners(self) -> "Owners":
        """The owners, and the removal of all that one of them has."""
        from loci.transfer.owners import Owners

        return Owners(self)

    @part
    def events(self) -> "Events":
        """Events, and their followers."""
        from loci.events.api import Events

        days = self.settings.call_log_days
        calls = (self.runtime.call_log, days) if days else None
        return Events(self.runtime.event_log, notices=self._notices(), calls=calls)

    def list_changes(self, owner: Owner) -> "AsyncGenerator[Look]":
        """The lists of the owner's tool servers that change, in whichever process: see `followed_lists`."""
        from loci.events.followed_lists import followed_lists

        return followed_lists(self.events, owner)

    def end_session(self, owner: Owner, session: str) -> None:
        """End what a client session has of its own in this process."""
        if self.made("tools"):
            self.tools.end_session(owner, session)

    def wrote(self, owner: Owner, tool: str, name: str, origin: Origin | None) -> None:
        """Put a write of a tool into the log: what it wrote, and who called it."""
        self.events.wrote(owner, {"tool": tool, "name": name, **(origin.as_json() if origin else {})})

    def tell(self, owner: Owner, kind: EventKind, fields: JsonObject) -> None:
        """Tell followers what has happened."""
        self.events.tell(owner, kind, fields)

    @part
    def search_adapters(self) -> "SearchAdapters":
        """The index and the models, which documents and files share."""
        return self.runtime.search()

    @part
    def search(self) -> "Search":
        """The search over the index, which documents and files share."""
        from loci.search.language_stage import LanguageStage
        from loci.search.search import Search

        settings, adapters, model = self.settings, self.search_adapters, self.language_model
        name, seconds = settings.language_model or "", settings.language_model_seconds
        stage = LanguageStage(model, name, seconds=seconds) if model else None
        ports = adapters.index, adapters.embedder, adapters.reranker
        return Search(*ports, stage, rerank_seconds=settings.rerank_seconds, lacks=adapters.lacks)

    @part
    def language_model(self) -> "LanguageModel | None":
        """The language model; None if the operator names none."""
        return self.runtime.language_model()

    @part
    def approval_links(self) -> "ApprovalLinks":
        """The links to the pages on which people approve calls and plans."""
        from loci.gateway.waiting_calls import PURPOSE, ApprovalLinks

        def lacks_pin() -> bool:
            from loci.auth.pins import pins_of

            return not pins_of(self.settings, self.records).is_set

        is_here = self.settings.mode == "embedded"
        return ApprovalLinks(self.keyring.seal(PURPOSE), self.settings.base_url, lacks_pin, has_terminal=is_here)

    @property
    def modules(self) -> "Sequence[Module]":
        """The verticals, as the server offers them."""
        from loci.registry import modules

        return modules(self)

    def examined(self, owner: Owner, *, whole: bool) -> "Iterable[Finding]":
        """The findings of `loci doctor`: all of them, or only the findings about this owner."""
        from loci.registry import examination

        return examination(self, owner, whole)

    def made(self, name: str) -> bool:
        """True if this part was needed before."""
        return name in self.__dict__

    def end_streams(self) -> None:
        """End the answers that would not end by themselves: the server stops."""
        if self.made("events"):
            self.events.end_streams()

    def finish(self) -> None:
        """Write the events that wait to be told, and send traces: on Lambda this process stands still afterwards."""
        if self.made("events"):
            self.events.finish()
        tracing.flush()

    def close(self, seconds: float | None = None) -> None:
        """End what runs: the server stops. All parts share one deadline; then late parts are named.

        `seconds`: until this process is killed. What it has started ends with it.
        """
        with nullcontext() if seconds is None else within(seconds * SHARE):
            self._close(CLOSE_SECONDS if seconds is None else seconds)

    def _close(self, seconds: float) -> None:
        from loci.sandbox.supervisor.daemon_threads import in_thread

        until, ending = time.monotonic() + seconds, dict["Future[None]", str]()
        # The tasks of workflows use the others, and the others' ends are events, too.
        for together in (("workflows",), ("code", "files", "tools", "language_model"), ("events", "scratchpad")):
            parts = {name: self.__dict__.get(name) for name in together}
            ending |= {in_thread(copy_context().run, one.close): name for name, one in parts.items() if one}
            wait(ending, max(0.0, until - time.monotonic()))
        if late := [name for future, name in ending.items() if not future.done()]:
            names = ", ".join(late).replace("language_model", "the language model")
            print(f"Not ended after {seconds:g} s, and killed: {names}", file=sys.stderr, flush=True)

    def _count(self, called: Called) -> None:
        if (called.counted_as or called.is_upstream) and self.made("tools"):
            # No call of another tool waits until these are loaded.
            self.tools.count(called)
        self.events.called(called)

    def _notices(self) -> "Notices | None":
        """The notices that people get elsewhere than on the pages; None if the operator names no such place."""
        settings = self.settings
        if not settings.notify and not settings.aws.notify_from:
            return None
        from loci.events.notices import Notices

        is_local = settings.mode == "embedded"
        url = settings.base_url if is_local else settings.public_url
        notices = Notices(self.runtime.messengers, url, self.records, self.telemetry)
        if url and not is_local:  # the function that moves workflows on is made before the address of the API
            notices.note_pages()
        return notices
