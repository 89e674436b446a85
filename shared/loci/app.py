"""The product, assembled."""

import sys
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future, wait
from contextlib import nullcontext
from contextvars import copy_context
from dataclasses import dataclass
from typing import TYPE_CHECKING

from loci.core.calls import Calls
from loci.core.deadline import within
from loci.core.identity import Owner
from loci.core.lazy import Lazy
from loci.core.settings import Settings
from loci.core.signing import Keyring
from loci.core.stores import BlobStore, LocalLinks, RecordStore
from loci.core.telemetry import Telemetry
from loci.mcp.auth.api_keys import ApiKeys
from loci.sandbox.supervisor.daemon_threads import in_thread
from loci.scratchpad.api import Scratchpad

if TYPE_CHECKING:
    from loci.code.api import Code
    from loci.code.parts import CodeAdapters
    from loci.core.finding import Finding
    from loci.documents.api import Documents
    from loci.events.api import Events
    from loci.events.event import EventLog
    from loci.files.api import Files
    from loci.files.parts import FileAdapters
    from loci.mcp.module import Module
    from loci.search.adapters import SearchAdapters
    from loci.search.language_model import LanguageModel
    from loci.tools.api import Tools
    from loci.tools.parts import ToolAdapters
    from loci.transfer.api import Transfer
    from loci.workflows.api import Workflows
    from loci.workflows.parts import WorkflowAdapters

CLOSE_SECONDS = 18.0
"""For all parts together, when the server stops. Executors have eight of them to save their variables."""
SHARE = 0.8
"""Of the time until this process is killed. In the rest its parts kill what has not ended by itself."""


@dataclass(frozen=True, slots=True)
class Adapters:
    """The ports on one runtime. What only some requests need is made when one of them comes."""

    keyring: Keyring
    records: RecordStore
    event_log: "EventLog"
    blobs: BlobStore
    arriving: BlobStore
    """Pieces of what another Loci sends. Those that are left by mistake are removed after some days."""
    local_links: LocalLinks | None
    read_public: Callable[[str], bytes]
    """Returns what is at a public https address, if it is small. Strangers may name it."""
    search: "Callable[[], SearchAdapters]"
    """Documents and files share them."""
    files: "Callable[[SearchAdapters], FileAdapters]"
    code: "Callable[[], CodeAdapters]"
    tools: "Callable[[], ToolAdapters]"
    workflows: "Callable[[], WorkflowAdapters]"


@dataclass(frozen=True, slots=True)
class App:
    """Everything that MCP, the command line and the pages may call.

    A cold start answers one request: a vertical is made at the first request that needs it.
    """

    settings: Settings
    telemetry: Telemetry
    calls: Calls
    keyring: Keyring
    records: RecordStore
    blobs: BlobStore
    arriving: BlobStore
    local_links: LocalLinks | None
    read_public: Callable[[str], bytes]
    issuer_secret: Callable[[], str | None]
    scratchpad: Scratchpad
    api_keys: ApiKeys
    lazy_events: "Lazy[Events]"
    lazy_language_model: "Lazy[LanguageModel | None]"
    lazy_documents: "Lazy[Documents]"
    lazy_files: "Lazy[Files]"
    lazy_code: "Lazy[Code]"
    lazy_tools: "Lazy[Tools]"
    lazy_workflows: "Lazy[Workflows]"
    lazy_transfer: "Lazy[Transfer]"
    list_modules: "Callable[[App], Sequence[Module]]"
    run_examination: "Callable[[App, Owner, bool], Iterable[Finding]]"

    @property
    def events(self) -> "Events":
        """Events: told to those who follow them."""
        return self.lazy_events.get()

    @property
    def documents(self) -> "Documents":
        """Documents: searched, linked, written."""
        return self.lazy_documents.get()

    @property
    def files(self) -> "Files":
        """Files: added, read, searched."""
        return self.lazy_files.get()

    @property
    def code(self) -> "Code":
        """Callers' code, behind a wall."""
        return self.lazy_code.get()

    @property
    def tools(self) -> "Tools":
        """Tool servers, and the calls of their tools."""
        return self.lazy_tools.get()

    @property
    def workflows(self) -> "Workflows":
        """Plans of tasks, which run, wait for decisions and survive."""
        return self.lazy_workflows.get()

    def examined(self, owner: Owner, *, whole: bool) -> "Iterable[Finding]":
        """The findings of `loci doctor`: all of them, or only those that concern this owner."""
        return self.run_examination(self, owner, whole)

    @property
    def transfer(self) -> "Transfer":
        """All that an owner has, to be moved elsewhere and back."""
        return self.lazy_transfer.get()

    @property
    def modules(self) -> "Sequence[Module]":
        """Each vertical, as the server offers it."""
        return self.list_modules(self)

    def end_streams(self) -> None:
        """End the answers that would not end by themselves: the server stops."""
        if events := self.lazy_events.made:
            events.streams.end()

    def finish(self) -> None:
        """Write what waits to be told: on Lambda this process stands still after its answer."""
        if events := self.lazy_events.made:
            events.finish()

    def close(self, seconds: float | None = None) -> None:
        """End what runs: the server stops. All parts together have one deadline; then those that still end are named.

        `seconds`: until this process is killed. Whatever it has started ends with it.
        """
        with nullcontext() if seconds is None else within(seconds * SHARE):
            self._close(CLOSE_SECONDS if seconds is None else seconds)

    def _close(self, seconds: float) -> None:
        until, ending = time.monotonic() + seconds, dict["Future[None]", str]()
        for parts in (
            {"workflows": self.lazy_workflows.made},  # their tasks use the others
            {
                "code": self.lazy_code.made,
                "files": self.lazy_files.made,
                "tools": self.lazy_tools.made,
                "the language model": self.lazy_language_model.made,
            },
            {"events": self.lazy_events.made},  # the others' ends are events, too
        ):
            ending |= {in_thread(copy_context().run, one.close): name for name, one in parts.items() if one}
            wait(ending, max(0.0, until - time.monotonic()))
        if late := [name for future, name in ending.items() if not future.done()]:
            print(f"Not ended after {seconds:g} s, and killed: {', '.join(late)}", file=sys.stderr, flush=True)
