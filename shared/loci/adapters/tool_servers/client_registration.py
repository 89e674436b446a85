"""Loci registers itself at an authorization server (RFC 7591)."""

import httpx2
from mcp.client.auth import OAuthRegistrationError
from mcp.client.auth.oauth2 import check_registration_usable
from mcp.client.auth.utils import handle_registration_response
from mcp.shared.auth import OAuthClientMetadata
from pydantic import AnyUrl

from loci.adapters.tool_servers.heard import quoted
from loci.adapters.tool_servers.small_requests import SmallRequests
from loci.core.redaction import NO_SECRETS
from loci.tools.authorization import METHODS, AuthorizationServer, ClientMethod, OAuthClient, known_method
from loci.tools.ports import LoginFailed

BY_HAND = "Register an app there by hand, and give its id: loci tools login NAME --client-id ID"


async def register(http: SmallRequests, server: AuthorizationServer, redirect: str, scope: str | None) -> OAuthClient:
    """Register, if possible as a client without a secret: a program on a laptop keeps none."""
    if server.registration_url is None:
        raise LoginFailed(f"{server.issuer} registers no programs by itself", BY_HAND)
    method: ClientMethod | None = next((one for one in METHODS if one in server.methods), None)
    wanted = OAuthClientMetadata(
        client_name="Loci", redirect_uris=[AnyUrl(redirect)], token_endpoint_auth_method=method, scope=scope
    )
    body = wanted.model_dump(by_alias=True, mode="json", exclude_none=True)
    answer = await http.send(httpx2.Request("POST", server.registration_url, json=body))
    try:
        made = await handle_registration_response(answer)
        check_registration_usable(made)
    except OAuthRegistrationError as error:
        said = quoted(str(error), NO_SECRETS)
        raise LoginFailed(f"{server.issuer} does not register Loci: {said}", BY_HAND) from None
    given = made.token_endpoint_auth_method
    # Without a method, RFC 7591 means Basic, and servers that say nothing of it expect the secret in the body.
    usual: ClientMethod = "client_secret_post" if made.client_secret else "none"
    return OAuthClient(made.client_id, made.client_secret, known_method(given) or usual)
