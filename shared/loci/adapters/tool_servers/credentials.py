"""The credentials of an endpoint: its headers, or the token of a login, which may change between two requests."""

import asyncio
import re

import httpx2
from mcp.client.auth.utils import extract_field_from_www_auth, extract_scope_from_www_auth

from loci.tools.tool_server import Endpoint

CORRECT = "Correct the token or the headers of this server in its settings"
PLAIN_SCOPE = re.compile(r"[\w:./*+-]{1,100}", re.ASCII)
"""It can be shown in a command: servers choose these names."""
MOST_SCOPES = 20


class Credentials:
    """Adds the token to requests that go to the endpoint's own origin."""

    def __init__(self, name: str, endpoint: Endpoint) -> None:
        self._name = name
        self._endpoint = endpoint
        self._bearer = endpoint.bearer
        self._origin = _origin(httpx2.URL(endpoint.url)) if endpoint.bearer else None

    def add_to(self, request: httpx2.Request) -> str | None:
        """The token that was added; None: there is none, or it is not for the address of this request."""
        if self._bearer is None or _origin(request.url) != self._origin:
            return None
        token = self._bearer.token
        request.headers["Authorization"] = f"Bearer {token}"
        return token

    async def renew(self, refused: str) -> None:
        """Get another token than this. Raises `LociError` if there is none to be had."""
        if self._bearer is not None:
            await asyncio.to_thread(self._bearer.renew, refused)

    def refused(self, response: httpx2.Response) -> tuple[str, str]:
        """The meaning of a refusal, and what to do about it."""
        status, scopes = response.status_code, list[str]()
        what = f"it wants other credentials ({status})"
        if status == 403 and extract_field_from_www_auth(response, "error") == "insufficient_scope":
            said = (extract_scope_from_www_auth(response) or "").split()
            scopes = [one for one in said if PLAIN_SCOPE.fullmatch(one)][:MOST_SCOPES]
            what = f"it wants more rights ({' '.join(scopes) or status})"
        if self._bearer is not None:
            return what, self._bearer.advice(scopes)
        if any(name.lower() == "authorization" for name in self._endpoint.headers):
            return what, CORRECT
        if status == 401:
            what = "it wants a login (401)"
        return what, f"Log in with: loci tools login {self._name}"


def _origin(url: httpx2.URL) -> tuple[str, str, int | None]:
    return url.scheme, url.host, url.port
