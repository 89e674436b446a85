"""The product, assembled."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from loci.core.calls import Calls
from loci.core.lazy import Lazy
from loci.core.settings import Settings
from loci.core.signing import Keyring
from loci.core.stores import BlobStore, LocalLinks, RecordStore
from loci.core.telemetry import Telemetry
from loci.mcp.auth.api_keys import ApiKeys
from loci.scratchpad.api import Scratchpad

if TYPE_CHECKING:
    from loci.code.api import Code
    from loci.code.parts import CodeAdapters
    from loci.documents.api import Documents
    from loci.files.api import Files
    from loci.files.parts import FileAdapters
    from loci.mcp.module import Module
    from loci.search.adapters import SearchAdapters
    from loci.search.language_model import LanguageModel
    from loci.tools.api import Tools
    from loci.tools.parts import ToolAdapters
    from loci.workflows.api import Workflows
    from loci.workflows.parts import WorkflowAdapters


@dataclass(frozen=True, slots=True)
class Adapters:
    """The ports on one runtime. What only some requests need is made when one of them comes."""

    keyring: Keyring
    records: RecordStore
    blobs: BlobStore
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
    local_links: LocalLinks | None
    read_public: Callable[[str], bytes]
    scratchpad: Scratchpad
    api_keys: ApiKeys
    lazy_language_model: "Lazy[LanguageModel | None]"
    lazy_documents: "Lazy[Documents]"
    lazy_files: "Lazy[Files]"
    lazy_code: "Lazy[Code]"
    lazy_tools: "Lazy[Tools]"
    lazy_workflows: "Lazy[Workflows]"
    list_modules: "Callable[[App], Sequence[Module]]"

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

    @property
    def modules(self) -> "Sequence[Module]":
        """Each vertical, as the server offers it."""
        return self.list_modules(self)

    def close(self) -> None:
        """End what runs: the server stops."""
        if workflows := self.lazy_workflows.made:
            workflows.close()
        if code := self.lazy_code.made:
            code.close()
        if files := self.lazy_files.made:
            files.close()
        if tools := self.lazy_tools.made:
            tools.close()
        if model := self.lazy_language_model.made:
            model.close()
