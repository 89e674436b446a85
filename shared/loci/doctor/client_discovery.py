"""Discovery, as a client does it before it signs in: who gives tokens for an endpoint, and how."""

import re
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import urlsplit

from loci.doctor.http_steps import Reply, Requests, Stopped, is_safe

RESOURCE: Final = "/.well-known/oauth-protected-resource"
SERVER: Final = "/.well-known/oauth-authorization-server"
OPENID: Final = "/.well-known/openid-configuration"
CHALLENGE_FIELD: Final = re.compile(r'\b(\w{1,40})="([^"]{0,2000})"')
ADDRESSES: Final = "Set public_url to the address that clients use, in front of every proxy"


@dataclass(frozen=True, slots=True)
class Found:
    """The authorization server of an endpoint."""

    issuer: str
    authorize_url: str
    token_url: str
    registration_url: str | None
    revocation_url: str | None
    takes_documents: bool
    resource: str
    scopes: tuple[str, ...]


def challenge_in(reply: Reply) -> dict[str, str]:
    """The fields of the challenge of a 401."""
    return dict(CHALLENGE_FIELD.findall(reply.headers.get("www-authenticate", "")))


def resource_document(requests: Requests, url: str, challenge: dict[str, str]) -> dict[str, Any] | None:
    """The document about the endpoint (RFC 9728). None: there is none, so there is nobody who gives tokens."""
    parts = urlsplit(url)
    base, path = f"{parts.scheme}://{parts.netloc}", parts.path.rstrip("/")
    named = challenge.get("resource_metadata")
    if named and not is_safe(named):
        raise Stopped(f"The challenge names {named}, which is not https", ADDRESSES)
    for where in [named] if named else [f"{base}{RESOURCE}{path}", f"{base}{RESOURCE}"]:
        reply = requests.ask("GET", where)
        if reply.status == 200 and reply.value:
            return _checked(reply.value, url, where)
        if named:
            what = f"The challenge names {where}, which answers {reply.words}"
            raise Stopped(what, f"{ADDRESSES}; a proxy must pass on what is below /.well-known/")
    return None


def _checked(document: dict[str, Any], url: str, where: str) -> dict[str, Any]:
    resource = document.get("resource")
    # A client takes the document of this endpoint, or of what is above it.
    if not isinstance(resource, str) or not f"{url.rstrip('/')}/".startswith(f"{resource.rstrip('/')}/"):
        raise Stopped(f"{where} is about {resource}, and not about {url}: clients end here", ADDRESSES)
    servers = document.get("authorization_servers")
    if not isinstance(servers, list) or not servers or not isinstance(servers[0], str):
        raise Stopped(f"{where} names no authorization server", 'Set oauth = "built-in", or oidc_issuer')
    return document


def authorization_server(requests: Requests, document: dict[str, Any], challenge: dict[str, str]) -> Found:
    """The first authorization server of the document, as its own metadata describes it (RFC 8414)."""
    issuer: str = document["authorization_servers"][0]
    parts = urlsplit(issuer)
    base, path = f"{parts.scheme}://{parts.netloc}", parts.path.rstrip("/")
    if not is_safe(issuer):
        raise Stopped(f"The authorization server {issuer} is not https", ADDRESSES)
    tried = dict.fromkeys((f"{base}{SERVER}{path}", f"{base}{OPENID}{path}", f"{issuer.rstrip('/')}{OPENID}"))
    said = ""
    for where in tried:
        reply = requests.ask("GET", where)
        if reply.status == 200 and reply.value:
            return _server(reply.value, issuer, where, document, challenge)
        said = reply.words
    what = f"None of {', '.join(tried)} describes the authorization server: the last answers {said}"
    raise Stopped(what, "Pass on what is below /.well-known/ at the root of the host")


def _server(
    told: dict[str, Any], issuer: str, where: str, document: dict[str, Any], challenge: dict[str, str]
) -> Found:
    if str(told.get("issuer", "")).rstrip("/") != issuer.rstrip("/"):
        raise Stopped(f"{where} is about {told.get('issuer')}, and not about {issuer}", ADDRESSES)
    for name in ("authorization_endpoint", "token_endpoint"):
        if not isinstance(told.get(name), str) or not is_safe(told[name]):
            raise Stopped(f"{where} names no {name} over https", ADDRESSES)
    if "S256" not in (told.get("code_challenge_methods_supported") or ()):
        what = f"{issuer} does not say that it knows PKCE with S256: clients of MCP refuse it"
        raise Stopped(what, 'Ask who runs it to mend that, or set oauth = "built-in"')
    asked = challenge.get("scope", "").split() or document.get("scopes_supported") or []
    return Found(
        issuer=issuer,
        authorize_url=told["authorization_endpoint"],
        token_url=told["token_endpoint"],
        registration_url=told.get("registration_endpoint"),
        revocation_url=told.get("revocation_endpoint"),
        takes_documents=told.get("client_id_metadata_document_supported") is True,
        resource=str(document["resource"]),
        scopes=tuple(str(one) for one in asked),
    )
