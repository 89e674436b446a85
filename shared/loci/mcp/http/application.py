"""Loci over HTTP: one ASGI application for uvicorn and Lambda."""

import mimetypes
import time
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial
from urllib.parse import quote

from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from loci.app import App
from loci.core.errors import LociError, NotFound
from loci.core.identity import SYSTEM
from loci.core.lazy import Lazy
from loci.core.version import version
from loci.mcp.auth.gate import METADATA
from loci.mcp.http.address import is_open, public_base
from loci.mcp.http.gatekeeper import Gatekeeper
from loci.mcp.http.transport import Transport
from loci.mcp.server import LociServer, build_server
from loci.mcp.tool import SURFACES, Surface
from loci.mcp.tool_catalog import ToolFamily
from loci.tools_list import families


def path_of(surface: Surface) -> str:
    """Where the subset is served."""
    return "/mcp" if surface == "all" else f"/mcp/{surface}"


Build = Callable[[App, Surface], LociServer]


def asgi(
    app: App, *, on_loopback: bool = False, build: Build | None = None, offered: Sequence[ToolFamily] | None = None
) -> Starlette:
    """The application. On loopback, without any auth configured, whoever asks is the person at this machine."""
    transports: list[StreamableHTTPSessionManager] = []
    tools = families(app) if offered is None else offered

    def line(surface: Surface) -> Transport:
        server = build_server(app, surface, tools) if build is None else build(app, surface)

        def transport(*, json: bool) -> StreamableHTTPSessionManager:
            # Host and origin are checked in front, where the refusal can be explained.
            server.streamable_http_app(json_response=json, stateless_http=True, host="")
            transports.append(server.session_manager)
            return server.session_manager

        stream, json = transport(json=False), transport(json=True)
        return Transport(stream.handle_request, json.handle_request, server.is_quick)

    lines = {path_of(surface): line(surface) for surface in SURFACES}
    opened = is_open(app.settings, on_loopback=on_loopback)
    front = Gatekeeper(app, lines, is_open=opened)

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncGenerator[None, None]:
        async with AsyncExitStack() as stack:
            for transport in transports:
                await stack.enter_async_context(transport.run())
            yield

    routes = [
        Route("/mcp{rest:path}", front),
        Route("/ui{rest:path}", LateRoute(partial(_ui, app, is_open=opened))),
        Route("/documents", LateRoute(partial(_feed, app, is_open=opened))),
        Route("/healthz", _health(app)),
        Route("/blobs/{token}", _blob(app)),
        Route(METADATA, _metadata(app)),
        Route(METADATA + "/{path:path}", _metadata(app)),
    ]
    web = Starlette(routes=routes, lifespan=lifespan)
    web.router.redirect_slashes = False  # it would lead to whatever host the request names
    return web


class LateRoute:
    """What no MCP request needs, loaded when somebody asks for it."""

    def __init__(self, make: Callable[[], ASGIApp]) -> None:
        self._made = Lazy(make)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self._made.get()(scope, receive, send)


def _ui(app: App, *, is_open: bool) -> ASGIApp:
    from loci.web.routes import Ui

    return Ui(app, is_open=is_open, clock=time.time)


def _feed(app: App, *, is_open: bool) -> ASGIApp:
    from loci.documents.http_route import FeedRoute

    return FeedRoute(app, is_open=is_open)


Endpoint = Callable[[Request], Response]


def _health(app: App) -> Endpoint:
    def health(_: Request) -> Response:
        """Whether the store answers."""
        try:
            app.records.get(SYSTEM, "health", "probe")
        except LociError as error:
            return JSONResponse({"status": "unavailable", "reason": error.code}, 503)
        return JSONResponse({"status": "ok", "version": version()})

    return health


def _blob(app: App) -> Endpoint:
    def blob(request: Request) -> Response:
        """What a signed link leads to, as a download."""
        try:
            if app.local_links is None:
                raise NotFound("Links lead elsewhere here", "Ask for a new one")
            linked = app.local_links.follow(request.path_params["token"])
        except NotFound as error:
            return JSONResponse({"error": {"code": error.code, "message": str(error)}}, 404)
        except LociError as error:
            return JSONResponse({"error": {"code": error.code, "message": "Try again in a minute"}}, 503)
        headers = {
            # Never shown in the page's origin: stored files are other people's content.
            "Content-Disposition": f"attachment; filename*=UTF-8''{quote(linked.name, safe='')}",
            "X-Content-Type-Options": "nosniff",
            "Cache-Control": "private, no-store",
        }
        kind = mimetypes.guess_type(linked.name)[0] or "application/octet-stream"
        return Response(linked.content, media_type=kind, headers=headers)

    return blob


def _metadata(app: App) -> Endpoint:
    paths = {path_of(surface) for surface in SURFACES}

    def metadata(request: Request) -> Response:
        """The protected resource's document (RFC 9728), which tells a client where to get a token."""
        path = "/" + request.path_params.get("path", "mcp")
        if not app.settings.oidc_issuer or path not in paths:
            return JSONResponse({"error": "no authorization server is configured for this resource"}, 404)
        document = {
            "resource": public_base(app.settings, request.scope, request.headers) + path,
            "authorization_servers": [app.settings.oidc_issuer],
            "scopes_supported": list(app.settings.oidc_scopes),
            "bearer_methods_supported": ["header"],
            "resource_name": "Loci",
        }
        return JSONResponse(document, headers={"Access-Control-Allow-Origin": "*"})

    return metadata
