"""Pages for people, as the server offers them."""

import time
from functools import cache
from typing import TYPE_CHECKING

from starlette.types import ASGIApp

from loci.mcp.module import Module, ModuleRoute

if TYPE_CHECKING:
    from loci.web.host import PagesHost


def web_module(app: "PagesHost") -> Module:
    """Everything below `/ui`, and the way there from the host alone."""

    @cache  # both routes have the same pages
    def pages(is_open: bool) -> ASGIApp:
        from loci.web.routes import Pages

        return Pages(app, is_open=is_open, clock=time.time)

    return Module(name="web", routes=[ModuleRoute(path, pages) for path in ("/ui{rest:path}", "/")])
