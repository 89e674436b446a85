"""Logins without a person: a client has a secret, and gets tokens for it."""

from contextlib import suppress

from loci.core.errors import Conflict
from loci.core.identity import Owner
from loci.core.ids import content_id
from loci.core.stores import ABSENT
from loci.tools.authorization import AuthorizationServer, client_of
from loci.tools.configuration import not_configured
from loci.tools.login_records import Login, LoginRecords, LoginState, StoredLogin
from loci.tools.ports import AuthorizationServers
from loci.tools.wanted_login import Wanted, canonical, check_safe, check_trusted, is_here


class ClientCredentials:
    """Prepares a login by what the entry says. Its first token is got as all later ones are."""

    def __init__(self, records: LoginRecords, servers: AuthorizationServers) -> None:
        self._records = records
        self._servers = servers

    def stored(self, owner: Owner, wanted: Wanted) -> StoredLogin:
        """The login that the entry wants. If there is none yet, find out where the client's secret gets tokens."""
        oauth = wanted.oauth
        id = content_id(f"{wanted.endpoint.url}\n{oauth.model_dump_json(exclude={'client_secret'})}")
        made: Login | None = None
        while True:
            found = self._records.get(owner, wanted.name)
            known = found.login if found else None
            if found and known and known.state.id == id and known.client.secret == oauth.client_secret:
                return found
            made = made or self._made(wanted, id)
            with suppress(Conflict):  # somebody else has found the same
                return self._records.put(owner, wanted.name, made, over=found.version if found else ABSENT)

    def _made(self, wanted: Wanted, id: str) -> Login:
        oauth = wanted.oauth
        check_safe(wanted)
        server, resource, scope = self._whom(wanted)
        state = LoginState(
            id=id,
            written=wanted.written,
            of=wanted.of,
            grant="client_credentials",
            scope=oauth.scope or scope,
            server=server,
            renews=True,
        )
        return Login(state, client_of(server, oauth.client_id or "", oauth.client_secret), resource)

    def _whom(self, wanted: Wanted) -> tuple[AuthorizationServer, str, str | None]:
        oauth = wanted.oauth
        if oauth.token_url is not None:
            if not oauth.token_url.startswith("https://") and not is_here(oauth.token_url):
                raise not_configured(wanted.name, "its token_url is not reached by https", "Correct it")
            server = AuthorizationServer(
                oauth.issuer or oauth.token_url, oauth.token_url, only_public=wanted.endpoint.only_public
            )
            return server, canonical(wanted.endpoint.url), None
        found = self._servers.protection(wanted.endpoint, oauth.issuer, oauth.scope)
        check_trusted(wanted, found.server)
        return found.server, found.resource, found.scope
