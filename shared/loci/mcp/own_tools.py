"""Loci's own tools, for those who call them without a request: code in a sandbox, and tasks of workflows."""

import json
from collections.abc import Callable, Sequence
from typing import cast

from mcp_types import CallToolResult

from loci.core.errors import Refused
from loci.core.identity import Caller
from loci.core.json import Json, JsonObject
from loci.core.lazy import Lazy
from loci.mcp.answer_budget import ShortenedResult
from loci.mcp.arguments import Arguments
from loci.mcp.report import Report
from loci.mcp.tool import LociTool, full_id
from loci.mcp.tool_catalog import ToolCatalog, ToolFamily

Progress = Callable[[float, float | None, str | None], None]


class OwnTool:
    """One of Loci's tools, as the gateway sees it."""

    def __init__(self, tool: LociTool) -> None:
        self._tool = tool
        listed = tool.sdk_tool
        self.id = full_id(tool.id)
        """With a server's name, such as `loci:search_documents`."""
        self.wire_name = listed.name
        self.title = listed.title
        self.description = listed.description
        self.input_schema: JsonObject = listed.parameters
        self.output_schema: JsonObject | None = listed.output_schema
        told = listed.annotations
        self.annotations: JsonObject = told.model_dump(by_alias=True, exclude_none=True) if told else {}
        self.only_for_clients = tool.only_for_clients
        self.is_step = tool.is_step

    def check_names(self, arguments: JsonObject) -> None:
        """Raise `Refused` if it has no argument of one of these names. Its schema does not tell that."""
        metadata = self._tool.sdk_tool.fn_metadata
        if isinstance(metadata, Arguments):
            metadata.check_names(arguments)

    def call(self, caller: Caller, arguments: JsonObject, progress: Progress | None) -> JsonObject:
        """Call it on this thread, and return its result as the protocol has it. Raises `LociError` if it fails."""

        def send(done: float, total: float | None, text: str) -> None:
            if progress is not None:
                progress(done, total, text)

        self._tool.check(caller, self.id)
        given = self._tool.sdk_tool.fn_metadata.validate_arguments(arguments)
        answer = self._tool.answer(self._tool.function.here(given, caller, Report(send)))
        if not isinstance(answer, CallToolResult):
            raise Refused(f"{self.id} asks for input that nobody can give here", "Call it over MCP", code="TOOL_ERROR")
        blocks = [one.model_dump(mode="json", by_alias=True, exclude_none=True) for one in answer.content]
        result: JsonObject = {"content": [*blocks], "isError": answer.is_error is True}
        if answer.meta is not None:
            result["_meta"] = dict(answer.meta)
        # Not the whole by `model_dump`: the nulls in the structure are values.
        shown = cast("Json", answer.structured_content)
        structured = json.loads(answer.whole) if isinstance(answer, ShortenedResult) else shown
        return result if structured is None else result | {"structuredContent": structured}


class OwnTools:
    """All of Loci's tools. They are loaded at the first call of one, or when they are searched."""

    def __init__(self, families: Callable[[], Sequence[ToolFamily]]) -> None:
        self._catalog = Lazy(lambda: ToolCatalog(families(), "all"))
        self._all = Lazy(lambda: [OwnTool(one) for one in self._catalog.get().all()])

    def all(self) -> Sequence[OwnTool]:
        """Every tool, in the order of the names."""
        return self._all.get()

    def find(self, spelling: str) -> OwnTool | None:
        """The tool behind a spelling; None if there is no such tool."""
        tool = self._catalog.get().find(spelling)
        return OwnTool(tool) if tool else None
