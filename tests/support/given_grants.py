"""Tokens of grants, without the way through a browser: tests of that way are elsewhere."""

from collections.abc import Iterable

from loci.app import App
from loci.auth.grants import AskedGrant, SignedInBy, Tokens, grants_of
from loci.core.identity import Owner
from loci.core.scopes import SCOPES

CLIENT = f"client-{'0' * 24}"


def granted(
    app: App, owner: Owner, scopes: Iterable[str] = tuple(SCOPES), path: str = "/mcp", by: SignedInBy | None = None
) -> Tokens:
    """What a client has that may do so much, after its owner has signed in: if not told how, with a new key."""
    by = by or SignedInBy(app.api_keys.create(owner, "signed in")[0].id)
    resource = f"{app.settings.base_url}{path}"
    asked = AskedGrant(
        client=CLIENT,
        redirect="https://client.test/callback",
        named_redirect=True,
        challenge="c" * 43,
        scopes=tuple(scopes),
        resource=resource,
    )
    grants = grants_of(app)
    tokens = grants.exchange(grants.allow(asked, "A client", owner, by), CLIENT)
    assert tokens is not None
    return tokens
