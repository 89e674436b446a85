"""The product, assembled."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from loci.core.lazy import Lazy
from loci.core.settings import Settings
from loci.core.signing import Keyring
from loci.core.stores import BlobStore, LocalLinks, RecordStore
from loci.core.telemetry import Telemetry
from loci.mcp.auth.api_keys import ApiKeys
from loci.scratchpad.api import Scratchpad

if TYPE_CHECKING:
    from loci.code.api import Code
    from loci.documents.api import Documents


@dataclass(frozen=True, slots=True)
class App:
    """Everything that a door (MCP, command line, web) may call.

    A cold start answers one request: what others need is loaded with the first of those.
    """

    settings: Settings
    telemetry: Telemetry
    keyring: Keyring
    records: RecordStore
    blobs: BlobStore
    local_links: LocalLinks | None
    scratchpad: Scratchpad
    api_keys: ApiKeys
    later_documents: "Lazy[Documents]"
    later_code: "Lazy[Code]"

    @property
    def documents(self) -> "Documents":
        """What was ingested, searched and written."""
        return self.later_documents.get()

    @property
    def code(self) -> "Code":
        """What runs callers' code."""
        return self.later_code.get()

    def close(self) -> None:
        """End what runs: the server stops."""
        if code := self.later_code.made:
            code.close()
