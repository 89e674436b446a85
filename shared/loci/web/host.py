"""The product, as the pages see it."""

from collections.abc import Callable
from typing import Protocol

from loci.documents.host import DocumentsHost
from loci.files.host import FilesHost
from loci.workflows.api import Workflows


class PagesHost(DocumentsHost, FilesHost, Protocol):
    """Documents, files and workflows, for those who may see them."""

    @property
    def issuer_secret(self) -> Callable[[], str | None]: ...
    @property
    def workflows(self) -> Workflows: ...
