"""How a tool server is protected, found out from its refusal and from what it and its authorization server publish."""

import re
from urllib.parse import urlsplit

import httpx2
from mcp.client.auth.utils import (
    build_oauth_authorization_server_metadata_discovery_urls,
    build_protected_resource_metadata_discovery_urls,
    create_oauth_metadata_request,
    extract_resource_metadata_from_www_auth,
    extract_scope_from_www_auth,
    get_client_metadata_scopes,
    handle_auth_metadata_response,
    handle_protected_resource_response,
    issuers_match,
)
from mcp.shared.auth import OAuthMetadata, ProtectedResourceMetadata
from mcp.shared.auth_utils import check_resource_allowed, resource_url_from_server_url
from mcp_types import LATEST_PROTOCOL_VERSION

from loci.adapters.tool_servers.heard import quoted
from loci.adapters.tool_servers.small_requests import SmallRequests
from loci.core.redaction import Redaction, redaction_of
from loci.core.version import version
from loci.tools.authorization import AuthorizationServer, Protection
from loci.tools.ports import LoginFailed
from loci.tools.tool_server import Endpoint

PLAIN_URL = re.compile(r"https?://[A-Za-z0-9._~:/?\[\]!&*+,;=%-]+")
"""Nothing in it means something to a terminal or a shell, and it holds no credentials."""
LOOPBACK = ("127.0.0.1", "localhost", "::1")
ASK_OPERATOR = (
    "Ask who runs it to mend that, or use a token: loci tools add NAME URL --header 'Authorization: Bearer …'"
)
SCOPE = re.compile(r"[\x21\x23-\x5b\x5d-\x7e]{1,200}")
MOST_SCOPES = 100
GRANTS = ["authorization_code", "refresh_token"]


async def protection(http: SmallRequests, endpoint: Endpoint, issuer: str | None, scope: str | None) -> Protection:
    """As `AuthorizationServers.protection`."""
    url, redaction = endpoint.url, redaction_of(endpoint.secrets)
    refusal = await http.send(_first_request(endpoint))
    published = await _resource_metadata(http, url, refusal, redaction)
    named = [str(one) for one in published.authorization_servers] if published else []
    wanted = issuer and next((one for one in named if issuers_match(one, issuer)), issuer)
    chosen = wanted or (named[0] if named else None)
    metadata = await _server_metadata(http, url, chosen, redaction)
    if metadata is None and published is None and refusal.status_code != 401:
        raise LoginFailed(
            f"The server asks for no login: it answered {refusal.status_code}", "Look at it with: loci tools test"
        )
    if metadata is None:
        where = f"The authorization server {quoted(chosen, redaction)}" if chosen else "The server"
        raise LoginFailed(f"{where} publishes no metadata for logins", ASK_OPERATOR)
    # RFC 8707 wants no query in the name of a server: there may be a key in it.
    own_name = resource_url_from_server_url(url.partition("?")[0])
    asked = scope or extract_scope_from_www_auth(refusal)
    return Protection(
        _described(metadata, url, redaction),
        str(published.resource) if published else own_name,
        plain_scope(get_client_metadata_scopes(asked, published, metadata, GRANTS)),
    )


def plain_scope(scope: str | None) -> str | None:
    """The scopes, without those that are none."""
    return " ".join([one for one in (scope or "").split() if SCOPE.fullmatch(one)][:MOST_SCOPES]) or None


def _first_request(endpoint: Endpoint) -> httpx2.Request:
    """As a client begins, but without a token."""
    about = {"name": "loci", "version": version()}
    client = {"protocolVersion": LATEST_PROTOCOL_VERSION, "capabilities": {}, "clientInfo": about}
    return httpx2.Request(
        "POST",
        endpoint.url,
        headers={**endpoint.headers, "Accept": "application/json, text/event-stream"},
        json={"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": client},
    )


async def _resource_metadata(
    http: SmallRequests, url: str, refusal: httpx2.Response, redaction: Redaction
) -> ProtectedResourceMetadata | None:
    """The metadata that the tool server publishes about itself; None if there are none."""
    told = extract_resource_metadata_from_www_auth(refusal)
    if told is not None and _origin(told) != _origin(url):
        told = None  # another machine cannot speak for this one
    failed: int | None = None
    for where in build_protected_resource_metadata_discovery_urls(told, url):
        answer = await http.send(create_oauth_metadata_request(where))
        if answer.status_code >= 500 or answer.status_code == 429:
            failed = answer.status_code
        found = await handle_protected_resource_response(answer)
        if found is None:
            continue
        if not check_resource_allowed(resource_url_from_server_url(url), str(found.resource)):
            said = quoted(str(found.resource), redaction)
            raise LoginFailed(f"The server says that it is another: {said}", "Correct its URL in its settings")
        return found
    if failed is not None:  # it says nothing about whether there is any
        raise LoginFailed(f"The server answered {failed} when asked how it is protected", "Try again in a moment")
    return None


async def _server_metadata(
    http: SmallRequests, url: str, issuer: str | None, redaction: Redaction
) -> OAuthMetadata | None:
    expected = issuer or "{0.scheme}://{0.netloc}".format(urlsplit(url))
    if not _is_allowed(expected, url):
        what = f"Its authorization server is not reached by https: {quoted(expected, redaction)}"
        raise LoginFailed(what, ASK_OPERATOR)
    for where in build_oauth_authorization_server_metadata_discovery_urls(issuer, url):
        answer = await http.send(create_oauth_metadata_request(where))
        go_on, found = await handle_auth_metadata_response(answer)
        if not go_on:
            what = f"The authorization server {quoted(expected, redaction)} answered {answer.status_code}"
            raise LoginFailed(what, "Try again in a moment")
        if found is None:
            continue
        if not issuers_match(str(found.issuer), expected):
            other = quoted(str(found.issuer), redaction)
            what = f"{quoted(expected, redaction)} says that it is another authorization server: {other}"
            raise LoginFailed(what, ASK_OPERATOR)
        return found
    return None


def _described(found: OAuthMetadata, url: str, redaction: Redaction) -> AuthorizationServer:
    def address(value: object) -> str | None:
        if value is None:
            return None
        if not _is_allowed(str(value), url):
            what = f"The authorization server {quoted(str(found.issuer), redaction)} has an address that is not safe"
            raise LoginFailed(f"{what}: {quoted(str(value), redaction)}", ASK_OPERATOR)
        return str(value)

    return AuthorizationServer(
        issuer=str(found.issuer),
        token_url=address(found.token_endpoint) or "",
        authorize_url=address(found.authorization_endpoint),
        registration_url=address(found.registration_endpoint),
        revocation_url=address(found.revocation_endpoint),
        methods=tuple(found.token_endpoint_auth_methods_supported or ()),
        has_pkce="S256" in (found.code_challenge_methods_supported or ()),
        names_itself=found.authorization_response_iss_parameter_supported is True,
    )


def _is_allowed(address: str, url: str) -> bool:
    """True for https. A tool server on this machine may name others on it."""
    if not PLAIN_URL.fullmatch(address):
        return False
    return address.startswith("https://") or (is_loopback(url) and is_loopback(address))


def is_loopback(url: str) -> bool:
    """True if the address is on this machine."""
    return urlsplit(url).hostname in LOOPBACK


def _origin(url: str) -> tuple[str, str | None, int | None] | None:
    try:
        parts = urlsplit(url)
        return parts.scheme, parts.hostname, parts.port or {"https": 443, "http": 80}.get(parts.scheme)
    except ValueError:
        return None
