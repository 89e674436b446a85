"""The product, assembled."""

from dataclasses import dataclass

from loci.api_keys import ApiKeys
from loci.ports import BlobStore, LocalLinks, RecordStore
from loci.scratchpad import Scratchpad
from loci.settings import Settings
from loci.signing import Keyring
from loci.telemetry import Telemetry


@dataclass(frozen=True, slots=True)
class App:
    """Everything that a door (MCP, command line, web) may call."""

    settings: Settings
    telemetry: Telemetry
    keyring: Keyring
    records: RecordStore
    blobs: BlobStore
    local_links: LocalLinks | None
    scratchpad: Scratchpad
    api_keys: ApiKeys
