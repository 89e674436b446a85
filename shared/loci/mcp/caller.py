"""The caller of the request that a tool serves."""

from typing import Any

from mcp.server.context import ServerRequestContext

from loci.core.identity import LOCAL_CALLER, Caller

SCOPE_KEY = "loci.caller"
"""Where the HTTP front leaves the caller it has recognised."""


def caller_of(context: ServerRequestContext[Any, Any]) -> Caller:
    """Who asks: over HTTP whom the front recognised, over stdio the person at this machine."""
    request = context.request
    return LOCAL_CALLER if request is None else request.scope[SCOPE_KEY]


def principal(context: ServerRequestContext[Any, Any]) -> str:
    """Whom a `requestState` belongs to."""
    return caller_of(context).owner.key
