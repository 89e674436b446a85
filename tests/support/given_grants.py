"""Tokens of grants, without the way through a browser: tests of that way are elsewhere."""

from collections.abc import Iterable

from loci.app import App
from loci.core.identity import Owner
from loci.core.scopes import SCOPES
from loci.mcp.auth.grants import Tokens
from loci.mcp.auth.oauth_codes import AskedGrant
from loci.mcp.auth.oauth_parts import codes_of
from loci.mcp.auth.signed_in_by import SignedInBy

CLIENT = f"client-{'0' * 24}"


def granted(
    app: App, owner: Owner, scopes: Iterable[str] = tuple(SCOPES), path: str = "/mcp", by: SignedInBy | None = None
) -> Tokens:
    """What a client has that may do so much, after its owner has signed in: if not told how, with a new key."""
    by = by or SignedInBy(app.api_keys.create(owner, "signed in")[0].id)
    resource = f"{app.settings.base_url}{path}"
    asked = AskedGrant(CLIENT, "https://client.test/callback", True, None, "c" * 43, tuple(scopes), resource)
    codes = codes_of(app)
    tokens = codes.exchange(codes.make(asked, "A client", "client.test", owner, by), CLIENT)
    assert tokens is not None
    return tokens
