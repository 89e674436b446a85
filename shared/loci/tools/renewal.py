"""Tokens that are renewed before they end, by one thread of one process at a time."""

import time
from collections.abc import Callable, Sequence
from contextlib import suppress

from loci.core.deadline import time_for
from loci.core.errors import Conflict, LociError
from loci.core.identity import Owner
from loci.tools.authorization import Access
from loci.tools.login_records import Login, LoginRecords, LoginState
from loci.tools.ports import LoginFailed, ToolServerError

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
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._records = records
        self._clock = clock

    def fresh(
        self,
        owner: Owner,
        name: str,
        find: Callable[[], Login | None],
        renewed: Callable[[Access], Access],
        refused: str | None = None,
    ) -> Login:
        """The login with a token that is good for a while. `refused`: a token that the server does not accept.

        `find` reads the login as it is stored, and `renewed` gets other tokens for its access.

        Raises `ToolServerError` if there is none to be had.
        """
        until = time.monotonic() + time_for(WAIT_SECONDS)
        while True:
            login, now = find(), self._clock()
            if login is None:
                raise ToolServerError(f"There is no login to {name}", f"Log in with: loci tools login {name}")
            token, state = login.access.token, login.state
            is_refused = not token or token == refused
            if state.needs_person(now) or (is_refused and not state.renews):
                raise ended(name, state)
            if not is_refused and not _is_due(state, now):
                return login
            if login.leased_until > now:
                if not is_refused and not _is_over(state, now):
                    return login
                if time.monotonic() >= until:
                    raise ToolServerError(f"The login to {name} is being renewed", "Try again in a moment")
                time.sleep(LOOK_SECONDS)
                continue
            try:
                leased = self._records.put(owner, name, login, over=login.version, leased_until=now + LEASE_SECONDS)
            except Conflict:
                continue  # somebody else renews it, or it is gone
            return self._renewed(owner, name, leased, renewed, is_refused=is_refused)

    def _renewed(
        self, owner: Owner, name: str, login: Login, renewed: Callable[[Access], Access], *, is_refused: bool
    ) -> Login:
        try:
            over = login.renewed(renewed(login.access), self._clock())
        except LoginFailed as error:
            return self._failed(owner, name, login, error, is_refused=is_refused)
        except LociError:
            self._write(owner, name, login)
            raise
        self._write(owner, name, over)
        return over

    def _failed(self, owner: Owner, name: str, login: Login, error: LoginFailed, *, is_refused: bool) -> Login:
        of_machine = login.state.grant == "client_credentials"
        if not of_machine and error.error in ENDED:
            over = login.ended()
            self._write(owner, name, over)
            raise ended(name, over.state) from None
        self._write(owner, name, login)
        if not is_refused and not _is_over(login.state, self._clock()):
            return login  # it is good for a while yet, and the next call tries again
        resolution = "Try again in a moment"
        if of_machine:
            resolution = advice(name, login.state) if error.error else error.resolution
        raise LoginFailed(error.what, resolution, error.error) from None

    def _write(self, owner: Owner, name: str, login: Login) -> None:
        """Write the outcome, and end the lease."""
        with suppress(Conflict):  # there is a newer login, or the person has logged out
            self._records.put(owner, name, login, over=login.version)


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
