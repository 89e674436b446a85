"""Pages for people, as the server offers them."""

import time
from functools import cache

from starlette.types import ASGIApp

from loci.app import App
from loci.mcp.module import Module, ModuleRoute


def web_module(app: App) -> Module:
    """Everything below `/ui`, and the way there from the host alone. Nothing of it is loaded before."""

    @cache  # both routes have the same pages
    def pages(is_open: bool) -> ASGIApp:
        from loci.web.routes import Pages

        return Pages(app, is_open=is_open, clock=time.time)

    return Module(name="web", routes=[ModuleRoute(path, pages) for path in ("/ui{rest:path}", "/")])
