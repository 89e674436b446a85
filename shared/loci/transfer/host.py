"""The product, as the route for moving sees it."""

from typing import Protocol

from loci.core.stores import BlobStore
from loci.mcp.module import Host
from loci.transfer.api import Transfer


class TransferHost(Host, Protocol):
    """The server's side, the pieces that arrive, and what moves."""

    @property
    def arriving(self) -> BlobStore: ...
    @property
    def transfer(self) -> Transfer: ...
