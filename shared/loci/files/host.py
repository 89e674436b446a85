"""The product, as the doors to files see it: tools, pages and checks."""

from typing import TYPE_CHECKING, Protocol

from loci.core.stores import BlobStore
from loci.mcp.module import Host

if TYPE_CHECKING:
    from loci.files.api import Files


class FilesHost(Host, Protocol):
    """The server's side, and the files themselves."""

    @property
    def blobs(self) -> BlobStore: ...
    @property
    def files(self) -> "Files": ...
