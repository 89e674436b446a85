"""`AuthorizationServers` over HTTP, with the official client's OAuth flow."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Any, TypeVar

from loci.core.deadline import time_for
from loci.core.errors import LociError
from loci.core.json import JsonObject
from loci.gateway.ports import Access, Consent, LoginFailed, LoginRequest
from loci.sandbox.supervisor.daemon_threads import in_thread

if TYPE_CHECKING:
    from loci.adapters.tool_servers.oauth_flow import OAuthFlow
    from loci.adapters.tool_servers.small_requests import SmallRequests

T = TypeVar("T")
SECONDS = 40.0
"""Seconds for all requests of one operation: metadata may be in several places."""
PERSON_SECONDS = 600.0
"""Seconds for an operation that asks a person, for whom the command waits less."""


class HttpAuthorizationServers:
    """All issuers of tokens. Each operation has a thread and a loop of its own: a person may take long."""

    def __init__(self, *, only_public: bool) -> None:
        self._only_public = only_public

    def log_in(
        self, wanted: LoginRequest, client: JsonObject | None, scope: str | None, consent: Consent | None
    ) -> Access:
        from loci.adapters.tool_servers.oauth_flow import LoginFlow  # takes 0.5 s to load

        seconds = time_for(SECONDS) if consent is None else PERSON_SECONDS
        only_public = wanted.endpoint.only_public
        return self._run(lambda http: LoginFlow(http, wanted, client, consent).begin(scope), seconds, only_public)

    def renew(self, access: Access) -> Access:
        # Not less for a caller in a hurry: a refresh token that was sent may not be good any more.
        return self._run(lambda http: _flow(http, access).renew(access), SECONDS, access.only_public)

    def revoke(self, access: Access) -> bool:
        return self._run(lambda http: _flow(http, access).revoke(access), time_for(SECONDS), access.only_public)

    def _run(self, work: "Callable[[SmallRequests], Coroutine[Any, Any, T]]", seconds: float, only_public: bool) -> T:
        from loci.adapters.tool_servers.small_requests import SmallRequests

        http = SmallRequests(only_public=self._only_public or only_public)

        async def answer() -> T | LociError:
            try:
                return await asyncio.wait_for(work(http), seconds)
            except TimeoutError:
                return LoginFailed(f"It took more than {seconds:.0f} s to ask for a login", "Try again in a moment")
            except LociError as error:
                return error

        def ask() -> T | LociError:
            # Not `asyncio.run`, which waits at its end for names that cannot be resolved.
            loop = asyncio.new_event_loop()
            try:
                return loop.run_until_complete(answer())
            finally:
                loop.close()

        given = in_thread(ask).result()
        if isinstance(given, LociError):
            raise given
        return given


def _flow(http: "SmallRequests", access: Access) -> "OAuthFlow":
    from loci.adapters.tool_servers.oauth_flow import OAuthFlow

    return OAuthFlow(http, access.resource, access.client)
