"""The places of the navigation, in its order. A page that is made adds its line here."""

from typing import Final

PLACES: Final = {
    "search": "Search",
    "graph": "Graph",
    "files": "Files",
    "runs": "Runs",
    "tools": "Tools",
    "settings": "Settings",
}
"""The name of each page in its address, and the name that people read."""
USUAL: Final = "graph"
"""The page to which `/ui` leads."""
MOVED: Final = {
    "approvals": "runs",
    "learned": "tools",
    "executors": "settings",
    "connections": "settings",
    "health": "settings",
}
"""Pages that there were once, each with the page that shows the same now."""
