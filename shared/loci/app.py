"""The product, assembled."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from loci.api_keys import ApiKeys
from loci.later import Later
from loci.ports.stores import BlobStore, LocalLinks, RecordStore
from loci.scratchpad import Scratchpad
from loci.settings import Settings
from loci.signing import Keyring
from loci.telemetry import Telemetry

if TYPE_CHECKING:
    from loci.code.parts import Code
    from loci.documents.parts import Documents


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
    later_documents: "Later[Documents]"
    later_code: "Later[Code]"

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
