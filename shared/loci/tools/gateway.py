"""The one way to every upstream tool: its name, the policy, its arguments, the call."""

import re
from collections.abc import Callable
from difflib import get_close_matches

from loci.core.errors import LociError, NotFound
from loci.core.identity import Owner
from loci.core.json import JsonObject
from loci.tools.arguments import check_arguments
from loci.tools.configuration import Configured
from loci.tools.policy import check
from loci.tools.ports import ToolServers
from loci.tools.tool_list import ToolList, tools_of
from loci.tools.tool_server import UpstreamTool
from loci.tools.usage import Usage

Progress = Callable[[float, float | None, str | None], None]
NEAREST = 3


def wire_spelling(id: str) -> str:
    """The spelling of a tool's id that every client accepts: `github:create-issue` is `github_create_issue`."""
    return re.sub(r"[^a-z0-9]+", "_", id.lower()).strip("_")


class Gateway:
    """Finds the tool behind a name, checks the call, and passes it on. Its result comes back untouched."""

    def __init__(self, tool_list: ToolList, servers: ToolServers, usage: Usage, *, read_only: bool) -> None:
        self._list = tool_list
        self._servers = servers
        self._usage = usage
        self._read_only = read_only

    def find(self, owner: Owner, spelling: str) -> tuple[Configured, UpstreamTool] | None:
        """The tool with this id, or this wire spelling; also as clients write it that put `mcp__` before each name."""
        wanted = spelling.removeprefix("mcp__").replace("__", ":", 1) if spelling.startswith("mcp__") else spelling
        named = self._list.held(owner, wanted.partition(":")[0])
        exact = (one for one in tools_of([named] if named else []) if one[1].id == wanted)
        if (found := next(exact, None)) is not None:
            return found
        plain = wire_spelling(wanted)
        return next((one for one in tools_of(self._list.all(owner)) if wire_spelling(one[1].id) == plain), None)

    def known(self, owner: Owner, spelling: str) -> tuple[Configured, UpstreamTool]:
        """The tool behind the name. Raises `NotFound` with the nearest names, or with why its server has no tools.

        A server that nobody asked yet is asked now.
        """
        found = self.find(owner, spelling)
        if found is not None:
            return found
        servers = self._list.all(owner)
        named = next((one for one in servers if re.split(r"[:_]", spelling)[0].lower() == one.name.lower()), None)
        failure = None
        if named is not None and (named.is_new or named.failure):
            try:
                self._list.ask(owner, named.name)
            except LociError as error:
                failure = error
            else:
                if (found := self.find(owner, spelling)) is not None:
                    return found
        if failure is not None:
            raise failure
        ids = [tool.id for _, tool in tools_of(servers)]
        near = ", ".join(get_close_matches(spelling, ids, NEAREST, 0.5))
        raise NotFound(
            f"There is no tool {spelling[:80]!r}",
            f"The nearest are {near}" if near else "Find one with pml_search_tools",
            code="TOOL_NOT_FOUND",
        )

    def call(
        self,
        owner: Owner,
        spelling: str,
        arguments: JsonObject,
        *,
        seconds: float | None = None,
        progress: Progress | None = None,
    ) -> tuple[UpstreamTool, JsonObject]:
        """Call the tool; return it, and its result as the protocol has it.

        Raises `LociError` if nothing was called, or if the server gave no result.
        """
        server, tool = self.known(owner, spelling)
        check(tool, server.entry, read_only=self._read_only)
        check_arguments(tool.id, tool.input_schema, arguments)
        worked = False
        try:
            result = self._servers.call(owner, server, tool.name, arguments, seconds=seconds, progress=progress)
            worked = result.get("isError") is not True
        finally:
            self._usage.called(owner, tool.id, worked=worked)
        return tool, result
