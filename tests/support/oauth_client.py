"""A program that connects to Loci with the SDK's own OAuth client, and the ways in which its requests travel."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import httpx2
from mcp import Client
from mcp.client.auth import OAuthClientProvider
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.auth import OAuthClientInformationFull, OAuthClientMetadata, OAuthToken

from tests.attack.doors import Door
from tests.attack.wire import Ask
from tests.support.oauth_person import Person

CALLBACK = "http://127.0.0.1:9/callback"


class ThroughDoor(httpx2.AsyncBaseTransport):
    """Sends every request through a door, whatever host it names."""

    def __init__(self, door: Door) -> None:
        self._door = door

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        headers = tuple((name.decode("latin-1"), value.decode("latin-1")) for name, value in request.headers.raw)
        ask = Ask(await request.aread(), headers, request.method, request.url.raw_path.decode("ascii"))
        answer = await asyncio.to_thread(self._door.ask, ask)
        told = [pair for pair in answer.headers if pair[0].lower() != "content-length"]
        return httpx2.Response(answer.status, headers=told, content=answer.body, request=request)


@dataclass
class Kept:
    """What the program keeps between its runs."""

    tokens: OAuthToken | None = None
    client: OAuthClientInformationFull | None = None

    async def get_tokens(self) -> OAuthToken | None:
        return self.tokens

    async def set_tokens(self, tokens: OAuthToken) -> None:
        self.tokens = tokens

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        return self.client

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        self.client = client_info

    @property
    def access(self) -> str:
        assert self.tokens is not None
        return self.tokens.access_token

    @property
    def renews(self) -> str:
        assert self.tokens is not None
        assert self.tokens.refresh_token is not None
        return self.tokens.refresh_token

    @property
    def id(self) -> str:
        assert self.client is not None
        assert self.client.client_id is not None
        return self.client.client_id


@dataclass
class Program:
    """A client of one endpoint, as its person uses it."""

    url: str
    person: Person
    transport: httpx2.AsyncBaseTransport | None = None
    redirect: str = CALLBACK
    client_id_url: str | None = None
    kept: Kept = field(default_factory=Kept)
    auth: OAuthClientProvider | None = None
    """That of the newest connection."""

    def http(self, auth: httpx2.Auth | None = None) -> httpx2.AsyncClient:
        return httpx2.AsyncClient(auth=auth, timeout=30, transport=self.transport)

    @asynccontextmanager
    async def connected(self) -> AsyncGenerator[Client]:
        """A connection to the endpoint, with whatever it takes to get in."""
        self.auth = auth = OAuthClientProvider(
            self.url,
            OAuthClientMetadata(client_name="Test program", redirect_uris=[self.redirect]),  # pyright: ignore[reportArgumentType]
            self.kept,
            redirect_handler=self.person.visit,
            callback_handler=self.person.result,
            client_metadata_url=self.client_id_url,
        )
        async with (
            self.http(auth) as http,
            Client(streamable_http_client(self.url, http_client=http)) as client,
        ):
            yield client

    async def posted(self, path: str, **fields: str) -> httpx2.Response:
        """The answer to a form at the root of the server."""
        async with self.http() as http:
            return await http.post(self.url.removesuffix("/mcp") + path, data=fields)

    async def renewed(self, token: str, **more: str) -> httpx2.Response:
        return await self.posted(
            "/token", grant_type="refresh_token", client_id=self.kept.id, refresh_token=token, **more
        )

    async def lists(self, token: str) -> httpx2.Response:
        """The answer to a request for the tools, with this token."""
        headers = {"Authorization": f"Bearer {token}", "Accept": "application/json"}
        async with self.http() as http:
            return await http.post(self.url, json={"jsonrpc": "2.0", "id": 1, "method": "tools/list"}, headers=headers)
