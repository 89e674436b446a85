"""How a configured server is reached: its entry, with the owner's secrets and the variables filled in."""

import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace

from loci.core.deadline import time_for
from loci.core.errors import Refused
from loci.core.giving_up import GivingUp
from loci.core.identity import Owner
from loci.core.json import JsonObject
from loci.tools.configuration import VARIABLE, Configured, Entry, not_configured
from loci.tools.logins import Logins
from loci.tools.oauth_entry import OAuthEntry
from loci.tools.ports import Progress, ServerConnections, ToolServerError
from loci.tools.public_address import check_public
from loci.tools.secrets import Secrets
from loci.tools.tool_server import Endpoint, Program, ToolServer, UpstreamTool
from loci.tools.wanted_login import Wanted

CLOSED = "closed:"
"""Begins the value of a header or a variable that is stored closed."""


class Reaching:
    """Fills in entries. The values come from nowhere but the owner's secrets and the variables that Loci may show."""

    def __init__(
        self,
        secrets: Secrets,
        variable: Callable[[str], str | None],
        logins: Logins,
        *,
        only_public: bool = False,
    ) -> None:
        """`variable`: of the environment in which Loci runs. `only_public`: no programs, and no private addresses."""
        self._secrets = secrets
        self._variable = variable
        self._logins = logins
        self._only_public = only_public

    def closed(self, owner: Owner, entry: Entry) -> Entry:
        """The entry as it is stored: the values of headers and variables closed, unless they only name others."""

        def closed(values: Mapping[str, str]) -> dict[str, str]:
            return {name: text if _only_names(text) else self._close(owner, text) for name, text in values.items()}

        oauth = entry.oauth
        if oauth is not None and oauth.client_secret is not None:
            oauth = oauth.model_copy(update=closed({"client_secret": oauth.client_secret}))
        return entry.model_copy(update={"env": closed(entry.env), "headers": closed(entry.headers), "oauth": oauth})

    def check(self, owner: Owner, name: str, entry: Entry) -> None:
        """Raise `Refused` if the entry names a variable or a secret that is not set. Opens no secret."""
        self.check_place(name, entry)
        known = frozenset(self._secrets.names(owner))
        for found in _variables(entry):
            needed = found["name"]
            if not (needed in known or found["default"] is not None or self._variable_for(entry, needed) is not None):
                raise self._missing(name, entry, needed)

    def filled_here(self, owner: Owner, entry: Entry) -> list[str]:
        """The names in the entry that a secret of the owner or a variable has. Opens no secret."""
        known = frozenset(self._secrets.names(owner))
        names = sorted({one["name"] for one in _variables(entry)})
        return [one for one in names if one in known or self._variable(one) is not None]

    def check_place(self, name: str, entry: Entry) -> None:
        """Raise `Refused` if Loci connects to no server at this place."""
        if self._only_public:
            check_public(name, entry)

    def server(self, owner: Owner, configured: Configured) -> ToolServer:
        """The server, with everything filled in. Raises `LociError` if something is missing."""
        name, entry, filled = configured.name, configured.entry, self._filling(owner, configured)

        def all_filled(texts: Mapping[str, str]) -> dict[str, str]:
            return {one: filled(text) for one, text in texts.items()}

        if entry.url is not None:
            wanted = self.wanted_login(owner, configured)
            reach: Program | Endpoint = wanted.endpoint
            if not entry.has_authorization and (bearer := self._logins.bearer(owner, wanted)) is not None:
                reach = replace(wanted.endpoint, bearer=bearer)
        else:
            folder = filled(entry.cwd) if entry.cwd else None
            reach = Program(filled(entry.command or ""), tuple(map(filled, entry.args)), all_filled(entry.env), folder)
        return ToolServer(name, reach, entry.seconds, entry.at_once)

    def wanted_login(self, owner: Owner, configured: Configured) -> Wanted:
        """The login that the entry asks for, with everything filled in. Raises `LociError` if something is missing."""
        name, entry, filled = configured.name, configured.entry, self._filling(owner, configured)
        if entry.url is None:
            raise Refused(f"{name} is a program: it has no login of Loci's", "Give it what it needs as a variable")
        headers = {one: filled(text) for one, text in entry.headers.items()}
        endpoint = Endpoint(filled(entry.url), headers, only_public=entry.only_public)
        oauth = OAuthEntry()
        if entry.oauth is not None:
            oauth = entry.oauth.model_copy(update={one: filled(text) for one, text in _texts(entry.oauth).items()})
        return Wanted(name, entry.url, endpoint, oauth)

    def _filling(self, owner: Owner, server: Configured) -> Callable[[str], str]:
        """The function that fills in a text of this server's entry."""

        def filled(text: str) -> str:
            def value(found: re.Match[str]) -> str:
                set_to = self._secrets.get(owner, found["name"])
                if set_to is None:
                    set_to = self._variable_for(server.entry, found["name"])
                if set_to is None and found["default"] is None:
                    raise self._missing(server.name, server.entry, found["name"])
                return set_to if set_to is not None else found["default"]

            if text.startswith(CLOSED):
                text = self._secrets.opened(owner, text.removeprefix(CLOSED))
            return VARIABLE.sub(value, text)

        return filled

    def _variable_for(self, entry: Entry, name: str) -> str | None:
        return None if entry.no_variables else self._variable(name)

    def _missing(self, name: str, entry: Entry, needed: str) -> Refused:
        is_kept_back = entry.no_variables and self._variable(needed) is not None
        why = ", and gets no variable of this machine, because it came with an import" if is_kept_back else ""
        return not_configured(name, f"it needs {needed}{why}", f"Store it with: loci tools secret {needed}")

    def _close(self, owner: Owner, text: str) -> str:
        return text if text.startswith(CLOSED) else CLOSED + self._secrets.closed(owner, text)


class ReachedServers:
    """`ToolServers` over connections of this process."""

    def __init__(self, connections: ServerConnections, reaching: Reaching) -> None:
        self._connections = connections
        self._reaching = reaching

    def tools(self, owner: Owner, server: Configured) -> Sequence[UpstreamTool]:
        return self._connections.tools(owner, self._reaching.server(owner, server))

    def call(
        self,
        owner: Owner,
        server: Configured,
        tool: str,
        arguments: JsonObject,
        *,
        seconds: float | None = None,
        progress: Progress | None = None,
        given_up: GivingUp | None = None,
    ) -> JsonObject:
        limit = time_for(server.entry.seconds if seconds is None else seconds)
        until = time.monotonic() + limit
        reached = self._reaching.server(owner, server)
        left = until - time.monotonic()
        if left <= 0:  # a renewal of the login goes on to its end; the caller may have gone
            what = f"It took more than {limit:.3g} s to get the login and the secrets for {server.name}"
            raise ToolServerError(what, "The call was not made. Try again")
        return self._connections.call(
            owner, reached, tool, arguments, seconds=left, progress=progress, given_up=given_up
        )

    def close(self, owner: Owner | None = None, name: str | None = None) -> None:
        self._connections.close(owner, name)


def _variables(entry: Entry) -> Iterator[re.Match[str]]:
    """All places in the entry that are to be filled in."""
    texts = [entry.command, *entry.args, entry.cwd, entry.url, *entry.env.values(), *entry.headers.values()]
    texts += _texts(entry.oauth).values()
    return (one for text in texts if text for one in VARIABLE.finditer(text))


def _texts(oauth: OAuthEntry | None) -> dict[str, str]:
    """The settings that may name variables and secrets."""
    return {} if oauth is None else oauth.model_dump(exclude={"grant", "callback_port"}, exclude_none=True)


def _only_names(text: str) -> bool:
    """True if there is nothing secret in the text itself: it is `Bearer ${TOKEN}`, or `${TOKEN}`."""
    return bool(VARIABLE.search(text)) and VARIABLE.sub("", text).strip() in ("", "Bearer")
