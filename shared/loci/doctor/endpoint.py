"""`loci doctor --url`: checks an endpoint as a client would: its answer, its sign-in and its tools."""

import json
from collections.abc import Iterator, Mapping
from typing import Any, Final, TypeVar, cast
from urllib.parse import urlsplit

import httpx2
from mcp.client.auth.utils import (
    build_oauth_authorization_server_metadata_discovery_urls,
    build_protected_resource_metadata_discovery_urls,
    extract_resource_metadata_from_www_auth,
    issuers_match,
)
from mcp.shared.auth import OAuthMetadata, ProtectedResourceMetadata
from mcp.shared.auth_utils import check_resource_allowed
from mcp_types.version import LATEST_HANDSHAKE_VERSION
from pydantic import BaseModel, ValidationError

from loci.core.diagnosis import Finding, counted
from loci.core.version import version
from loci.mcp.http.address import is_safe

SECONDS: Final = 20.0
LARGEST: Final = 1 << 20
"""The most bytes of an answer."""
SHOWN: Final = 120
"""The most characters that are shown of a server's own message."""
ADDRESSES: Final = "Set public_url to the address that clients use, in front of every proxy"
LOG: Final = "Check the log of the server"
WHY: Final = {
    403: "A proxy or firewall in front of Loci refuses programs: let this path pass",
    421: "Set public_url to the address that clients use, or add its host to allowed_hosts",
    429: "Try again later, or raise the limits of the proxy in front",
    **dict.fromkeys((502, 503, 504), f"Check that the server behind the proxy runs. {LOG}"),
}
"""Advice for an endpoint that answers with this status."""
UNREACHED: Final = (
    (("certificate", "ssl"), "Use a certificate that clients trust, and check that the port speaks https"),
    (("name or service", "getaddrinfo", "no address", "name resolution"), "Check the host's name, and its DNS record"),
    (("refused",), "Start the server, or correct host and port"),
)
"""Words in the error of a connection, and the advice for each."""
M = TypeVar("M", bound=BaseModel)


class EndpointFault(Exception):
    """The step at which a client fails, why, and what to do."""

    def __init__(self, step: str, what: str, advice: str) -> None:
        super().__init__(what)
        self.finding = Finding(step, "fault", what, advice)


def check_endpoint(url: str, key: str | None) -> Iterator[Finding]:
    """Yield the finding of each step as soon as it is known, up to the first fault."""
    try:
        with httpx2.Client(timeout=SECONDS) as client:
            yield from _EndpointCheck(client, url).steps(key)
    except EndpointFault as fault:
        yield fault.finding


class _EndpointCheck:
    """The check of one endpoint."""

    def __init__(self, client: httpx2.Client, url: str) -> None:
        self._client = client
        self._url = url

    def steps(self, key: str | None) -> Iterator[Finding]:
        if is_safe(self._url):
            yield Finding("address", "ok", self._url)
        else:
            what = f"{self._url} is not https: others on the network can read keys and documents"
            yield Finding("address", "warning", what, "Put a proxy with a certificate in front, and use https")
        begun = self._initialize("endpoint", {})
        yield self._endpoint(begun)
        if key or begun.status_code == 200:
            yield self._tools({"Authorization": f"Bearer {key.strip()}"} if key else {})
        document = self._resource_document(begun)
        yield _without_sign_in(begun) if document is None else self._authorization_server(document, begun)

    def _endpoint(self, begun: httpx2.Response) -> Finding:
        if begun.status_code == 401:
            return Finding("endpoint", "ok", "It asks for a key or a token")
        if begun.status_code != 200 or "result" not in _value(begun):
            advice = "Give the URL of an endpoint, such as https://loci.example.com/mcp, and pass on POST as it comes"
            if begun.has_redirect_location:
                advice = f"Give the URL to which it leads: {begun.headers['location'][:200]}"
            raise EndpointFault("endpoint", f"It answers {_status_line(begun)}", WHY.get(begun.status_code, advice))
        if is_safe(self._url) and urlsplit(self._url).scheme == "http":
            return Finding("endpoint", "ok", "It answers without a key, for the users of this machine")
        advice = 'Set auth = "required", and create keys with: loci keys create NAME'
        return Finding("endpoint", "warning", "It answers everybody without a key", advice)

    def _tools(self, headers: Mapping[str, str]) -> Finding:
        """List the tools with these headers."""
        begun = self._initialize("tools", headers)
        if begun.status_code != 200 or "result" not in _value(begun):
            advice = "Give a valid key of this server, in --key or LOCI_KEY"
            raise EndpointFault("tools", f"With the key the endpoint answers {_status_line(begun)}", advice)
        headers = {**headers, "MCP-Protocol-Version": LATEST_HANDSHAKE_VERSION}
        if session := begun.headers.get("mcp-session-id"):
            headers["Mcp-Session-Id"] = session
        reply = self._call("tools", headers, "tools/list", {})
        match _value(reply):
            case {"result": {"tools": [*tools]}}:
                return Finding("tools", "ok", counted(len(tools), "tool"))
            case _:
                raise EndpointFault("tools", f"tools/list answers {_status_line(reply)}", LOG)

    def _resource_document(self, begun: httpx2.Response) -> ProtectedResourceMetadata | None:
        """The metadata of the endpoint (RFC 9728), or None if the endpoint offers no sign-in."""
        named = extract_resource_metadata_from_www_auth(begun)
        if named and not is_safe(named):
            raise EndpointFault("discovery", f"The challenge names {named}, which is not https", ADDRESSES)
        for where in [named] if named else build_protected_resource_metadata_discovery_urls(None, self._url):
            reply = self._ask("discovery", "GET", where)
            if reply.status_code == 200 and _value(reply):
                document = _document(reply, ProtectedResourceMetadata, 'Set oauth = "built-in", or oidc_issuer')
                if not check_resource_allowed(self._url, str(document.resource)):
                    what = f"{where} is about {document.resource}, and not about {self._url}: clients stop here"
                    raise EndpointFault("discovery", what, ADDRESSES)
                return document
            if named:
                what = f"The challenge names {where}, which answers {_status_line(reply)}"
                raise EndpointFault("discovery", what, f"{ADDRESSES}; a proxy must pass on what is below /.well-known/")
        return None

    def _authorization_server(self, document: ProtectedResourceMetadata, begun: httpx2.Response) -> Finding:
        """Check the authorization server by its own metadata (RFC 8414), and what a client needs of it."""
        issuer, said = str(document.authorization_servers[0]), ""
        if not is_safe(issuer):
            raise EndpointFault("discovery", f"The authorization server {issuer} is not https", ADDRESSES)
        for where in build_oauth_authorization_server_metadata_discovery_urls(issuer, self._url):
            reply = self._ask("discovery", "GET", where)
            if reply.status_code == 200 and _value(reply):
                break
            said = f"{where} answers {_status_line(reply)}"
        else:
            what = f"Nothing describes the authorization server {issuer}: {said}"
            raise EndpointFault("discovery", what, "Pass on what is below /.well-known/ at the root of the host")
        found = _document(reply, OAuthMetadata, ADDRESSES)
        if not issuers_match(str(found.issuer), issuer):
            raise EndpointFault("discovery", f"{where} is about {found.issuer}, and not about {issuer}", ADDRESSES)
        for address in map(str, (found.authorization_endpoint, found.token_endpoint)):
            if not is_safe(address):
                raise EndpointFault("discovery", f"{where} names {address}, which is not https", ADDRESSES)
        if "S256" not in (found.code_challenge_methods_supported or ()):
            what = f"{issuer} does not say that it knows PKCE with S256: clients of MCP refuse it"
            raise EndpointFault("discovery", what, 'Ask its operator to enable that, or set oauth = "built-in"')
        summary = f"{issuer} gives tokens for {document.resource}"
        if begun.status_code == 401 and extract_resource_metadata_from_www_auth(begun) is None:
            advice = "Pass on the header WWW-Authenticate of a 401: some clients do not find the sign-in without it"
            return Finding("discovery", "warning", f"{summary}, but the 401 does not say where its metadata is", advice)
        if found.registration_endpoint is None and not found.client_id_metadata_document_supported:
            advice = f"Register each client at {issuer}, and give the client its id"
            return Finding("discovery", "warning", f"{summary}, but does not register clients by itself", advice)
        return Finding("discovery", "ok", summary)

    def _initialize(self, step: str, headers: Mapping[str, str]) -> httpx2.Response:
        me = {"name": "loci-doctor", "version": version()}
        params = {"protocolVersion": LATEST_HANDSHAKE_VERSION, "capabilities": {}, "clientInfo": me}
        return self._call(step, headers, "initialize", params)

    def _call(self, step: str, headers: Mapping[str, str], method: str, params: object) -> httpx2.Response:
        message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        sent = {"Accept": "application/json, text/event-stream", **headers}
        return self._ask(step, "POST", self._url, headers=sent, json=message)

    def _ask(self, step: str, method: str, url: str, **given: Any) -> httpx2.Response:
        """Send a request, without following redirects. The answer must be small."""
        place, content = url.partition("?")[0], b""
        try:
            with self._client.stream(method, url, **given) as answer:
                for part in answer.iter_bytes():
                    content += part
                    if len(content) > LARGEST:
                        what = f"{place} answers with more than 1 MB"
                        raise EndpointFault(step, what, "Check the URL: no MCP server does that")
        except httpx2.TimeoutException:
            what = f"{place} does not answer within {SECONDS:.0f} seconds"
            raise EndpointFault(step, what, "Check that the server runs, and the proxies in front of it") from None
        except (httpx2.HTTPError, httpx2.InvalidURL, ValueError) as error:
            said = str(error) or type(error).__name__
            fitting = (advice for words, advice in UNREACHED if any(one in said.lower() for one in words))
            advice = next(fitting, "Check the URL, the server, and the proxies in front of it")
            raise EndpointFault(step, f"{place} cannot be reached: {said[:SHOWN]}", advice) from None
        answer.headers.pop("content-encoding", None)
        return httpx2.Response(answer.status_code, headers=answer.headers, content=content, request=answer.request)


def _without_sign_in(begun: httpx2.Response) -> Finding:
    if begun.status_code == 200:
        return Finding("discovery", "ok", "Nobody needs to sign in here")
    advice = 'Use a key. For clients that cannot send a key, such as claude.ai and ChatGPT, set oauth = "built-in"'
    return Finding("discovery", "warning", "Only keys work here: the endpoint offers no sign-in", advice)


def _document(reply: httpx2.Response, kind: type[M], advice: str) -> M:
    try:
        return kind.model_validate(_value(reply))
    except ValidationError as error:
        [first, *_] = error.errors()
        where = ".".join(map(str, first["loc"]))
        raise EndpointFault("discovery", f"In {reply.url}, {where} is not valid: {first['msg']}", advice) from None


def _value(reply: httpx2.Response) -> dict[str, Any]:
    """The JSON object in the answer, which may be an event of a stream; empty without one."""
    text = reply.text
    if reply.headers.get("content-type", "").startswith("text/event-stream"):
        text = next((one for one in reversed(text.splitlines()) if one.startswith("data:")), "").removeprefix("data:")
    try:
        found: object = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    return cast("dict[str, Any]", found) if isinstance(found, dict) else {}


def _status_line(reply: httpx2.Response) -> str:
    """The status, and the error if the answer names one."""
    match _value(reply):
        case {"error": {"message": str(said)}} | {"error_description": str(said)} | {"error": str(said)}:
            return f"{reply.status_code} ({said[:SHOWN]})"
        case _:
            return str(reply.status_code)
