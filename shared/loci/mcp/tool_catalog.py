"""The tools of an endpoint, loaded when one is called or all are listed; and Loci's own, for callers within it."""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import cast

from mcp_types import CallToolResult

from loci.core.errors import Refused
from loci.core.identity import Caller
from loci.core.json import Json, JsonObject
from loci.core.lazy import Lazy, part
from loci.core.scopes import Area, scope_of
from loci.core.trust import NoteReading, gathered
from loci.mcp.answers import ShortenedResult, tool_answer
from loci.mcp.caller import ProgressReport
from loci.mcp.tool import OWN_TOOLS, SERVER, Arguments, LociTool, Surface, full_id, wire_name

PREFIX = "mcp__"
Progress = Callable[[float, float | None, str | None], None]


class ToolFamily:
    """Tools that are loaded together. Their ids are known before."""

    def __init__(
        self,
        ids: tuple[str, ...],
        surfaces: frozenset[Surface],
        load: Callable[[], Sequence[LociTool]],
        *,
        everywhere: bool = True,
        listed: Mapping[Surface, frozenset[str]] | None = None,
    ) -> None:
        """`surfaces`: the endpoints that offer the tools besides `/mcp` and `/mcp/core`, which do if `everywhere`.

        `listed`: the tools that an endpoint lists, if it lists only some. The others are called by name.
        """
        self.ids = ids
        self.surfaces = surfaces
        self.everywhere = everywhere
        self._load = load
        self._listed = listed or {}

    @part
    def tools(self) -> Sequence[LociTool]:
        """The tools, loaded when this is first read."""
        return self._load()

    def is_on(self, surface: Surface) -> bool:
        """True if the endpoint offers them."""
        return surface in self.surfaces or (surface in ("all", "core") and self.everywhere)

    def lists(self, surface: Surface, id: str) -> bool:
        """True if the endpoint lists this one of the tools."""
        return id in self._listed.get(surface, self.ids)


def tool_family(
    load: Callable[[], Sequence[LociTool]],
    *ids: str,
    surfaces: Iterable[Surface] = OWN_TOOLS,
    everywhere: bool = True,
    area: Area | None = None,
    needs: Iterable[str] = (),
    one_of: Iterable[str] = (),
    listed: Mapping[Surface, frozenset[str]] | None = None,
) -> ToolFamily:
    """Make a family of the tools with these ids that `load` makes.

    A client needs the scope of the area, those in `needs`, and at least one of those in `one_of`.
    """

    def scoped() -> list[LociTool]:
        mine = [tool for tool in load() if tool.id in ids]
        return [replace(tool, scopes=_scopes(tool, area, needs), one_of=frozenset(one_of)) for tool in mine]

    return ToolFamily(ids, frozenset(surfaces), scoped, everywhere=everywhere, listed=listed)


def _scopes(tool: LociTool, area: Area | None, needs: Iterable[str]) -> frozenset[str]:
    return frozenset({*needs, *([scope_of(area, writes=not tool.reads)] if area else [])})


def family_of(tool: LociTool, surfaces: Iterable[Surface] = OWN_TOOLS) -> ToolFamily:
    """A family of one tool that is already loaded."""
    return tool_family(lambda: (tool,), tool.id, surfaces=surfaces)


class ToolNames:
    """Finds the wire name behind a spelling: the id, the wire name, or the part behind the colon if one tool has it.

    A tool without a colon in its id is also found with the name of Loci before it.
    """

    def __init__(self, ids: Iterable[str]) -> None:
        self._wire: dict[str, str] = {}
        short: dict[str, list[str]] = {}
        for id in ids:
            wire = wire_name(id)
            if wire in self._wire.values():
                raise ValueError(f"two tools have the wire name {wire!r}")
            self._wire[id] = wire
            short.setdefault(id.rpartition(":")[2], []).append(wire)
        exact = self._wire | {wire: wire for wire in self._wire.values()}
        exact |= {f"{SERVER}{sign}{id}": wire for id, wire in self._wire.items() if ":" not in id for sign in ":_"}
        self._spellings = {name: wires[0] for name, wires in short.items() if len(wires) == 1} | exact

    def find(self, spelling: str) -> str | None:
        """The wire name; None if no tool has that spelling. Some clients write `mcp__pml__search_tools`."""
        if not spelling.startswith(PREFIX):
            return self._spellings.get(spelling)
        server, _, name = spelling.removeprefix(PREFIX).partition("__")
        return self._spellings.get(name if server == SERVER else f"{server}:{name}")


class ToolCatalog:
    """The tools of one endpoint, by every spelling of their names."""

    def __init__(self, families: Sequence[ToolFamily], surface: Surface) -> None:
        self._families = [one for one in families if one.is_on(surface)]
        self._family_of = {wire_name(id): family for family in self._families for id in family.ids}
        self._names = ToolNames(id for family in self._families for id in family.ids)
        self.listed = [wire_name(id) for family in self._families for id in family.ids if family.lists(surface, id)]
        """The names of the tools that the endpoint lists."""

    @property
    def names(self) -> list[str]:
        """The names of all tools that the endpoint offers."""
        return list(self._family_of)

    def name(self, spelling: str) -> str | None:
        """The listed name behind a spelling; None if there is no such tool."""
        return self._names.find(spelling)

    def find(self, spelling: str) -> LociTool | None:
        """The tool behind a spelling; None if there is no such tool."""
        return self.tool(self._names.find(spelling))

    def tool(self, name: str | None) -> LociTool | None:
        """The tool with a listed name; None without a name."""
        tools = self._family_of[name].tools if name else ()
        return next((tool for tool in tools if tool.sdk_tool.name == name), None)

    def all(self) -> list[LociTool]:
        """Return all tools in the order of their names, so that every listing is the same."""
        tools = (tool for family in self._families for tool in family.tools)
        return sorted(tools, key=lambda tool: tool.sdk_tool.name)


class InternalTool:
    """A tool of Loci, as the gateway sees it."""

    def __init__(self, tool: LociTool, note: NoteReading) -> None:
        self._tool = tool
        self._note = note
        listed = tool.sdk_tool
        self.id = full_id(tool.id)
        """The id with a server's name, such as `loci:search_documents`."""
        self.wire_name = listed.name
        self.title = listed.title
        self.description = listed.description
        self.input_schema: JsonObject = listed.parameters
        self.output_schema: JsonObject | None = listed.output_schema
        told = listed.annotations
        self.annotations: JsonObject = told.model_dump(by_alias=True, exclude_none=True) if told else {}
        self.only_for_clients = tool.only_for_clients
        self.is_step = tool.step is not None
        self.keeps = tool.keeps

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
        with gathered() as seen:
            try:
                answer = tool_answer(self._tool, self._tool.function.here(given, caller, ProgressReport(send)))
            finally:
                self._note(caller, seen)
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


class InternalTools:
    """All of Loci's tools. They are loaded at the first call of one, or when they are searched."""

    def __init__(self, families: Callable[[], Sequence[ToolFamily]], note: NoteReading) -> None:
        """`note`: notes that a caller gets texts of others, before they get them."""
        self._note = note
        self._catalog = Lazy(lambda: ToolCatalog(families(), "all"))
        self._all = Lazy(lambda: [InternalTool(one, note) for one in self._catalog.get().all()])

    def all(self) -> Sequence[InternalTool]:
        """Return all tools in the order of their names."""
        return self._all.get()

    def find(self, spelling: str) -> InternalTool | None:
        """The tool behind a spelling; None if there is no such tool."""
        tool = self._catalog.get().find(spelling)
        return InternalTool(tool, self._note) if tool else None
