"""The names of Loci's own views, which tools name in their listing (MCP Apps)."""

from typing import Any, Final, Literal, get_args

View = Literal["approval", "figure", "graph", "results", "run", "table"]
VIEWS: Final[frozenset[str]] = frozenset(get_args(View))
VIEW: Final = "ui://loci/"
"""The beginning of the address of a view. Those of tool servers go on with the name of the server and a slash."""
VIEW_TYPE: Final = "text/html;profile=mcp-app"


def named_view(view: View | None) -> dict[str, Any] | None:
    """Name the view, as the listing of its tool does."""
    return {"ui": {"resourceUri": f"{VIEW}{view}"}} if view else None


def is_own_view(uri: str) -> bool:
    """True if this is the address of a view of Loci's own."""
    return uri.startswith(VIEW) and "/" not in uri.removeprefix(VIEW)
