"""Tokens that are renewed before they end, by one thread of one process at a time."""

import time
from collections.abc import Callable, Sequence
from contextlib import suppress

from loci.core.deadline import time_for
from loci.core.errors import Conflict, LociError
from loci.core.identity import Owner
from loci.tools.login_records import Login, LoginRecords, LoginState, StoredLogin
from loci.tools.ports import AuthorizationServers, LoginFailed, ToolServerError

LEASE_SECONDS = 45.0
"""A renewal takes less. If its process dies, another may renew after that."""
WAIT_SECONDS, LOOK_SECONDS = 20.0, 0.05
ENDED = ("invalid_grant", "bad_refresh_token", "invalid_client", "unauthorized_client")
"""The answers that end a login: its refresh token, or the client that was registered for it, is no longer known."""


class Renewal:
    """Many servers give a new refresh token each time, and end the login if somebody uses the old one again.

    Who renews writes first that it does, over the version of the record that it has read. The others wait for the
    outcome, or go on with the token that is there.
    """

    def __init__(
        self,
        records: LoginRecords,
        servers: AuthorizationServers,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._records = records
        self._servers = servers
        self._clock = clock

    def fresh(
        self, owner: Owner, name: str, find: Callable[[], StoredLogin | None], refused: str | None = None
    ) -> Login:
        """The login with a token that is good for a while. `refused`: a token that the server does not accept.

        `find` reads the login as it is stored.

        Raises `ToolServerError` if there is none to be had.
        """
        until = time.monotonic() + time_for(WAIT_SECONDS)
        while True:
            stored = find()
            if stored is None:
                raise ToolServerError(f"There is no login to {name}", f"Log in with: loci tools login {name}")
            login, now = stored.login, self._clock()
            is_refused = not login.access or login.access == refused
            if login.state.needs_person(now) or (is_refused and not login.state.renews):
                raise ended(name, login.state)
            if not is_refused and not _is_due(login.state, now):
                return login
            if stored.leased_until > now:
                if not is_refused and not _is_over(login.state, now):
                    return login
                if time.monotonic() >= until:
                    raise ToolServerError(f"The login to {name} is being renewed", "Try again in a moment")
                time.sleep(LOOK_SECONDS)
                continue
            try:
                leased = self._records.put(owner, name, login, over=stored.version, leased_until=now + LEASE_SECONDS)
            except Conflict:
                continue  # somebody else renews it, or it is gone
            return self._renewed(owner, name, leased, is_refused=is_refused)

    def _renewed(self, owner: Owner, name: str, leased: StoredLogin, *, is_refused: bool) -> Login:
        login = leased.login
        try:
            given = self._servers.tokens(login.state.server, login.client, self._form(login))
        except LoginFailed as error:
            return self._failed(owner, name, leased, error, is_refused=is_refused)
        except LociError:
            self._written(owner, name, leased, login)
            raise
        renewed = login.renewed(given, self._clock())
        self._written(owner, name, leased, renewed)
        return renewed

    def _failed(self, owner: Owner, name: str, leased: StoredLogin, error: LoginFailed, *, is_refused: bool) -> Login:
        login = leased.login
        if login.state.grant == "authorization_code" and error.error in ENDED:
            over = login.ended()
            self._written(owner, name, leased, over)
            raise ended(name, over.state) from None
        self._written(owner, name, leased, login)
        if not is_refused and not _is_over(login.state, self._clock()):
            return login  # it is good for a while yet, and the next call tries again
        if login.state.grant == "client_credentials":
            raise LoginFailed(error.what, advice(name, login.state), error.error) from None
        raise LoginFailed(error.what, "Try again in a moment", error.error) from None

    def _written(self, owner: Owner, name: str, leased: StoredLogin, login: Login) -> None:
        with suppress(Conflict):  # there is a newer login, or the person has logged out
            self._records.put(owner, name, login, over=leased.version)

    @staticmethod
    def _form(login: Login) -> dict[str, str]:
        form = {"grant_type": login.state.grant, "resource": login.resource}
        if login.state.grant == "authorization_code":
            return {**form, "grant_type": "refresh_token", "refresh_token": login.refresh or ""}
        return form | ({"scope": login.state.scope} if login.state.scope else {})


def ended(name: str, state: LoginState) -> ToolServerError:
    """The error of a login whose token is not accepted, and that cannot be renewed."""
    return ToolServerError(f"The login to {name} has ended", advice(name, state))


def advice(name: str, state: LoginState, scopes: Sequence[str] = ()) -> str:
    """Advice to a person on how to get another login, perhaps with more scopes."""
    if state.grant == "client_credentials":
        return f"Check the oauth settings of {name}"
    return " ".join((f"Log in with: loci tools login {name}", *(f"--scope {one}" for one in scopes)))


def _is_due(state: LoginState, now: float) -> bool:
    return state.renews and state.renew_at is not None and state.renew_at <= now


def _is_over(state: LoginState, now: float) -> bool:
    return state.ends_at is not None and state.ends_at <= now
