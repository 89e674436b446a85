"""Loci over HTTP: one ASGI application for uvicorn and Lambda."""

import mimetypes
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial
from typing import TYPE_CHECKING
from urllib.parse import quote

from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from loci.core.errors import LociError, NotFound
from loci.core.identity import SYSTEM
from loci.core.lazy import Lazy
from loci.core.version import version
from loci.mcp.http.address import METADATA, asked_scopes, is_open, public_base
from loci.mcp.http.endpoint import Gatekeeper, Transport
from loci.mcp.http.refusal import error_answer
from loci.mcp.http.server_card import card_routes
from loci.mcp.http.sessions import RequestsUnderWay
from loci.mcp.module import tool_families
from loci.mcp.server import LociServer, build_server
from loci.mcp.tool import SURFACES, Surface
from loci.mcp.tool_catalog import ToolFamily

if TYPE_CHECKING:
    from loci.app import App

FOR_ALL = {
    "Access-Control-Allow-Origin": "*",
    "Access-Control-Allow-Headers": "MCP-Protocol-Version",
    "Cache-Control": "no-store",
}
"""The headers of the document that tells clients, also those in browsers, where to get a token."""
Build = Callable[["App", Surface], LociServer]
Endpoint = Callable[[Request], Response]


def path_of(surface: Surface) -> str:
    """The path of an endpoint."""
    return "/mcp" if surface == "all" else f"/mcp/{surface}"


def asgi(
    app: "App",
    *,
    on_loopback: bool = False,
    build: Build | None = None,
    families: Sequence[ToolFamily] | None = None,
    tells_changes: bool = False,
) -> Starlette:
    """Build the application. On loopback, without any auth configured, every caller is the person at this machine.

    `tells_changes`: answers may stay open to tell clients of changed lists.
    """
    managers: list[StreamableHTTPSessionManager] = []
    tools = tool_families(app) if families is None else families
    under_way = RequestsUnderWay()

    def transport(surface: Surface) -> Transport:
        server = build(app, surface) if build else build_server(app, surface, tools, tells_changes=tells_changes)

        def manager(*, json: bool) -> StreamableHTTPSessionManager:
            # Host and origin are checked in front, where the refusal can be explained.
            server.streamable_http_app(json_response=json, stateless_http=True, host="")
            managers.append(server.session_manager)
            return server.session_manager

        stream, json = manager(json=False), manager(json=True)
        list_changes = server.list_changes if server.tells_changes else None
        return Transport(stream.handle_request, json.handle_request, server.is_quick, under_way, list_changes)

    transports = {path_of(surface): transport(surface) for surface in SURFACES}
    opened = is_open(app.settings, on_loopback=on_loopback)

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncGenerator[None, None]:
        async with AsyncExitStack() as stack:
            for manager in managers:
                await stack.enter_async_context(manager.run())
            yield

    routes = [
        *card_routes(app, is_open=opened),
        Route("/mcp{rest:path}", Gatekeeper(app, transports, is_open=opened)),
        *(
            Route(route.path, _LazyApp(Lazy(partial(route.make, opened))))
            for module in app.modules
            for route in module.routes
        ),
        Route("/healthz", _health(app)),
        Route("/blobs/{token}", _blob(app)),
        Route(METADATA, _metadata(app), methods=["GET", "OPTIONS"]),
        Route(METADATA + "/{path:path}", _metadata(app), methods=["GET", "OPTIONS"]),
    ]
    application = Starlette(routes=routes, lifespan=lifespan)
    application.router.redirect_slashes = False  # it would lead to whatever host the request names
    return application


class _LazyApp:
    """An application that no MCP request needs, loaded at its first request."""

    def __init__(self, app: Lazy[ASGIApp]) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self._app.get()(scope, receive, send)


def _health(app: "App") -> Endpoint:
    def health(_: Request) -> Response:
        """Say if the store answers."""
        try:
            app.records.get(SYSTEM, "health", "probe")
        except LociError as error:
            return JSONResponse({"status": "unavailable", "reason": error.code}, 503)
        return JSONResponse({"status": "ok", "version": version()})

    return health


def _blob(app: "App") -> Endpoint:
    def blob(request: Request) -> Response:
        """Send the file behind a signed link, as a download."""
        try:
            if app.local_links is None:
                raise NotFound("Links lead elsewhere here", "Ask for a new one")
            linked = app.local_links.follow(request.path_params["token"])
        except LociError as error:
            problem = error_answer(error)
            return JSONResponse(problem.body, problem.status, problem.headers)
        headers = {
            # Never shown in the page's origin: stored files are other people's content.
            "Content-Disposition": f"attachment; filename*=UTF-8''{quote(linked.name, safe='')}",
            "X-Content-Type-Options": "nosniff",
            "Cache-Control": "private, no-store",
        }
        kind = mimetypes.guess_type(linked.name)[0] or "application/octet-stream"
        return Response(linked.content, media_type=kind, headers=headers)

    return blob


def _metadata(app: "App") -> Endpoint:
    paths = {path_of(surface) for surface in SURFACES}

    def metadata(request: Request) -> Response:
        """The protected resource's document (RFC 9728), which tells a client where to get a token."""
        path = "/" + request.path_params.get("path", "mcp")
        settings, is_own = app.settings, app.settings.oauth == "built-in"
        if not (is_own or settings.oidc_issuer) or path not in paths:
            return JSONResponse({"error": "no authorization server is configured for this resource"}, 404, FOR_ALL)
        document = {
            "resource": (settings.base_url if is_own else public_base(settings, request.scope, request.headers)) + path,
            "authorization_servers": [settings.base_url if is_own else settings.oidc_issuer],
            "scopes_supported": list(asked_scopes(settings, path)),
            "bearer_methods_supported": ["header"],
            "resource_name": "Loci",
        }
        return JSONResponse(document, headers=FOR_ALL)

    return metadata
