"""The product, as the pages see it."""

from typing import Protocol

from loci.documents.host import DocumentsHost
from loci.files.host import FilesHost


class PagesHost(DocumentsHost, FilesHost, Protocol):
    """Documents and files, for those who may see them."""
