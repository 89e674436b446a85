"""`AuthorizationServers` over HTTP, with the official client's OAuth flow."""

import asyncio
from collections.abc import Callable, Coroutine, Mapping
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any, TypeVar

from loci.adapters.tool_servers.loop_thread import LoopThread, Notes
from loci.core.deadline import time_for
from loci.core.json import JsonObject
from loci.tools.authorization import Access, Consent, Wanted
from loci.tools.ports import LoginFailed

if TYPE_CHECKING:
    from loci.adapters.tool_servers.oauth_flow import OAuthFlow
    from loci.adapters.tool_servers.small_requests import SmallRequests

T = TypeVar("T")
SECONDS = 40.0
"""For all requests of one question: metadata may be in several places."""
PERSON_SECONDS = 600.0
"""The same if a person is asked meanwhile, for whom the command waits less."""


class HttpAuthorizationServers:
    """All those who give out tokens, over one thread."""

    def __init__(self, *, only_public: bool) -> None:
        self._only_public = only_public
        self._loop = LoopThread()

    def log_in(self, wanted: Wanted, client: JsonObject | None, scope: str | None, consent: Consent | None) -> Access:
        from loci.adapters.tool_servers.oauth_flow import LoginFlow  # takes 0.5 s to load

        only_public = wanted.endpoint.only_public
        if consent is None:
            seconds = time_for(SECONDS)
            return self._run(lambda http: LoginFlow(http, wanted, client).begin(scope), seconds, only_public)
        notes: Notes = SimpleQueue()

        async def ask(url: str, issuer: str) -> Mapping[str, str]:
            """Have the person asked in the thread that waits."""
            loop = asyncio.get_running_loop()
            answer: asyncio.Future[Mapping[str, str]] = loop.create_future()

            def ask_here() -> None:
                fields = consent.ask(url, issuer)
                loop.call_soon_threadsafe(answer.set_result, fields)

            notes.put(ask_here)
            return await answer

        def work(http: "SmallRequests") -> Coroutine[Any, Any, Access]:
            return LoginFlow(http, wanted, client, consent.redirect, ask).begin(scope)

        return self._run(work, PERSON_SECONDS, only_public, notes)

    def renew(self, access: Access) -> Access:
        # Not less for a caller in a hurry: a refresh token that was sent may not be good any more.
        return self._run(lambda http: _flow(http, access).renew(access), SECONDS, access.only_public)

    def revoke(self, access: Access) -> bool:
        return self._run(lambda http: _flow(http, access).revoke(access), time_for(SECONDS), access.only_public)

    def close(self) -> None:
        """End the thread."""
        self._loop.stop()

    def _run(
        self,
        work: "Callable[[SmallRequests], Coroutine[Any, Any, T]]",
        seconds: float,
        only_public: bool,
        notes: Notes | None = None,
    ) -> T:
        from loci.adapters.tool_servers.small_requests import SmallRequests

        try:
            return self._loop.run(work(SmallRequests(only_public=self._only_public or only_public)), seconds, notes)
        except TimeoutError:
            what = f"It took more than {seconds:.0f} s to ask for a login"
            raise LoginFailed(what, "Try again in a moment") from None


def _flow(http: "SmallRequests", access: Access) -> "OAuthFlow":
    from loci.adapters.tool_servers.oauth_flow import OAuthFlow

    return OAuthFlow(http, access.resource, access.client)
