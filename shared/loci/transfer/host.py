"""The product, as the route for moving sees it."""

from typing import Protocol

from loci.core.stores import BlobStore
from loci.mcp.module import Host
from loci.transfer.api import Transfer


class TransferHost(Host, Protocol):
    """The server's side, the stored bytes, and what moves."""

    @property
    def blobs(self) -> BlobStore: ...
    @property
    def transfer(self) -> Transfer: ...
