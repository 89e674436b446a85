"""Each owner's logins at tool servers: made with a person's consent or a client's secret, used, and forgotten."""

import secrets
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from weakref import WeakValueDictionary

from loci.core.errors import NotFound, Refused
from loci.core.identity import Owner
from loci.core.secret_box import SecretBox
from loci.core.stores import RecordStore
from loci.tools.authorization import AuthorizationServer, OAuthClient, client_of
from loci.tools.authorization_request import AuthorizationRequest
from loci.tools.client_credentials import ClientCredentials
from loci.tools.login_records import Login, LoginRecords, LoginState
from loci.tools.ports import AuthorizationServers, ToolServerError
from loci.tools.renewal import Renewal, advice
from loci.tools.tool_server import Bearer
from loci.tools.wanted_login import Wanted, check_safe, check_trusted

MOST_KNOWN = 12
"""Tokens of a login that are looked for in what its server says."""


@dataclass(frozen=True, slots=True)
class BegunLogin:
    """A login that waits for the person's consent."""

    wanted: Wanted
    request: AuthorizationRequest
    by_hand: bool
    """True if a person registered the client."""


class LoginBearer:
    """`Bearer` of one login."""

    def __init__(self, name: str, login: Login, fresh: Callable[[str | None], Login]) -> None:
        self._name = name
        self._known: dict[str, None] = {}
        self.take(login, fresh)

    @property
    def token(self) -> str:
        return self._login.access

    @property
    def secrets(self) -> frozenset[str]:
        return frozenset(self._known)

    def take(self, login: Login, fresh: Callable[[str | None], Login]) -> None:
        self._login, self._fresh = login, fresh
        given = (*self._known, login.access, login.refresh, login.client.secret)
        self._known = dict.fromkeys([one for one in given if one][-MOST_KNOWN:])

    def renew(self, refused: str) -> None:
        login = self._fresh(refused)
        if login.state.id != self._login.state.id:  # another account must not use this connection
            raise ToolServerError(f"There is another login to {self._name} now", "Try again: nothing was done")
        self.take(login, self._fresh)

    def advice(self, scopes: Sequence[str] = ()) -> str:
        return advice(self._name, self._login.state, scopes)


class Logins:
    """Kept closed in the record store. Their tokens go to the server's own URL and nowhere else."""

    def __init__(
        self,
        records: RecordStore,
        box: SecretBox,
        servers: AuthorizationServers,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._records = LoginRecords(records, box)
        self._servers = servers
        self._clock = clock
        self._renewal = Renewal(self._records, servers, clock)
        self._machines = ClientCredentials(self._records, servers)
        self._turn = threading.Lock()
        self._bearers: WeakValueDictionary[tuple[Owner, str, str], LoginBearer] = WeakValueDictionary()

    def close(self) -> None:
        """Ask those who give out tokens no more: the server stops."""
        self._servers.close()

    def states(self, owner: Owner) -> dict[str, LoginState]:
        """The state of each login, by the names of servers. None of it is secret."""
        return self._records.states(owner)

    def bearer(self, owner: Owner, wanted: Wanted) -> Bearer | None:
        """The token with which this server is called, renewed if it ends soon; None if there is no login to it."""
        name = wanted.name
        if wanted.oauth.grant == "client_credentials":
            find = partial(self._machines.stored, owner, wanted)
        else:
            state = self._records.state(owner, name)
            if state is None or state.of != wanted.of or state.grant != "authorization_code":
                return None
            find = partial(self._records.get, owner, name)
        fresh = partial(self._renewal.fresh, owner, name, find)
        login = fresh()
        with self._turn:
            key = owner, name, login.state.id
            bearer = self._bearers.get(key)
            if bearer is None:
                bearer = self._bearers[key] = LoginBearer(name, login, fresh)
        bearer.take(login, fresh)
        return bearer

    def begin(
        self,
        owner: Owner,
        wanted: Wanted,
        redirect: str,
        scope: str | None,
        client_id: str | None,
        secret: Callable[[AuthorizationServer], str | None],
    ) -> BegunLogin:
        """Find out who gives out the server's tokens, and prepare a login there.

        `secret` is asked for that of a client that the person names.
        """
        if wanted.oauth.grant == "client_credentials":
            raise Refused(f"{wanted.name} is used with client credentials", "Test it with: loci tools test")
        check_safe(wanted)
        before = self._records.get(owner, wanted.name)
        known = before.login if before and before.login.state.of == wanted.of else None
        if scope and known and known.state.scope:  # who asks for more keeps what was granted
            scope = " ".join(dict.fromkeys([*known.state.scope.split(), *scope.split()]))
        found = self._servers.protection(wanted.endpoint, wanted.oauth.issuer, scope or wanted.oauth.scope)
        client = self._client_by_hand(wanted, found.server, known, client_id, secret)
        by_hand = client is not None
        client = client or self._servers.register(found.server, redirect, found.scope)
        return BegunLogin(wanted, AuthorizationRequest(found, client, redirect, found.scope), by_hand)

    @staticmethod
    def _client_by_hand(
        wanted: Wanted,
        server: AuthorizationServer,
        known: Login | None,
        client_id: str | None,
        secret: Callable[[AuthorizationServer], str | None],
    ) -> OAuthClient | None:
        """The client that a person has registered, if there is one: named now, in the entry, or at the last login."""
        if client_id is not None:
            return client_of(server, client_id, None if _is_document(client_id) else secret(server))
        id = wanted.oauth.client_id
        if id is not None and wanted.oauth.client_secret is not None:
            check_trusted(wanted, server)
            return client_of(server, id, wanted.oauth.client_secret)
        if (
            known
            and known.state.by_hand
            and known.state.server.issuer == server.issuer
            and id in (None, known.client.id)
        ):
            return known.client
        return None if id is None else client_of(server, id, None if _is_document(id) else secret(server))

    def finish(self, owner: Owner, begun: BegunLogin, answer: dict[str, str]) -> LoginState:
        """Get tokens for the answer, and keep them."""
        request, wanted = begun.request, begun.wanted
        server = request.protection.server
        given = self._servers.tokens(server, request.client, request.form(answer))
        state = LoginState(
            id=secrets.token_hex(8),
            written=wanted.written,
            of=wanted.of,
            grant="authorization_code",
            scope=request.scope,
            server=server,
            by_hand=begun.by_hand,
        )
        login = Login(state, request.client, request.protection.resource).renewed(given, self._clock())
        self._records.put(owner, wanted.name, login)
        return login.state

    def end(self, owner: Owner, name: str) -> LoginState:
        """Forget the login, and tell the authorization server that its tokens are not used any more.

        Raises `NotFound` if there is none, and `LoginFailed` if the server could not be told: it is forgotten anyway.
        """
        stored = self._records.get(owner, name)
        if stored is None:
            raise NotFound(f"There is no login to {name[:80]!r}", f"Log in with: loci tools login {name[:80]}")
        self._records.remove(owner, name)
        login = stored.login
        if token := login.refresh or login.access:
            self._servers.revoke(login.state.server, login.client, token)
        return login.state

    def forget(self, owner: Owner, name: str) -> None:
        """Forget the login, if there is one."""
        self._records.remove(owner, name)


def _is_document(client_id: str) -> bool:
    """True if the id is the address of what describes the client. Such a client shares no secret with anybody."""
    return client_id.startswith("https://")
