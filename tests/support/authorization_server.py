"""A tool server that wants a login, and the authorization server that it trusts, on two ports of this machine.

Both are the official ones, with clients and tokens in memory. `wrong` and `instead` make them misbehave.
"""

import http.client
import json
import threading
import time
from collections.abc import Awaitable, Callable, Generator
from contextlib import contextmanager
from typing import Any
from urllib.parse import urlsplit

import uvicorn
from mcp.server.auth.middleware.auth_context import get_access_token
from mcp.server.auth.settings import AuthSettings, ClientRegistrationOptions, RevocationOptions
from mcp.server.mcpserver import MCPServer
from mcp.shared.auth import OAuthClientInformationFull
from pydantic import AnyHttpUrl, AnyUrl
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.types import Receive, Scope, Send

from tests.servers.ports import free_port
from tests.support.given_tokens import Tokens

Answer = Callable[[Request], Awaitable[Response]]
METADATA = "/.well-known/oauth-authorization-server"
RESOURCE = "/.well-known/oauth-protected-resource/mcp"
SCOPES = ["read", "write"]


class Protected:
    """Both servers."""

    def __init__(self) -> None:
        self._port, self._other = free_port(), free_port()
        self.url = f"http://127.0.0.1:{self._port}/mcp"
        self.issuer = f"http://127.0.0.1:{self._other}"
        self.tokens = Tokens(self.issuer)
        self.wrong: dict[str, dict[str, Any]] = {METADATA: {}, RESOURCE: {}}
        """Fields of what is published that are others; None: left out."""
        self.instead: dict[str, Answer] = {}
        """Other answers, by their paths."""
        self.asked: list[tuple[str, dict[str, str]]] = []
        """The paths and the headers of all requests."""
        self.forms: list[dict[str, str]] = []
        """What the token endpoint was sent."""
        self.calls = 0
        self.machines: dict[str, str] = {}
        """Clients that get tokens for a secret."""
        self._inner = self._server().streamable_http_app(json_response=True)

    def sessions(self) -> int:
        """How often a client has connected."""
        return sum(headers.get("mcp-method") in ("initialize", "server/discover") for _, headers in self.asked)

    def register(self, id: str, secret: str | None, redirect: str) -> None:
        """A client that somebody has registered by hand."""
        method = "client_secret_post" if secret else "none"
        self.tokens.clients[id] = OAuthClientInformationFull(
            client_id=id,
            client_secret=secret,
            redirect_uris=[AnyUrl(redirect)],
            token_endpoint_auth_method=method,
            scope=" ".join(SCOPES),
        )

    def spare_port(self) -> int:
        """One on which nobody listens."""
        return free_port()

    def _server(self) -> MCPServer:
        server = MCPServer(
            "protected",
            log_level="CRITICAL",
            auth_server_provider=self.tokens,
            auth=AuthSettings(
                issuer_url=AnyHttpUrl(self.issuer),
                resource_server_url=AnyHttpUrl(self.url),
                client_registration_options=ClientRegistrationOptions(enabled=True, valid_scopes=SCOPES),
                revocation_options=RevocationOptions(enabled=True),
                required_scopes=["read"],
                validate_token_resource=True,
            ),
        )

        @server.tool()
        def whoami() -> str:  # pyright: ignore[reportUnusedFunction]
            """Tell who calls."""
            self.calls += 1
            token = get_access_token()
            return f"{token.subject} with {' '.join(token.scopes)}" if token else "nobody"

        return server

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._inner(scope, receive, send)
            return
        request = Request(scope, receive)
        path = request.url.path
        body = await request.body()
        named = {"mcp-method": json.loads(body).get("method", "")} if path == "/mcp" and body else {}
        self.asked.append((path, {**request.headers, **named}))
        if path == "/token":
            form = await request.form()
            self.forms.append({name: str(value) for name, value in form.items()})
        if path in self.instead:
            await (await self.instead[path](request))(scope, receive, send)
        elif path in self.wrong:
            await self._published(path)(scope, receive, send)
        elif path == "/token" and self.forms[-1].get("grant_type") == "client_credentials":
            await self._machine(self.forms[-1])(scope, receive, send)
        else:
            await self._inner(scope, _again(body), send)

    def _published(self, path: str) -> Response:
        if path == RESOURCE:
            facts: dict[str, Any] = {
                "resource": self.url,
                "authorization_servers": [self.issuer],
                "scopes_supported": SCOPES[:1],
            }
        else:
            facts = {
                "issuer": self.issuer,
                "authorization_endpoint": f"{self.issuer}/authorize",
                "token_endpoint": f"{self.issuer}/token",
                "registration_endpoint": f"{self.issuer}/register",
                "revocation_endpoint": f"{self.issuer}/revoke",
                "token_endpoint_auth_methods_supported": ["client_secret_post", "client_secret_basic"],
                "code_challenge_methods_supported": ["S256"],
                "authorization_response_iss_parameter_supported": True,
                "scopes_supported": SCOPES,
            }
        facts |= self.wrong[path]
        return JSONResponse({name: value for name, value in facts.items() if value is not None})

    def _machine(self, form: dict[str, str]) -> Response:
        if self.machines.get(form.get("client_id", "")) != form.get("client_secret"):
            return JSONResponse({"error": "invalid_client", "error_description": "Who are you?"}, 401)
        scopes = form.get("scope", "read").split()
        given = self.tokens.given(form["client_id"], scopes, form.get("resource"), renews=False)
        return JSONResponse(given.model_dump(exclude_none=True))


def _again(body: bytes) -> Receive:
    """The request, whose body has been read already."""
    told: list[bool] = []

    async def receive() -> dict[str, Any]:
        if told:
            return {"type": "http.disconnect"}
        told.append(True)
        return {"type": "http.request", "body": body, "more_body": False}

    return receive


@contextmanager
def protected() -> Generator[Protected]:
    """Serve both until the end of the block."""
    app = Protected()
    ports = app.url.split(":")[2].split("/")[0], app.issuer.split(":")[2]
    servers = [
        uvicorn.Server(
            uvicorn.Config(
                app,
                host="127.0.0.1",
                port=int(port),
                log_level="critical",
                lifespan="on" if number == 0 else "off",
                timeout_graceful_shutdown=1,
            )
        )
        for number, port in enumerate(ports)
    ]
    threads = [threading.Thread(target=server.run) for server in servers]
    for thread in threads:
        thread.start()
    try:
        while not all(server.started for server in servers):
            assert all(thread.is_alive() for thread in threads)
            time.sleep(0.01)
        yield app
    finally:
        for server in servers:
            server.should_exit = True
        for thread in threads:
            thread.join()


def consent(url: str) -> str:
    """Open the address of a login as a browser does, and return the address that it leads to."""
    parts = urlsplit(url)
    connection = http.client.HTTPConnection(parts.netloc, timeout=30)
    connection.request("GET", f"{parts.path}?{parts.query}")
    answer = connection.getresponse()
    location = answer.headers["Location"]
    assert answer.status == 302, answer.read()
    connection.close()
    return location
