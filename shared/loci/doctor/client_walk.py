"""`loci doctor --url`: the way of a client to an endpoint, step by step, and why it ends where it ends."""

from collections.abc import Callable, Iterator
from typing import Final, TypeVar
from urllib.parse import urlsplit

from loci.core.errors import LociError
from loci.core.finding import Finding, counted
from loci.doctor.client_calls import hello, works
from loci.doctor.client_discovery import Found, authorization_server, challenge_in, resource_document
from loci.doctor.client_sign_in import LOG, Asked, Person, asks, ended, registered, tokens_for
from loci.doctor.http_steps import Reply, Requests, Stopped, is_safe

NOWHERE: Final = "http://127.0.0.1/callback"
KEY: Final = "Give a valid key of this server, in --key or LOCI_KEY"
T = TypeVar("T")


class _End(Exception):
    """The step at which a client gets no further."""

    def __init__(self, finding: Finding) -> None:
        super().__init__(finding.what)
        self.finding = finding


def walk(url: str, key: str | None, requests: Requests, person: Callable[[], Person] | None) -> Iterator[Finding]:
    """Each step, as soon as it is taken. After a fault there are no more.

    `person` begins a sign-in. None: nobody is there, so the way ends before the token.
    """
    try:
        yield from _steps(url if urlsplit(url).path.strip("/") else f"{url.rstrip('/')}/mcp", key, requests, person)
    except _End as end:
        yield end.finding


def _steps(url: str, key: str | None, requests: Requests, person: Callable[[], Person] | None) -> Iterator[Finding]:
    yield _taken("address", lambda: _address(url))
    reply = _taken("endpoint", lambda: hello(requests, url, {}))
    yield _taken("endpoint", lambda: _endpoint(url, reply))
    if key:
        yield Finding("key", "ok", _taken("key", lambda: works(requests, url, f"Bearer {key.strip()}", KEY)))
    challenge = challenge_in(reply)
    document = _taken("discovery", lambda: resource_document(requests, url, challenge))
    if document is None:
        yield _without_sign_in(reply)
        return
    found = _taken("discovery", lambda: authorization_server(requests, document, challenge))
    told = f"{found.issuer} gives tokens for {found.resource}"
    if reply.status == 401 and "resource_metadata" not in challenge:
        advice = "Pass on the header WWW-Authenticate of a 401: some clients find nothing without it"
        yield Finding("discovery", "warning", f"{told}, but the 401 does not say where its document is", advice)
    else:
        yield Finding("discovery", "ok", told)
    if found.registration_url is None:
        yield _without_registration(found)
    else:
        yield from _signing_in(url, requests, found, person)


def _signing_in(url: str, requests: Requests, found: Found, person: Callable[[], Person] | None) -> Iterator[Finding]:
    somebody = _taken("registration", person) if person else None
    redirect = somebody.redirect if somebody else NOWHERE
    client = _taken("registration", lambda: registered(requests, found, redirect))
    yield Finding("registration", "ok", "A client registers itself")
    asked = Asked(found, client, redirect)
    if somebody is None:
        _taken("sign-in", lambda: asks(requests, asked))
        yield Finding("sign-in", "ok", "The person is led to a page")
        advice = "To go on, set LOCI_KEY to a key, or add --browser and sign in yourself"
        yield Finding("token", "warning", "Not tried: a person must sign in and allow it", advice)
        return
    code = _taken("sign-in", lambda: asked.code(somebody.visit(asked.url, asked.state)))
    yield Finding("sign-in", "ok", "The person allows it, and the browser comes back with a code")
    tokens = _taken("token", lambda: tokens_for(requests, asked, code))
    seconds, scope = tokens.get("expires_in"), tokens.get("scope") or " ".join(asked.scopes)
    good = f"good for {counted(int(seconds) // 60, 'minute')}" if isinstance(seconds, int | float) else "good"
    yield Finding("token", "ok", f"The code gives a token, {good}, for {scope or 'everything'}")
    bearer = f"Bearer {tokens['access_token']}"
    advice = f"This server gave the token itself: check that all its instances have the same secrets. {LOG}"
    yield Finding("call", "ok", _taken("call", lambda: works(requests, url, bearer, advice)))
    if found.revocation_url:
        token = str(tokens.get("refresh_token") or tokens["access_token"])
        _taken("end", lambda: ended(requests, found, client, token))
        yield Finding("end", "ok", "The connection is ended again")


def _address(url: str) -> Finding:
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise Stopped(f"{url} is no URL", "Give the endpoint's URL, such as https://loci.example.com/mcp")
    if is_safe(url):
        return Finding("address", "ok", url)
    what = f"{url} is not https: everybody on the way can read keys and documents"
    return Finding("address", "warning", what, "Put a proxy with a certificate in front, and use https")


def _endpoint(url: str, reply: Reply) -> Finding:
    if reply.status == 401:
        return Finding("endpoint", "ok", "It asks for a key or a token")
    match reply.value:
        case {"result": {"serverInfo": {}}} if reply.status == 200:
            pass
        case _:
            raise Stopped(f"It answers {reply.words}", _why(reply))
    if is_safe(url) and urlsplit(url).scheme == "http":
        return Finding("endpoint", "ok", "It answers without a key: whoever uses this machine is let in")
    advice = 'Set auth = "required", and create keys with: loci keys create NAME'
    return Finding("endpoint", "warning", "It lets in everybody who reaches it", advice)


def _why(reply: Reply) -> str:
    match reply.status:
        case 301 | 302 | 303 | 307 | 308:
            return f"Give the URL to which it leads: {reply.headers.get('location', '')[:200]}"
        case 403:
            return "Something in front of Loci refuses programs, such as a firewall: let this path pass"
        case 421:
            return "Set public_url to the address that clients use, or add its host to allowed_hosts"
        case 429:
            return "Try again later, or raise the limits of what is in front"
        case 502 | 503 | 504:
            return f"Check that the server runs behind what is in front of it. {LOG}"
        case _:
            return "Give the URL of an endpoint, such as https://loci.example.com/mcp, and pass on POST as it comes"


def _without_sign_in(reply: Reply) -> Finding:
    if reply.status == 200:
        return Finding("discovery", "ok", "Nobody needs to sign in here")
    advice = 'Use a key. For clients that know no keys, such as claude.ai and ChatGPT, set oauth = "built-in"'
    return Finding("discovery", "warning", "Only keys work here: no document says where to sign in", advice)


def _without_registration(found: Found) -> Finding:
    if found.takes_documents:
        return Finding("registration", "ok", f"{found.issuer} knows clients by their metadata documents only")
    advice = f"Register each client at {found.issuer}, and give the client its id"
    return Finding("registration", "warning", f"{found.issuer} registers no client by itself", advice)


def _taken(name: str, step: Callable[[], T]) -> T:
    try:
        return step()
    except Stopped as stop:
        raise _End(Finding(name, "fault", stop.what, stop.advice)) from None
    except LociError as error:
        raise _End(Finding(name, "fault", error.what, error.resolution)) from None
