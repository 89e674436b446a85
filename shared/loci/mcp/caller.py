"""The caller of the request that a tool serves."""

import os
from typing import Any

from mcp.server.context import ServerRequestContext

from loci.core.identity import STDIO_CALLER, Caller
from loci.core.settings import INSIDE

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


def is_persons_client(context: ServerRequestContext[Any, Any]) -> bool:
    """True if a person answers the questions that this client is sent: they started it, or it shows their own key.

    Over HTTP without such a key anybody on this machine may say that they can ask, and answer themselves.
    """
    caller = caller_of(context)
    return caller.is_person if caller.over_http else INSIDE not in os.environ


def principal(context: ServerRequestContext[Any, Any]) -> str:
    """The owner of a `requestState`."""
    return caller_of(context).owner.key
