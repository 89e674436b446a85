"""Tools that are plain functions, for runs of code."""

import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from loci.code.bridge import OfferedTool
from loci.core.errors import NotFound, Refused
from loci.core.identity import Caller
from loci.core.json import Json, JsonObject

COMMITS: list[Json] = [
    {"sha": "a1", "author": "alice"},
    {"sha": "b2", "author": "bob"},
    {"sha": "c3", "author": "alice"},
]
BY_INTENT: Mapping[str, Sequence[str]] = {
    "Analyze GitHub commits": ("github:list_commits",),
    "read files": ("filesystem:read_file",),
    "wait": ("clock:wait_for_it",),
    "everything": ("github:list_commits", "filesystem:read_file", "broken:fails", "broken:bug", "clock:wait_for_it"),
}


class ToolSet:
    """The tools of each intent, and a record of the calls."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.called: list[tuple[str, str, JsonObject]] = []
        self.go = threading.Event()
        """`clock:wait_for_it` answers once it is set."""
        self._tools: Mapping[str, Callable[[JsonObject], Json]] = {
            "github:list_commits": lambda given: COMMITS[: int(str(given.get("limit", 100)))],
            "filesystem:read_file": self._read,
            "broken:fails": lambda _: self._fail(),
            "broken:bug": lambda given: given["not there"],
            "clock:wait_for_it": lambda _: self._wait(),
            "admin:delete_all": lambda _: "all is gone",
        }

    def offered(self, caller: Caller, intent: str | None) -> Sequence[OfferedTool]:  # noqa: ARG002 (the port's names)
        return [OfferedTool(one) for one in BY_INTENT.get(intent or "", ())]

    def call(self, caller: Caller, tool: str, arguments: JsonObject) -> Json:
        self.called.append((caller.owner.subject, tool, arguments))
        return self._tools[tool](arguments)

    def _read(self, given: JsonObject) -> Json:
        file = self._folder / str(given.get("path"))
        if not file.is_file():
            raise NotFound(f"There is no file {file.name!r}", "Name another")
        return file.read_text("utf-8")

    def _fail(self) -> Json:
        raise Refused("The server is on fire", "Call the fire brigade", code="MCP_SERVER_ERROR")

    def _wait(self) -> Json:
        self.go.wait(60)
        return "it came"
