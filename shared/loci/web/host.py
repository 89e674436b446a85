"""The product, as the pages see it."""

from typing import TYPE_CHECKING, Protocol

from loci.documents.host import DocumentsHost
from loci.files.host import FilesHost

if TYPE_CHECKING:
    from loci.code.api import Code
    from loci.tools.api import Tools
    from loci.workflows.api import Workflows


class PagesHost(DocumentsHost, FilesHost, Protocol):
    """Documents, files, code, tools and workflows, for those who may see them."""

    @property
    def code(self) -> "Code": ...
    @property
    def tools(self) -> "Tools": ...
    @property
    def workflows(self) -> "Workflows": ...
