"""Views: pages that a chat shows beside the answer of a tool (MCP Apps). They show it, and lead to Loci's own pages.

A view stands on the same connection as the model, so no view decides anything: a person answers on Loci's page.
"""

from typing import TYPE_CHECKING, Final

from mcp_types import Resource, TextResourceContents

from loci.core.errors import NotFound
from loci.core.identity import Owner
from loci.core.version import version
from loci.mcp.views import VIEW, VIEW_TYPE, VIEWS
from loci.web.page import embedded, program, static

if TYPE_CHECKING:
    from loci.app import App

SHARED: Final = ("dom", "formats", "views/host")
"""The programs of all views; their own comes behind them, and then the one that begins."""
MORE: Final = {"graph": ("drawn",), "results": ("written",)}
"""Further programs of a view."""
STYLES: Final = ("base.css", "views/view.css")


class ChatViews:
    """The views of Loci's own tools, each a page that loads nothing."""

    def __init__(self, app: "App") -> None:
        self._pages = f"{app.settings.base_url}/ui/"

    def newest(self, owner: Owner) -> list[Resource]:  # noqa: ARG002 (the port)
        """No resources: the tools name their views, and nobody chooses one from a list."""
        return []

    def content(self, owner: Owner, uri: str) -> TextResourceContents:  # noqa: ARG002 (the same for all)
        """The page of a view."""
        name = uri.removeprefix(VIEW)
        if name not in VIEWS:
            raise NotFound(f"Loci has no view {name[:80]!r}", f"The views are {', '.join(sorted(VIEWS))}")
        facts = embedded({"pages": self._pages, "version": version()})
        programs = program(
            [*SHARED, *MORE.get(name, ()), f"views/{name}", "views/begin"], before=f"const facts = {facts};\n"
        )
        html = (
            f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Loci</title>'
            f"<style>{''.join(map(static, STYLES))}</style></head>"
            f'<body><main id="view"></main><p id="said" class="unseen" aria-live="polite"></p>'
            f"<script>{programs}</script></body></html>"
        )
        return TextResourceContents(uri=uri, mime_type=VIEW_TYPE, text=html, _meta={"ui": {"prefersBorder": True}})
