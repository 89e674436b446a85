"""The logins of owners at tool servers: made with a person's consent or a client's secret, used, renewed, forgotten."""

import json
import secrets
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from functools import partial
from typing import Any, cast
from weakref import WeakValueDictionary

from loci.core.deadline import time_for
from loci.core.errors import Conflict, NotFound, Refused
from loci.core.identity import Owner
from loci.core.ids import content_id
from loci.core.json import JsonObject, iso
from loci.core.stores import ABSENT, Record, RecordStore, SecretBox, SecretUnreadable, every, read_or_none, readable
from loci.gateway.configuration import Grant, shown_url
from loci.gateway.ports import Access, AuthorizationServers, Consent, LoginFailed, LoginRequest, ToolServerError

LOGIN = "tool_login"
"""The kind of records. The key is the server's name."""
RENEW_SECONDS = 60.0
"""Seconds before its end in which a token is renewed; at most the last fifth of its time."""
LEASE_SECONDS = 45.0
"""A renewal takes less. If its process dies, another may renew after that."""
WAIT_SECONDS, LOOK_SECONDS = 20.0, 0.05
ENDED = ("invalid_grant", "bad_refresh_token", "invalid_client", "unauthorized_client")
"""The answers that end a login: its refresh token, or the client that was registered for it, is no longer known."""
MOST_KNOWN = 12
"""The number of tokens of a login that are redacted in answers of its server."""
Secret = Callable[[str], str | None]
"""Asks the person for the secret of the client with this id; None: it has none."""


@dataclass(frozen=True, slots=True)
class LoginState:
    """The state of a login, without secrets."""

    id: str
    """Changes with each login."""
    written: str
    """The server's URL as its entry has it: the login is for no other."""
    of: str
    """Stands for the URL with everything filled in, which may be secret."""
    grant: Grant
    issuer: str = ""
    """The issuer of the tokens; empty if no token was issued yet."""
    scope: str | None = None
    ends_at: float | None = None
    renew_at: float | None = None
    renews: bool = False
    """True if Loci can renew its token."""
    has_ended: bool = False
    by_hand: bool = False
    """True if a person registered the client: it serves for the next login too."""

    def needs_person(self, now: float) -> bool:
        """True if only a new login helps."""
        return self.has_ended or (not self.renews and self.is_over(now))

    def is_due(self, now: float) -> bool:
        """True if its token is to be renewed."""
        return self.renews and self.renew_at is not None and self.renew_at <= now

    def is_over(self, now: float) -> bool:
        """True if its token is not good any more."""
        return self.ends_at is not None and self.ends_at <= now

    def is_for(self, written: str | None) -> bool:
        """True if it is a login for the server that has this URL in its entry."""
        return written is not None and shown_url(written) == shown_url(self.written)

    def describe(self, name: str, now: float) -> str:
        """The state of the login in words, for people."""
        if self.needs_person(now):
            return f"login needed: loci tools login {name}"
        if not self.issuer:
            return "no token yet"
        if self.renews:
            return f"logged in at {self.issuer}, renewed by itself"
        until = "" if self.ends_at is None else f" until {iso(self.ends_at)}"
        return f"logged in at {self.issuer}{until}"

    def facts(self, now: float) -> JsonObject:
        """The same for programs."""
        return {
            "issuer": self.issuer,
            "grant": self.grant,
            "scope": self.scope,
            "until": None if self.ends_at is None else iso(self.ends_at),
            "renews": self.renews,
            "needed": self.needs_person(now),
        }


@dataclass(frozen=True, slots=True)
class Login:
    """A login with its secrets, and what a writer must know of its record."""

    state: LoginState
    access: Access
    version: str = ""
    leased_until: float = 0.0
    """The time until which another process may be renewing the login."""

    def renewed(self, given: Access, now: float) -> "Login":
        """The login with other tokens."""
        ends_at = None if given.seconds is None else now + given.seconds
        before = min(RENEW_SECONDS, (given.seconds or 0) / 5)
        state = replace(
            self.state,
            issuer=str(given.server["issuer"]),
            scope=given.scope,
            ends_at=ends_at,
            renew_at=None if ends_at is None else ends_at - before,
            renews=given.refresh is not None or self.state.grant == "client_credentials",
            has_ended=False,
        )
        return replace(self, state=state, access=given)

    def without_tokens(self) -> "Login":
        """The login without its tokens, which are of no use any more."""
        state = replace(self.state, has_ended=True, renews=False)
        return replace(self, state=state, access=replace(self.access, token="", refresh=None))


class LoginBearer:
    """The access token of a login, the same object as long as the login is the same: a connection outlives tokens."""

    def __init__(self, name: str, login: Login, fresh: Callable[[str | None], Login]) -> None:
        self._name = name
        self._known: dict[str, None] = {}
        self.use(login, fresh)

    @property
    def token(self) -> str:
        """The current token, read at each request."""
        return self._login.access.token

    @property
    def secrets(self) -> frozenset[str]:
        """The secrets of the login, with earlier ones: servers may repeat an earlier token."""
        return frozenset(self._known)

    def use(self, login: Login, fresh: Callable[[str | None], Login]) -> None:
        self._login, self._fresh = login, fresh
        access = login.access
        given = (*self._known, access.token, access.refresh, access.client.get("client_secret"))
        self._known = dict.fromkeys([str(one) for one in given if one][-MOST_KNOWN:])

    def renew(self, refused: str) -> None:
        """Get another token, because the server refuses this one. Raises `LociError` if that fails."""
        login = self._fresh(refused)
        if login.state.id != self._login.state.id:  # another account must not use this connection
            raise ToolServerError(f"There is another login to {self._name} now", "Try again: nothing was done")
        self.use(login, self._fresh)

    def advice(self, scopes: Sequence[str] = ()) -> str:
        """Advice to a person if the server wants another login, or one with these scopes too."""
        return _advice(self._name, self._login.state, scopes)


class Logins:
    """Kept closed in the record store. Their tokens go to the server's own URL and nowhere else."""

    def __init__(
        self,
        records: RecordStore,
        box: SecretBox,
        servers: AuthorizationServers,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._records = records
        self._box = box
        self._servers = servers
        self._clock = clock
        self._turn = threading.Lock()
        self._bearers: WeakValueDictionary[tuple[Owner, str, str], LoginBearer] = WeakValueDictionary()

    def states(self, owner: Owner) -> dict[str, LoginState]:
        """The state of each login, by the names of servers. No secret is decrypted for it."""
        return dict(readable(every(self._records, owner, LOGIN), lambda one: (one.key, _state(one))))

    def bearer(self, owner: Owner, wanted: LoginRequest) -> LoginBearer | None:
        """The token with which this server is called, renewed if it ends soon; None if there is no login to it."""
        name = wanted.name
        if wanted.oauth.grant != "client_credentials":
            state = read_or_none(self._records.get(owner, LOGIN, name), _state)
            if state is None or state.of != wanted.url_hash or state.grant != "authorization_code":
                return None
        fresh = partial(self._fresh, owner, wanted)
        login = fresh()
        with self._turn:
            key = owner, name, login.state.id
            bearer = self._bearers.get(key)
            if bearer is None:
                bearer = self._bearers[key] = LoginBearer(name, login, fresh)
        bearer.use(login, fresh)
        return bearer

    def log_in(
        self,
        owner: Owner,
        wanted: LoginRequest,
        consent: Consent,
        scope: str | None,
        client_id: str | None,
        secret: Secret,
    ) -> LoginState:
        """Find the issuer of the server's tokens, ask the person for consent, and store the tokens."""
        if wanted.oauth.grant == "client_credentials":
            raise Refused(f"{wanted.name} is used with client credentials", "Test it with: loci tools test")
        before = self._get(owner, wanted.name)
        known = before if before and before.state.of == wanted.url_hash else None
        if scope and known and known.state.scope:  # who asks for more keeps what was granted
            scope = " ".join(dict.fromkeys([*known.state.scope.split(), *scope.split()]))
        client = _client_by_hand(wanted, known, client_id, secret)
        given = self._servers.log_in(wanted, client, scope or wanted.oauth.scope, consent)
        by_hand = client is not None and client["client_id"] == given.client.get("client_id")
        state = LoginState(secrets.token_hex(8), wanted.written, wanted.url_hash, wanted.oauth.grant, by_hand=by_hand)
        return self._put(owner, wanted.name, Login(state, given).renewed(given, self._clock())).state

    def end(self, owner: Owner, name: str) -> bool:
        """Forget the login, and tell the authorization server that its tokens are not used any more.

        False: that server cannot be told. Raises `NotFound` if there is no login, and `LoginFailed` if telling fails:
        it is forgotten anyway.
        """
        login = self._get(owner, name)
        if login is None:
            raise NotFound(f"There is no login to {name[:80]!r}", f"Log in with: loci tools login {name[:80]}")
        self.forget(owner, name)
        return not login.access.token or self._servers.revoke(login.access)

    def forget(self, owner: Owner, name: str) -> None:
        """Forget the login, if there is one."""
        self._records.remove(owner, LOGIN, name)

    def _fresh(self, owner: Owner, wanted: LoginRequest, refused: str | None = None) -> Login:
        """The login with a token that is good for a while. `refused`: a token that the server rejects.

        Many servers give a new refresh token each time, and end the login if somebody uses the old one again. So who
        renews writes first that it does, over the version of the record that it has read. The others wait for the
        outcome, or go on with the token that is there. Raises `ToolServerError` if there is none to be had.
        """
        name, until = wanted.name, time.monotonic() + time_for(WAIT_SECONDS)
        is_machine = wanted.oauth.grant == "client_credentials"
        while True:
            login, now = self._of_machine(owner, wanted) if is_machine else self._get(owner, name), self._clock()
            if login is None:
                raise ToolServerError(f"There is no login to {name}", f"Log in with: loci tools login {name}")
            token, state = login.access.token, login.state
            is_refused = not token or token == refused
            if state.needs_person(now) or (is_refused and not state.renews):
                raise _login_ended(name, state)
            if not is_refused and not state.is_due(now):
                return login
            if login.leased_until > now:
                if not is_refused and not state.is_over(now):
                    return login
                if time.monotonic() >= until:
                    raise ToolServerError(f"The login to {name} is being renewed", "Try again in a moment")
                time.sleep(LOOK_SECONDS)
                continue
            try:
                leased = self._put(owner, name, login, over=login.version, leased_until=now + LEASE_SECONDS)
            except Conflict:
                continue  # somebody else renews it, or it is gone
            return self._renewed(owner, wanted, leased, is_refused=is_refused)

    def _renewed(self, owner: Owner, wanted: LoginRequest, login: Login, *, is_refused: bool) -> Login:
        """The login with other tokens. Its record, with the lease, is written over in any case."""
        name, after = wanted.name, login
        try:
            if login.access.server:
                given = self._servers.renew(login.access)
            else:
                given = self._servers.log_in(wanted, login.access.client, wanted.oauth.scope, None)
            after = login.renewed(given, self._clock())
        except LoginFailed as error:
            of_machine = login.state.grant == "client_credentials"
            if not of_machine and error.error in ENDED:
                after = login.without_tokens()
                raise _login_ended(name, after.state) from None
            if is_refused or login.state.is_over(self._clock()):
                resolution = "Try again in a moment"
                if of_machine:
                    resolution = _advice(name, login.state) if error.error else error.resolution
                raise LoginFailed(error.what, resolution, error.error) from None
            # It is good for a while yet, and the next call tries again.
        finally:
            with suppress(Conflict):  # there is a newer login, or the person has logged out
                self._put(owner, name, after, over=login.version)
        return after

    def _of_machine(self, owner: Owner, wanted: LoginRequest) -> Login:
        """The login of a client with a secret, for which no person is asked. A new one has no token yet."""
        oauth = wanted.oauth
        id = content_id(f"{wanted.endpoint.url}\n{oauth.model_dump_json(exclude={'client_secret'})}")
        while True:
            found = self._get(owner, wanted.name)
            if found and found.state.id == id and found.access.client.get("client_secret") == oauth.client_secret:
                return found
            client: JsonObject = {"client_id": oauth.client_id, "client_secret": oauth.client_secret}
            new = Login(
                LoginState(id, wanted.written, wanted.url_hash, oauth.grant, renews=True), Access(client=client)
            )
            with suppress(Conflict):  # another process has done the same
                return self._put(owner, wanted.name, new, over=found.version if found else ABSENT)

    def _get(self, owner: Owner, name: str) -> Login | None:
        """The login with its secrets. If they cannot be opened any more, it has ended."""
        record = self._records.get(owner, LOGIN, name)
        state = read_or_none(record, _state)
        if record is None or state is None:
            return None
        try:
            opened = self._box.open(owner, str(record.value["closed"]))
        except SecretUnreadable:
            return Login(replace(state, by_hand=False), Access(), record.version).without_tokens()
        access = Access(**cast("dict[str, Any]", json.loads(opened)))
        return Login(state, access, record.version, cast("float", record.value["leased_until"]))

    def _put(
        self, owner: Owner, name: str, login: Login, *, over: str | None = None, leased_until: float = 0.0
    ) -> Login:
        """Write the login, over the given version of the record only. Raises `Conflict` if the record has changed."""
        value: JsonObject = {
            "state": cast("JsonObject", asdict(login.state)),
            "leased_until": leased_until,
            "closed": self._box.close(owner, json.dumps(asdict(login.access))),
        }
        record = self._records.put(owner, LOGIN, name, value, expect_version=over)
        return replace(login, version=record.version, leased_until=leased_until)


def _state(record: Record) -> LoginState:
    return LoginState(**cast("dict[str, Any]", record.value["state"]))


def _login_ended(name: str, state: LoginState) -> ToolServerError:
    """The error of a login whose token is not accepted, and that cannot be renewed."""
    return ToolServerError(f"The login to {name} has ended", _advice(name, state))


def _advice(name: str, state: LoginState, scopes: Sequence[str] = ()) -> str:
    """Advice to a person on how to get another login, perhaps with more scopes."""
    if state.grant == "client_credentials":
        return f"Check the oauth settings of {name}"
    return " ".join((f"Log in with: loci tools login {name}", *(f"--scope {one}" for one in scopes)))


def _client_by_hand(wanted: LoginRequest, known: Login | None, named: str | None, secret: Secret) -> JsonObject | None:
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
