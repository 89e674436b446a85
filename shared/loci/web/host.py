"""The product, as the pages see it."""

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Protocol

from loci.core.identity import Owner
from loci.documents.host import DocumentsHost
from loci.files.host import FilesHost

if TYPE_CHECKING:
    from loci.code.api import Code
    from loci.core.finding import Finding
    from loci.tools.api import Tools
    from loci.workflows.api import Workflows


class PagesHost(DocumentsHost, FilesHost, Protocol):
    """Documents, files, code, tools and workflows, for those who may see them."""

    def examined(self, owner: Owner, *, whole: bool) -> "Iterable[Finding]": ...

    @property
    def code(self) -> "Code": ...
    @property
    def issuer_secret(self) -> Callable[[], str | None]: ...
    @property
    def tools(self) -> "Tools": ...
    @property
    def workflows(self) -> "Workflows": ...
