"""The caller of the request that a tool serves."""

from typing import Any

from mcp.server.context import ServerRequestContext

from loci.core.identity import STDIO_CALLER, Caller

SCOPE_KEY = "loci.caller"
"""The key in the ASGI scope under which the gatekeeper leaves the caller."""

PAGES_KEY = "loci.pages"
"""The key under which it leaves if the client of an older revision can show pages: those declare it once a session."""


def caller_of(context: ServerRequestContext[Any, Any]) -> Caller:
    """The caller of a request: over HTTP the one that the gatekeeper recognised, over stdio the local person."""
    request = context.request
    return STDIO_CALLER if request is None else request.scope[SCOPE_KEY]


def shows_pages(context: ServerRequestContext[Any, Any]) -> bool:
    """True if the session's client has declared so. No question can be sent to it: only its requests are answered."""
    return context.request is not None and context.request.scope.get(PAGES_KEY) is True


def principal(context: ServerRequestContext[Any, Any]) -> str:
    """The owner of a `requestState`."""
    return caller_of(context).owner.key
