"""`AuthorizationServers` over HTTP, with what the official client knows of OAuth."""

import base64
import re
from collections.abc import Callable, Coroutine, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar, cast
from urllib.parse import quote

from loci.adapters.tool_servers.heard import quoted
from loci.adapters.tool_servers.loop_thread import LoopThread
from loci.core.deadline import time_for
from loci.core.redaction import Redaction, redaction_of
from loci.tools.authorization import AuthorizationServer, OAuthClient, Protection, Tokens
from loci.tools.ports import LoginFailed
from loci.tools.tool_server import Endpoint

if TYPE_CHECKING:
    import httpx2

    from loci.adapters.tool_servers.small_requests import SmallRequests

T = TypeVar("T")
SECONDS = 40.0
"""For all requests of one question: metadata may be in several places."""
TOKEN = re.compile(r"[\x21-\x7e]{1,16384}")
CODE = re.compile(r"[a-z_]{1,60}")
SECRET_FIELDS = ("code", "code_verifier", "refresh_token", "token")
LONGEST_LIFE = 10 * 365 * 24 * 3600.0


class HttpAuthorizationServers:
    """All those who give out tokens, over one thread."""

    def __init__(self, *, only_public: bool) -> None:
        self._only_public = only_public
        self._loop = LoopThread()

    def protection(self, endpoint: Endpoint, issuer: str | None, scope: str | None) -> Protection:
        from loci.adapters.tool_servers.authorization_metadata import protection  # takes 0.5 s to load

        found = self._run(lambda http: protection(http, endpoint, issuer, scope), endpoint)
        return replace(found, server=replace(found.server, only_public=endpoint.only_public))

    def register(self, server: AuthorizationServer, redirect: str, scope: str | None) -> OAuthClient:
        from loci.adapters.tool_servers.client_registration import register

        return self._run(lambda http: register(http, server, redirect, scope), server)

    def tokens(self, server: AuthorizationServer, client: OAuthClient, form: Mapping[str, str]) -> Tokens:
        # Not less for a caller in a hurry: a refresh token that was sent may not be good any more.
        return self._run(lambda http: _tokens(http, server, client, form), server, SECONDS)

    def revoke(self, server: AuthorizationServer, client: OAuthClient, token: str) -> None:
        if server.revocation_url is not None:
            url = server.revocation_url
            self._run(lambda http: _revoked(http, server, url, client, token), server)

    def close(self) -> None:
        """End the thread."""
        self._loop.stop()

    def _run(
        self,
        work: "Callable[[SmallRequests], Coroutine[Any, Any, T]]",
        whom: Endpoint | AuthorizationServer,
        seconds: float | None = None,
    ) -> T:
        from loci.adapters.tool_servers.small_requests import SmallRequests

        seconds = time_for(SECONDS) if seconds is None else seconds
        http = SmallRequests(only_public=self._only_public or whom.only_public)
        try:
            return self._loop.run(work(http), seconds)
        except TimeoutError:
            raise LoginFailed(
                f"It took more than {seconds:.0f} s to ask for a login", "Try again in a moment"
            ) from None


async def _tokens(
    http: "SmallRequests", server: AuthorizationServer, client: OAuthClient, form: Mapping[str, str]
) -> Tokens:
    from mcp.shared.auth import OAuthToken
    from pydantic import ValidationError

    answer = await http.send(_request(server.token_url, client, form))
    refused = _refused(server, answer, _given(client, form))
    if refused is not None:
        raise refused
    try:
        given = OAuthToken.model_validate_json(answer.content)
    except ValidationError:
        raise _unusable(server, f"no token that Loci understands (it answered {answer.status_code})") from None
    if not all(TOKEN.fullmatch(one) for one in (given.access_token, given.refresh_token) if one is not None):
        raise _unusable(server, "a token with characters that no token has")
    seconds = None if given.expires_in is None else min(max(0.0, float(given.expires_in)), LONGEST_LIFE)
    # GitHub separates scopes by commas.
    scope = None if given.scope is None else " ".join(given.scope.replace(",", " ").split())
    return Tokens(given.access_token, given.refresh_token, seconds, scope)


async def _revoked(
    http: "SmallRequests", server: AuthorizationServer, url: str, client: OAuthClient, token: str
) -> None:
    form = {"token": token}
    refused = _refused(server, await http.send(_request(url, client, form)), _given(client, form))
    if refused is not None:
        raise refused


def _request(url: str, client: OAuthClient, form: Mapping[str, str]) -> "httpx2.Request":
    """The request, in which the client says who it is."""
    import httpx2

    headers = {"Accept": "application/json"}  # GitHub answers with a form otherwise
    fields = {**form, "client_id": client.id}
    if client.method == "client_secret_basic" and client.secret is not None:
        name = f"{quote(client.id, safe='')}:{quote(client.secret, safe='')}"
        headers["Authorization"] = f"Basic {base64.b64encode(name.encode()).decode()}"
    elif client.method == "client_secret_post" and client.secret is not None:
        fields["client_secret"] = client.secret
    return httpx2.Request("POST", url, headers=headers, data=fields)


def _given(client: OAuthClient, form: Mapping[str, str]) -> Redaction:
    """The redaction of the secrets in a request."""
    return redaction_of(frozenset((client.secret or "", *(form.get(one, "") for one in SECRET_FIELDS))))


def _refused(server: AuthorizationServer, answer: "httpx2.Response", redaction: Redaction) -> LoginFailed | None:
    """The error in the answer: GitHub sends some with status 200."""
    error, said = None, ""
    try:
        body: Any = answer.json()
    except (ValueError, RecursionError):
        body = None
    if isinstance(body, dict):
        fields = cast("dict[str, Any]", body)
        error, said = fields.get("error"), str(fields.get("error_description") or "")
    if error is None and answer.status_code in (200, 201):
        return None
    known = error if isinstance(error, str) and CODE.fullmatch(error) else None
    why = ": ".join(part for part in (known or f"it answered {answer.status_code}", quoted(said, redaction)) if part)
    return LoginFailed(f"The authorization server {server.issuer} refuses ({why})", "Log in again", known)


def _unusable(server: AuthorizationServer, what: str) -> LoginFailed:
    return LoginFailed(f"The authorization server {server.issuer} sent {what}", "Ask who runs it to mend that")
