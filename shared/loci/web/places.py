"""The places of the navigation, in its order. A page that is made adds its line here."""

from typing import Final

PLACES: Final = {
    "search": "Search",
    "graph": "Graph",
    "files": "Files",
    "tools": "Tools",
    "runs": "Runs",
    "approvals": "Approvals",
    "learned": "Learned",
    "executors": "Executors",
    "connections": "Connections",
    "health": "Health",
}
"""The name of each page in its address, and the name that people read."""
USUAL: Final = "graph"
"""The page to which `/ui` leads."""
