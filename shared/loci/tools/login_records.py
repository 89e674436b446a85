"""Logins at tool servers, as they are stored: what is secret in them closed, for their owner."""

import json
from dataclasses import asdict, dataclass, replace
from typing import Any, cast

from loci.core.identity import Owner
from loci.core.json import JsonObject, iso
from loci.core.stores import Record, RecordStore, SecretBox, Unreadable, every, read_or_none, readable
from loci.tools.authorization import Access
from loci.tools.configuration import Grant, shown_url

LOGIN = "tool_login"
"""The kind of records. The key is the server's name."""
RENEW_SECONDS = 60.0
"""Before its end, a token is renewed: or before the last fifth of its time, if that is shorter."""


@dataclass(frozen=True, slots=True)
class LoginState:
    """The state of a login. None of it is secret."""

    id: str
    """Changes with each login."""
    written: str
    """The server's URL as its entry has it: the login is for no other."""
    of: str
    """Stands for the URL with everything filled in, which may be secret."""
    grant: Grant
    issuer: str = ""
    """Who gave out the tokens; empty if there were none yet."""
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
        return self.has_ended or (not self.renews and self.ends_at is not None and self.ends_at <= now)

    def is_for(self, written: str | None) -> bool:
        """True if it is a login for the server that has this URL in its entry."""
        return written is not None and shown_url(written) == shown_url(self.written)

    def told(self, name: str, now: float) -> str:
        """How it is with the login, for people."""
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
    """Somebody renews it until then."""

    def renewed(self, given: Access, now: float) -> "Login":
        """With other tokens."""
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

    def ended(self) -> "Login":
        """Without tokens: they are of no use any more."""
        state = replace(self.state, has_ended=True, renews=False)
        return replace(self, state=state, access=replace(self.access, token="", refresh=None))


class LoginRecords:
    """Logins in the record store, by their owners and the names of servers."""

    def __init__(self, records: RecordStore, box: SecretBox) -> None:
        self._records = records
        self._box = box

    def states(self, owner: Owner) -> dict[str, LoginState]:
        """All logins by the names of their servers. Opens no secret."""
        return dict(readable(every(self._records, owner, LOGIN), lambda one: (one.key, _state(one))))

    def state(self, owner: Owner, name: str) -> LoginState | None:
        return read_or_none(self._records.get(owner, LOGIN, name), _state)

    def get(self, owner: Owner, name: str) -> Login | None:
        """The login with its secrets. If they cannot be opened any more, it has ended."""
        record = self._records.get(owner, LOGIN, name)
        state = read_or_none(record, _state)
        if record is None or state is None:
            return None
        try:
            opened = self._box.open(owner, str(record.value["closed"]))
        except Unreadable:
            return Login(replace(state, by_hand=False), Access(), record.version).ended()
        access = Access(**cast("dict[str, Any]", json.loads(opened)))
        return Login(state, access, record.version, cast("float", record.value["leased_until"]))

    def put(
        self, owner: Owner, name: str, login: Login, *, over: str | None = None, leased_until: float = 0.0
    ) -> Login:
        """Write it: over that version of the record only, if one is given. Raises `Conflict` if that is not there."""
        value: JsonObject = {
            "state": cast("JsonObject", asdict(login.state)),
            "leased_until": leased_until,
            "closed": self._box.close(owner, json.dumps(asdict(login.access))),
        }
        record = self._records.put(owner, LOGIN, name, value, expect_version=over)
        return replace(login, version=record.version, leased_until=leased_until)

    def remove(self, owner: Owner, name: str) -> bool:
        """Forget it; True if there was one."""
        return self._records.remove(owner, LOGIN, name)


def _state(record: Record) -> LoginState:
    return LoginState(**cast("dict[str, Any]", record.value["state"]))
