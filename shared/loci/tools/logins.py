"""Each owner's logins at tool servers: made with a person's consent or a client's secret, used, and forgotten."""

import secrets
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from weakref import WeakValueDictionary

from loci.core.errors import Conflict, NotFound, Refused
from loci.core.identity import Owner
from loci.core.ids import content_id
from loci.core.json import JsonObject
from loci.core.stores import ABSENT, RecordStore, SecretBox
from loci.tools.authorization import Access, Consent, Wanted
from loci.tools.login_records import Login, LoginRecords, LoginState
from loci.tools.ports import AuthorizationServers, ToolServerError
from loci.tools.renewal import Renewal, advice
from loci.tools.tool_server import Bearer

MOST_KNOWN = 12
"""Tokens of a login that are looked for in what its server says."""
Secret = Callable[[str], str | None]
"""Asks the person for the secret of the client with this id; None: it has none."""


class LoginBearer:
    """`Bearer` of one login."""

    def __init__(self, name: str, login: Login, fresh: Callable[[str | None], Login]) -> None:
        self._name = name
        self._known: dict[str, None] = {}
        self.take(login, fresh)

    @property
    def token(self) -> str:
        return self._login.access.token

    @property
    def secrets(self) -> frozenset[str]:
        return frozenset(self._known)

    def take(self, login: Login, fresh: Callable[[str | None], Login]) -> None:
        self._login, self._fresh = login, fresh
        access = login.access
        given = (*self._known, access.token, access.refresh, access.client.get("client_secret"))
        self._known = dict.fromkeys([str(one) for one in given if one][-MOST_KNOWN:])

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
        self._renewal = Renewal(self._records, clock)
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
            find = partial(self._of_machine, owner, wanted)
        else:
            state = self._records.state(owner, name)
            if state is None or state.of != wanted.of or state.grant != "authorization_code":
                return None
            find = partial(self._records.get, owner, name)
        fresh = partial(self._renewal.fresh, owner, name, find, partial(self._given, wanted))
        login = fresh()
        with self._turn:
            key = owner, name, login.state.id
            bearer = self._bearers.get(key)
            if bearer is None:
                bearer = self._bearers[key] = LoginBearer(name, login, fresh)
        bearer.take(login, fresh)
        return bearer

    def _of_machine(self, owner: Owner, wanted: Wanted) -> Login:
        """The login of a client with a secret, for which no person is asked. A new one has no token yet."""
        oauth = wanted.oauth
        id = content_id(f"{wanted.endpoint.url}\n{oauth.model_dump_json(exclude={'client_secret'})}")
        while True:
            found = self._records.get(owner, wanted.name)
            if found and found.state.id == id and found.access.client.get("client_secret") == oauth.client_secret:
                return found
            client: JsonObject = {"client_id": oauth.client_id, "client_secret": oauth.client_secret}
            new = Login(LoginState(id, wanted.written, wanted.of, oauth.grant, renews=True), Access(client=client))
            with suppress(Conflict):  # another process has done the same
                return self._records.put(owner, wanted.name, new, over=found.version if found else ABSENT)

    def _given(self, wanted: Wanted, access: Access) -> Access:
        """The access with other tokens."""
        if access.server:
            return self._servers.renew(access)
        return self._servers.log_in(wanted, access.client, wanted.oauth.scope, None)

    def log_in(
        self,
        owner: Owner,
        wanted: Wanted,
        consent: Consent,
        scope: str | None,
        client_id: str | None,
        secret: Secret,
    ) -> LoginState:
        """Find out who gives out the server's tokens, have the person consent, and keep the tokens."""
        if wanted.oauth.grant == "client_credentials":
            raise Refused(f"{wanted.name} is used with client credentials", "Test it with: loci tools test")
        before = self._records.get(owner, wanted.name)
        known = before if before and before.state.of == wanted.of else None
        if scope and known and known.state.scope:  # who asks for more keeps what was granted
            scope = " ".join(dict.fromkeys([*known.state.scope.split(), *scope.split()]))
        client = _client_by_hand(wanted, known, client_id, secret)
        given = self._servers.log_in(wanted, client, scope or wanted.oauth.scope, consent)
        by_hand = client is not None and client["client_id"] == given.client.get("client_id")
        state = LoginState(secrets.token_hex(8), wanted.written, wanted.of, wanted.oauth.grant, by_hand=by_hand)
        login = Login(state, given).renewed(given, self._clock())
        self._records.put(owner, wanted.name, login)
        return login.state

    def end(self, owner: Owner, name: str) -> bool:
        """Forget the login, and tell the authorization server that its tokens are not used any more.

        False: that server cannot be told. Raises `NotFound` if there is no login, and `LoginFailed` if telling fails:
        it is forgotten anyway.
        """
        login = self._records.get(owner, name)
        if login is None:
            raise NotFound(f"There is no login to {name[:80]!r}", f"Log in with: loci tools login {name[:80]}")
        self._records.remove(owner, name)
        return not login.access.token or self._servers.revoke(login.access)

    def forget(self, owner: Owner, name: str) -> None:
        """Forget the login, if there is one."""
        self._records.remove(owner, name)


def _client_by_hand(wanted: Wanted, known: Login | None, named: str | None, secret: Secret) -> JsonObject | None:
    """The client that a person has registered, if there is one: named now, in the entry, or at the last login.

    One whose id is the address of what describes it shares no secret with anybody.
    """
    id = named or wanted.oauth.client_id
    if named is None and wanted.oauth.client_secret is not None:
        return {"client_id": id, "client_secret": wanted.oauth.client_secret}
    if named is None and known and known.state.by_hand and id in (None, known.access.client.get("client_id")):
        return {**known.access.client, "issuer": known.state.issuer}
    if id is None:
        return None
    return {"client_id": id, "client_secret": None if id.startswith("https://") else secret(id)}
