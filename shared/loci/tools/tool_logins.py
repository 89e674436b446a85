"""The logins at tool servers, as the doors of the product see them: begun, finished, told and ended."""

from collections.abc import Callable

from loci.core.errors import Refused
from loci.core.identity import Owner
from loci.tools.authorization import AuthorizationServer
from loci.tools.login_records import LoginState
from loci.tools.logins import BegunLogin, Logins
from loci.tools.ports import ToolServers
from loci.tools.reaching import Reaching
from loci.tools.tool_list import ToolList


class ToolLogins:
    """Every owner's logins, by the names of the servers. Connections end with the login that they had."""

    def __init__(self, logins: Logins, tool_list: ToolList, reaching: Reaching, servers: ToolServers) -> None:
        self._logins = logins
        self._list = tool_list
        self._reaching = reaching
        self._servers = servers

    def all(self, owner: Owner) -> dict[str, LoginState]:
        """The logins by the names of their servers. None of it is secret."""
        return self._logins.states(owner)

    def begin(
        self,
        owner: Owner,
        name: str,
        redirect: str,
        *,
        scope: str | None = None,
        client_id: str | None = None,
        secret: Callable[[AuthorizationServer], str | None] = lambda _: None,
    ) -> BegunLogin:
        """Find out where to log in. The answer comes to `redirect`; `secret`: of the client `client_id`."""
        server = self._list.get(owner, name)
        if server.entry.has_authorization:
            raise Refused(f"{name} has an Authorization header of its own", "Configure it without that, then log in")
        wanted = self._reaching.wanted_login(owner, server)
        return self._logins.begin(owner, wanted, redirect, scope, client_id, secret)

    def finish(self, owner: Owner, begun: BegunLogin, answer: dict[str, str]) -> LoginState:
        """Keep the login that the person has consented to. Connections without it end."""
        state = self._logins.finish(owner, begun, answer)
        self._servers.close(owner, begun.wanted.name)
        return state

    def end(self, owner: Owner, name: str) -> LoginState:
        """Forget the login to a server, and have its tokens revoked."""
        try:
            return self._logins.end(owner, name)
        finally:
            self._servers.close(owner, name)
