"""An HTTP API as a tool server: it lists the operations of the API's OpenAPI document, and sends their requests."""

import asyncio
import base64
import json
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final, cast
from urllib.parse import urlencode, urljoin, urlsplit

import httpx2
import yaml
from mcp.server.lowlevel import Server
from mcp.shared.memory import create_client_server_memory_streams
from mcp_types import (
    CallToolRequestParams,
    CallToolResult,
    ContentBlock,
    ImageContent,
    ListToolsResult,
    PaginatedRequestParams,
    TextContent,
    Tool,
    ToolAnnotations,
)

from loci.adapters.tool_servers.api_document import FORM, PARTS, TEXT, ApiDocument, FormFile, Operation, plain_name
from loci.adapters.tool_servers.diagnostics import LARGEST_ANSWER
from loci.adapters.tool_servers.http_client import Credentials
from loci.adapters.tool_servers.small_requests import SmallRequests
from loci.core.errors import LociError
from loci.gateway.tool_server import Endpoint, ToolServer

if TYPE_CHECKING:
    from mcp.client._transport import TransportStreams
    from mcp.server.context import ServerRequestContext

LARGEST_DOCUMENT: Final = 20_000_000
PAGE: Final = 100
LONGEST_CALL: Final = 900.0
"""Seconds for a request. A caller who waits less cancels it."""
LONGEST_ERROR: Final = 4000
ACCEPT: Final = "application/json, text/plain;q=0.9, */*;q=0.5"
HINTS: Final = {
    "GET": ToolAnnotations(read_only_hint=True, destructive_hint=False, idempotent_hint=True),
    "PUT": ToolAnnotations(read_only_hint=False, destructive_hint=True, idempotent_hint=True),
    "DELETE": ToolAnnotations(read_only_hint=False, destructive_hint=True, idempotent_hint=True),
}
"""The hints of a method, by the promises of HTTP. The others promise nothing."""
IMAGES: Final = ("image/png", "image/jpeg", "image/gif", "image/webp")


class ApiServer:
    """The operations of one API, and the requests to it."""

    def __init__(self, server: ToolServer, endpoint: Endpoint, *, only_public: bool) -> None:
        self._server = server
        self._endpoint = endpoint
        self._only_public = only_public or endpoint.only_public
        self._keys = {plain_name(one) for one in endpoint.query}
        self._named = {_origin(one) for one in (endpoint.url, endpoint.base_url) if one}
        """The places that the operator named: only these may lie in a private network, or get the headers."""
        self._operations: dict[str, Operation] = {}

    @asynccontextmanager
    async def transport(self) -> AsyncGenerator["TransportStreams"]:
        """Read the document, and serve its operations. Raises `ValueError` if it cannot be read."""
        content = await self._document()
        found = await asyncio.to_thread(_operations, content, self._endpoint)
        self._operations = {one.name: one for one in found}
        tools = [_tool(one) for one in found]

        async def listed(_: "ServerRequestContext[Any]", params: PaginatedRequestParams | None) -> ListToolsResult:
            begin = int((params and params.cursor) or 0)
            end = begin + PAGE
            return ListToolsResult(tools=tools[begin:end], next_cursor=str(end) if end < len(tools) else None)

        async def called(_: "ServerRequestContext[Any]", params: CallToolRequestParams) -> CallToolResult:
            try:
                return await self._call(params.name, params.arguments or {})
            except LociError as error:
                return _failed(str(error))
            except ValueError as error:
                return _failed(self._server.redaction().text(str(error)))

        inner = Server(self._server.name, on_list_tools=listed, on_call_tool=called)
        async with create_client_server_memory_streams() as (ours, theirs), asyncio.TaskGroup() as tasks:
            serving = tasks.create_task(inner.run(*theirs, inner.create_initialization_options()))
            try:
                yield ours
            finally:
                await ours[1].aclose()
                await theirs[1].aclose()
                serving.cancel()

    async def _document(self) -> bytes:
        request = httpx2.Request("GET", self._endpoint.url, headers={"Accept": "application/json, */*"})
        own = not self._endpoint.base_url or _origin(self._endpoint.base_url) == _origin(self._endpoint.url)
        try:
            response = await self._sent(request, LARGEST_DOCUMENT, with_headers=own)
        except LociError as error:
            raise ValueError(error.what) from None
        if response.status_code != 200:
            raise ValueError(f"its document answers {_status(response)}")
        return response.content

    async def _call(self, name: str, arguments: Mapping[str, Any]) -> CallToolResult:
        operation = self._operations.get(name)
        if operation is None:
            return _failed(f"There is no operation {name[:80]!r}")
        base = self._endpoint.base_url or operation.base
        headers = {**operation.headers(arguments), "Accept": ACCEPT}
        value = arguments.get(operation.body_argument) if operation.body else None
        form = operation.form(value) if operation.body in (FORM, PARTS) and value is not None else []
        body: dict[str, Any] = {}
        if operation.body == PARTS:  # its media type names the boundary
            body = {"files": [(name, _part(one)) for name, one in form]}
        elif value is not None:
            headers["Content-Type"] = operation.body
            body = {"content": _content(operation, value, form)}
        request = httpx2.Request(operation.method, operation.target(arguments, base), headers=headers, **body)
        for name in (*request.url.params, *(name for name, _ in form)):
            if plain_name(name) in self._keys:
                raise ValueError(f"{name[:80]!r} is a key of this server, which no argument sets")
        is_named = _origin(str(request.url)) in self._named
        if not is_named and (self._endpoint.headers or self._endpoint.bearer or self._keys):
            what = f"Its document names {request.url.host} as the address of the API, and the keys are not for that"
            raise ValueError(f"{what}. Add it with --base-url if you trust it")
        if self._keys:
            query = b"&".join(one for one in (request.url.query, urlencode(self._endpoint.query).encode()) if one)
            request.url = request.url.copy_with(query=query)
        return _result(await self._sent(request, LARGEST_ANSWER, with_headers=is_named), self._server)

    async def _sent(self, request: httpx2.Request, most: int, *, with_headers: bool) -> httpx2.Response:
        """Send the request, and once more with another token if this one is refused. Raises `LociError` on failure."""
        only_public = self._only_public or _origin(str(request.url)) not in self._named
        requests = SmallRequests(only_public=only_public, largest=most, seconds=LONGEST_CALL)
        credentials = Credentials(self._server.name, replace(self._endpoint, url=str(request.url)))
        for name, text in self._endpoint.headers.items() if with_headers else ():
            request.headers[name] = text
        token = credentials.add_to(request) if with_headers else None
        response = await requests.send(request)
        if response.status_code == 401 and token is not None:
            await credentials.renew(token)
            credentials.add_to(request)
            response = await requests.send(request)
        return response


class _Yaml(yaml.CSafeLoader):
    """YAML with the types of JSON: dates are texts."""


_Yaml.yaml_implicit_resolvers = {
    first: [one for one in found if one[0] != "tag:yaml.org,2002:timestamp"]
    for first, found in yaml.CSafeLoader.yaml_implicit_resolvers.items()
}


def _operations(content: bytes, endpoint: Endpoint) -> list[Operation]:
    text = content.decode("utf-8-sig", "replace")
    try:
        if text.lstrip().startswith("{"):
            document = json.loads(text)
        elif any(isinstance(one, yaml.AliasEvent) for one in yaml.parse(text, yaml.CSafeLoader)):
            raise ValueError("its document has aliases of YAML, which may multiply it: give it as JSON")
        else:
            document = yaml.load(text, _Yaml)  # noqa: S506 (it is a safe loader)
        keys = {plain_name(one) for one in endpoint.query}
        return ApiDocument(document, endpoint.url).operations(frozenset(endpoint.methods), keys)
    except (yaml.YAMLError, RecursionError) as error:
        raise ValueError(f"its document cannot be read ({type(error).__name__})") from None


def _tool(one: Operation) -> Tool:
    return Tool(
        name=one.name,
        title=one.title or None,
        description=one.description,
        input_schema=one.input_schema,
        output_schema=one.output_schema,
        annotations=HINTS.get(one.method, ToolAnnotations(read_only_hint=False)),
    )


def _content(operation: Operation, value: object, form: Sequence[tuple[str, str | FormFile]]) -> bytes:
    if operation.body == TEXT:
        return str(value).encode()
    if operation.body == FORM:
        return urlencode([(name, one if isinstance(one, str) else one.content) for name, one in form]).encode()
    return json.dumps(value, ensure_ascii=False).encode()


def _part(one: str | FormFile) -> tuple[str | None, bytes]:
    return (None, one.encode()) if isinstance(one, str) else (one.name, one.content)


def _result(response: httpx2.Response, server: ToolServer) -> CallToolResult:
    content = response.content
    kind = response.headers.get("content-type", "").partition(";")[0].strip().lower()
    text = content.decode(response.charset_encoding or "utf-8", "replace") if not kind.startswith("image/") else ""
    if response.status_code >= 300:
        said = server.redaction().text(text)[:LONGEST_ERROR]
        return _failed(": ".join(one for one in (f"The API answers {_status(response)}", said) if one))
    if kind == "text/event-stream":
        return _failed("The API answers with a stream of events, which has no end to wait for")
    if kind in IMAGES:
        blocks: list[ContentBlock] = [ImageContent(data=base64.b64encode(content).decode(), mime_type=kind)]
        return CallToolResult(content=blocks)
    if "\0" in text or (kind.startswith(("application/octet", "audio/", "video/")) and content):
        return _failed(f"The API answers with {len(content)} bytes of {kind or 'no known type'}, which is no text")
    structured: dict[str, Any] | None = None
    if kind.endswith("json"):
        try:
            value: object = json.loads(text)
            structured = cast("dict[str, Any]", value) if isinstance(value, dict) else None
        except (ValueError, RecursionError):
            structured = None
    told = text or f"Done: {_status(response)}, without content"
    return CallToolResult(content=[TextContent(text=told)], structured_content=structured)


def _status(response: httpx2.Response) -> str:
    to = response.headers.get("location", "")
    place = urlsplit(urljoin(str(response.request.url), to)) if to and 300 <= response.status_code < 400 else None
    elsewhere = f", a redirect to {place.scheme}://{place.hostname}{place.path}"[:300] if place else ""
    return f"{response.status_code} {response.reason_phrase}".strip() + elsewhere


def _failed(what: str) -> CallToolResult:
    return CallToolResult(content=[TextContent(text=what)], is_error=True)


def _origin(url: str) -> tuple[str, str, int]:
    place = urlsplit(url)
    return place.scheme, (place.hostname or "").lower(), place.port or (443 if place.scheme == "https" else 80)
