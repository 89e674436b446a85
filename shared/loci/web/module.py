"""Pages for people, as the server offers them, and the product as they see it."""

import time
from collections.abc import Callable, Iterable
from functools import cache
from typing import TYPE_CHECKING, Protocol

from starlette.types import ASGIApp

from loci.core.identity import Owner
from loci.documents.host import DocumentsHost
from loci.files.host import FilesHost
from loci.mcp.module import Module, ModuleRoute

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


def web_module(app: "PagesHost") -> Module:
    """Everything below `/ui`, and the way there from the host alone."""

    @cache  # both routes have the same pages
    def pages(is_open: bool) -> ASGIApp:
        from loci.web.routes import Pages

        return Pages(app, is_open=is_open, clock=time.time)

    return Module(name="web", routes=[ModuleRoute(path, pages) for path in ("/ui{rest:path}", "/")])
