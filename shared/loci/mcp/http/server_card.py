"""The server card (SEP-2127), which says how to connect, and the catalog that leads to it."""

import hashlib
import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from mcp_types.version import KNOWN_PROTOCOL_VERSIONS
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from loci.core.json import JsonObject
from loci.core.version import version
from loci.mcp.http.address import public_base

if TYPE_CHECKING:
    from loci.app import App

CARD: Final = "/mcp/server-card"
CATALOG: Final = "/.well-known/ai-catalog.json"
CARD_TYPE: Final = "application/mcp-server-card+json"
KEY: Final[JsonObject] = {
    "name": "X-API-Key",
    "description": "A key that `loci keys create` made. Without one, a client signs you in where OAuth is set up.",
    "isRequired": False,
    "isSecret": True,
}
ENTRY: Final[JsonObject] = {
    "name": "io.github.loci-mcp/loci",
    "title": "Loci",
    "description": "Documents, files and procedures for agents: on your laptop or in your AWS account.",
    "repository": {"url": "https://github.com/loci-mcp/loci", "source": "github"},
}
"""Loci in the registry of MCP servers: server.json says the same."""
FOR_ALL: Final = {
    "Access-Control-Allow-Origin": "*",
    "Access-Control-Allow-Methods": "GET",
    "Access-Control-Allow-Headers": "Content-Type, If-None-Match",
    "Access-Control-Expose-Headers": "ETag",
    "Cache-Control": "public, max-age=3600",
}


def card_routes(app: "App", *, is_open: bool) -> list[Route]:
    """The routes of the card and of the catalog. Everybody may read both."""

    def card(base: str) -> JsonObject:
        remote: JsonObject = {
            "type": "streamable-http",
            "url": f"{base}/mcp",
            "supportedProtocolVersions": [*KNOWN_PROTOCOL_VERSIONS],
        }
        return {
            "$schema": "https://static.modelcontextprotocol.io/schemas/v1/server-card.schema.json",
            **ENTRY,
            "version": version(),
            "remotes": [remote if is_open else {**remote, "headers": [KEY]}],
        }

    def catalog(base: str) -> JsonObject:
        host = base.partition("://")[2].partition(":")[0]
        entry: JsonObject = {"identifier": f"urn:air:{host}:mcp:loci", "type": CARD_TYPE, "url": f"{base}{CARD}"}
        return {"specVersion": "1.0", "entries": [entry]}

    def route(path: str, kind: str, document: Callable[[str], JsonObject]) -> Route:
        def answer(request: Request) -> Response:
            content = json.dumps(document(public_base(app.settings, request.scope, request.headers))).encode()
            headers = {**FOR_ALL, "ETag": f'"{hashlib.sha256(content).hexdigest()[:32]}"'}
            if request.method == "OPTIONS":
                return Response(status_code=204, headers=FOR_ALL)
            if headers["ETag"] in request.headers.get("if-none-match", ""):
                return Response(status_code=304, headers=headers)
            return Response(content, media_type=kind, headers=headers)

        return Route(path, answer, methods=["GET", "OPTIONS"])

    return [route(CARD, CARD_TYPE, card), route(CATALOG, "application/ai-catalog+json", catalog)]
