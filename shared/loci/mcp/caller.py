"""The caller of the request that a tool serves."""

from typing import Any

from mcp.server.context import ServerRequestContext

from loci.core.identity import STDIO_CALLER, Caller

SCOPE_KEY = "loci.caller"
"""The key in the ASGI scope under which the gatekeeper leaves the caller."""


def caller_of(context: ServerRequestContext[Any, Any]) -> Caller:
    """The caller of a request: over HTTP the one that the gatekeeper recognised, over stdio the local person."""
    request = context.request
    return STDIO_CALLER if request is None else request.scope[SCOPE_KEY]


def principal(context: ServerRequestContext[Any, Any]) -> str:
    """The owner of a `requestState`."""
    return caller_of(context).owner.key
