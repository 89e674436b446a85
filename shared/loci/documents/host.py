"""The product, as the doors to documents see it: tools, pages, routes and checks."""

from typing import TYPE_CHECKING, Protocol

from loci.core.stores import BlobStore
from loci.mcp.module import Host

if TYPE_CHECKING:
    from loci.documents.api import Documents


class DocumentsHost(Host, Protocol):
    """The server's side, the stored texts, and the documents themselves."""

    @property
    def blobs(self) -> BlobStore: ...
    @property
    def documents(self) -> "Documents": ...
