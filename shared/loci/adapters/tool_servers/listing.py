"""The lists of a tool server, page by page: its tools, prompts, resources and templates."""

from collections.abc import AsyncGenerator, Awaitable, Callable
from typing import Any, Final, cast

from mcp.client.client import Client
from mcp.shared.exceptions import MCPError
from mcp_types import METHOD_NOT_FOUND, PaginatedRequestParams, Prompt, Resource, ResourceTemplate, Tool
from mcp_types.methods import validate_server_result
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS, MODERN_PROTOCOL_VERSIONS
from pydantic import ValidationError

from loci.core.json import JsonObject
from loci.gateway.offer import Kind, Offer, is_view
from loci.gateway.tool_server import UpstreamTool

Ask = Callable[[Callable[[Client], Awaitable[Any]]], Awaitable[Any]]
"""Asks the server, in the time of the request and with its errors."""
MOST_TOOLS: Final = 5000
LARGEST_LIST: Final = 10_000_000
"""The characters of all its tools, as JSON: they are kept, and read at each search."""
LONGEST_NAME: Final = 128
"""The longest name of a tool, in characters, as the protocol advises."""
MOST_OFFERS: Final = 1000
"""Prompts, resources or templates that are known of a server. It may have more resources: each can be read."""
LARGEST_OFFERS: Final = 500_000
LONGEST_URI: Final = 2000
OFFERED: Final = ("arguments", "mimeType", "size")
"""The fields of an offer that are passed on beside its name, title and description."""
METHODS: Final = {
    "tools": "tools/list",
    "prompts": "prompts/list",
    "resources": "resources/list",
    "resourceTemplates": "resources/templates/list",
}
"""The methods whose results are lists, by the field that has the list."""
VISIBLE_TO: Final = ("model", "app")
FAULT: Final = "loci/fault"
"""The name in the `_meta` of a tool that breaks the protocol: the fault."""


async def all_tools(server: str, ask: Ask) -> list[UpstreamTool]:
    """Ask for all pages. A list without an end ends at the first repeated cursor, or when it gets too long.

    Tools for which there is no room are left out, with all that come after them; so is one whose name nobody can call
    it by, or has before it.
    """
    found: dict[str, UpstreamTool] = {}

    async def page(client: Client, params: PaginatedRequestParams | None) -> tuple[list[Tool], str | None]:
        listed = await client.session.list_tools(params=params)
        return listed.tools, listed.next_cursor

    async for text, one in _pages(ask, page, MOST_TOOLS, LARGEST_LIST):
        if _is_name(one.name) and one.name not in found:
            plain = Tool.model_validate_json(text)  # without numbers that JSON does not have
            found[one.name] = _tool(server, plain)
    return list(found.values())


async def all_offers(server: str, ask: Ask) -> list[Offer]:
    """Ask for what the server says it has. What has no room, or no name or address to ask for it by, is left out."""

    async def prompts(client: Client, params: PaginatedRequestParams | None) -> tuple[list[Prompt], str | None]:
        listed = await client.session.list_prompts(params=params)
        return listed.prompts, listed.next_cursor

    async def resources(client: Client, params: PaginatedRequestParams | None) -> tuple[list[Resource], str | None]:
        listed = await client.session.list_resources(params=params)
        return listed.resources, listed.next_cursor

    async def templates(
        client: Client, params: PaginatedRequestParams | None
    ) -> tuple[list[ResourceTemplate], str | None]:
        listed = await client.session.list_resource_templates(params=params)
        return listed.resource_templates, listed.next_cursor

    async def capabilities(client: Client) -> tuple[bool, bool]:
        return client.server_capabilities.prompts is not None, client.server_capabilities.resources is not None

    has_prompts, has_resources = await ask(capabilities)
    found: dict[tuple[Kind, str], Offer] = {}
    for pages in (*([prompts] if has_prompts else []), *([resources, templates] if has_resources else [])):
        async for _, one in _pages(ask, cast("Any", pages), MOST_OFFERS, LARGEST_OFFERS):
            offer = _offer(server, one)
            if _is_name(offer.name) and offer.uri.isprintable() and len(offer.uri) <= LONGEST_URI:
                found.setdefault((offer.kind, offer.uri or offer.name), offer)
    return list(found.values())


async def _pages(
    ask: Ask,
    page: Callable[[Client, PaginatedRequestParams | None], Awaitable[tuple[list[Any], str | None]]],
    most: int,
    room: int,
) -> AsyncGenerator[tuple[str, Any]]:
    """The items of all pages, each also as JSON, until there are too many, or too much text, or no new page."""
    cursors: set[str] = set()
    cursor: str | None = None
    count = 0
    while True:
        params = None if cursor is None else PaginatedRequestParams(cursor=cursor)
        try:
            items, cursor = await ask(lambda client, params=params: page(client, params))
        except MCPError as error:
            if error.error.code == METHOD_NOT_FOUND and not count:
                return
            raise
        for one in items:
            text = one.model_dump_json(by_alias=True)
            room -= len(text)
            if room < 0 or count >= most:
                return
            count += 1
            yield text, one
        if cursor is None or cursor in cursors or max(count, len(cursors)) >= most:
            return
        cursors.add(cursor)


def _is_name(name: str) -> bool:
    """True if it is one plain word or line, as the names that people read and models repeat."""
    return 0 < len(name) <= LONGEST_NAME and name.isprintable()


def _tool(server: str, tool: Tool) -> UpstreamTool:
    annotations: JsonObject = {}
    if tool.annotations is not None:
        annotations = tool.annotations.model_dump(mode="json", by_alias=True, exclude_none=True)
    meta = tool.meta or {}
    ui = _object(meta.get("ui"))
    view, seen_by = ui.get("resourceUri", meta.get("ui/resourceUri")), ui.get("visibility")
    return UpstreamTool(
        server=server,
        name=tool.name,
        title=tool.title,
        description=tool.description or "",
        input_schema=tool.input_schema,
        output_schema=tool.output_schema,
        annotations=annotations,
        fault=meta.get(FAULT),
        view=view if is_view(view) and view.isprintable() and len(view) <= LONGEST_URI else None,
        visibility=[one for one in VISIBLE_TO if one in seen_by] if isinstance(seen_by, list) else None,
    )


def _object(value: object) -> JsonObject:
    return cast("JsonObject", value) if isinstance(value, dict) else {}


def _offer(server: str, one: Prompt | Resource | ResourceTemplate) -> Offer:
    kind: Kind = "prompt"
    uri = ""
    if isinstance(one, Resource):
        kind, uri = "resource", one.uri
    elif isinstance(one, ResourceTemplate):
        kind, uri = "template", one.uri_template
    said = one.model_dump(mode="json", by_alias=True, exclude_none=True)
    more: JsonObject = {name: said[name] for name in OFFERED if name in said}
    if is_view(uri) and (ui := _object(_object(said.get("_meta")).get("ui"))):
        more["ui"] = ui
    return Offer(server, kind, one.name, uri, one.title, one.description or "", more)


def repaired(result: dict[str, Any]) -> dict[str, Any]:
    """The result of a request for a list without the items that break the protocol: they would cost the whole list.

    A tool stays without its schemas, and with the fault, so that a person learns which it is.
    """
    field = next((one for one in METHODS if isinstance(result.get(one), list)), None)
    if field is None or not result.keys().isdisjoint(("content", "contents", "messages")):
        return result
    version = (MODERN_PROTOCOL_VERSIONS if "resultType" in result else HANDSHAKE_PROTOCOL_VERSIONS)[-1]
    try:
        validate_server_result(METHODS[field], version, result)
    except ValidationError as error:
        faults: dict[int, str] = {}
        for fault in error.errors(include_url=False, include_context=False, include_input=False):
            match fault["loc"]:
                case (str(name), int(number), *rest) if name == field:
                    faults.setdefault(number, f"{'.'.join(map(str, rest))}: {fault['msg']}")
                case _:
                    pass
        items: list[object] = []
        for at, one in enumerate(cast("list[object]", result[field])):
            match faults.get(at), one:
                case None, _:
                    items.append(one)
                case fault, {"name": str(name)} if field == "tools":
                    items.append({"name": name, "inputSchema": {"type": "object"}, "_meta": {FAULT: fault}})
                case _:
                    pass
        return {**result, field: items}
    return result
