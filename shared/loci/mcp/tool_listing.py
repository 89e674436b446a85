"""The listing of Loci's own tools, kept in a file: to make it anew, every tool is loaded, which takes most of a second.

The file in the data folder counts as long as no module of Loci has changed. A layer for AWS has a file beside its
modules, which never change. What depends on the caller or on settings is not in it.
"""

import hashlib
import json
import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from importlib.metadata import version as version_of
from pathlib import Path
from typing import Final

from loci.core.lazy import Lazy
from loci.core.version import DISTRIBUTION
from loci.mcp.tool import ListedTool
from loci.mcp.tool_catalog import ToolCatalog, ToolFamily

PACKAGE: Final = Path(__file__).parents[1]
NAME: Final = "tool-listing.json"


class ToolListing:
    """The tools as they are listed, from the file if there is a valid one."""

    def __init__(self, folder: Path | None, families: Callable[[], Sequence[ToolFamily]]) -> None:
        """`folder`: where the listing is kept. `families`: all of Loci's own tools."""
        self._folder = folder
        self._families = families
        self._kept = Lazy(self._read_or_make)

    def of(self, catalog: ToolCatalog) -> list[ListedTool]:
        """The tools that the endpoint of the catalog lists, in the order of their names."""
        kept = self._kept.get()
        found = {name: kept.get(name) or catalog.tool(name) for name in sorted(catalog.listed)}
        return [one if isinstance(one, ListedTool) else one.listed for one in found.values() if one]

    def _read_or_make(self) -> Mapping[str, ListedTool]:
        shipped = _read(PACKAGE, libraries())
        if shipped or self._folder is None:
            return shipped
        made_of = f"{libraries()} {_modules()}"
        if not (kept := _read(self._folder, made_of)):
            tools = [tool.listed for family in self._families() for tool in family.tools]
            kept = {one.tool.name: one for one in tools}
            with suppress(OSError):  # it is made again the next time
                write_listing(self._folder, made_of, tools)
        return kept


def libraries() -> str:
    """The versions of Loci and of the libraries that make schemas."""
    return " ".join(version_of(one) for one in (DISTRIBUTION, "mcp", "pydantic"))


def _modules() -> str:
    """A hash that changes with each change of a module of Loci."""
    found = hashlib.sha256()
    for folder, folders, files in os.walk(PACKAGE):
        folders[:] = sorted(one for one in folders if one not in ("__pycache__", "static", "example"))
        for file in sorted(files):
            if file.endswith(".py"):
                stat = Path(folder, file).stat()
                found.update(f"{folder}/{file} {stat.st_size} {stat.st_mtime_ns}\n".encode())
    return found.hexdigest()


def write_listing(folder: Path, made_of: str, tools: Sequence[ListedTool]) -> None:
    """Keep the listing of these tools; it counts as long as it would be made of the same."""
    from loci.core.atomic_write import replace_file  # a function on AWS only reads

    content = {"made_of": made_of, "tools": [one.as_json() for one in tools]}
    plain = json.dumps(content, ensure_ascii=False, separators=(",", ":"))
    replace_file(folder / NAME, plain.encode(), mode=None, synced=False)


def _read(folder: Path, made_of: str) -> dict[str, ListedTool]:
    """The tools of a listing that was made of this; none if there is no such file."""
    with suppress(OSError, ValueError, KeyError, TypeError):
        content = json.loads((folder / NAME).read_bytes())
        if content["made_of"] == made_of:
            tools = [ListedTool.from_json(one) for one in content["tools"]]
            return {one.tool.name: one for one in tools}
    return {}
