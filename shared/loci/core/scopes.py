"""Scopes: the parts of Loci that a person lets a client use, and whether it may change something there."""

from collections.abc import Iterable
from typing import Final, Literal

from loci.core.errors import Refused
from loci.core.identity import Caller

Area = Literal["documents", "files", "tools", "workflows", "approvals"]

SCOPES: Final = {
    "documents:read": "search and read your documents",
    "documents:write": "write, move and delete your documents",
    "files:read": "search and read your files",
    "files:write": "add and delete files, and compute with them",
    "tools:read": "find tools of your other servers, and call those that change nothing",
    "tools:write": "call every tool of your other servers, and run code",
    "workflows:read": "see your workflows",
    "workflows:write": "start, continue and stop workflows",
    "approvals:write": "answer in your name when a workflow asks for approval",
}
"""The scopes, and the words for them on the page that asks for consent."""
OF_PARTS: Final = {
    "/mcp/documents": ("documents:read", "documents:write"),
    "/documents": ("documents:read", "documents:write"),
    # Code reads documents, too.
    "/mcp/files": ("documents:read", "files:read", "files:write"),
    "/mcp/search": ("documents:read", "files:read"),
}
"""The scopes of the endpoints that need only some of them, by path."""
INSUFFICIENT: Final = "INSUFFICIENT_SCOPE"
"""The code of the refusal of a caller who lacks one."""
READS: Final = tuple(scope for scope in SCOPES if scope.endswith(":read"))


def scopes_at(path: str) -> tuple[str, ...]:
    """The scopes that the endpoint at this path needs."""
    return OF_PARTS.get(path.rstrip("/"), tuple(SCOPES))


def scope_of(area: Area, *, writes: bool) -> str:
    """The scope that a use of an area needs."""
    return f"{area}:{'write' if writes else 'read'}"


def check_scopes(caller: Caller, needed: Iterable[str], what: str) -> None:
    """Raise `Refused` if a person let the caller's client do less than this."""
    if missing := [scope for scope in needed if not caller.may(scope)]:
        raise _refusal(what, " and ".join(sorted(missing)))


def check_one_scope(caller: Caller, choices: Iterable[str], what: str) -> None:
    """Raise `Refused` if a person let the caller's client do none of these."""
    if not any(map(caller.may, choices)):
        raise _refusal(what, " or ".join(sorted(choices)))


def _refusal(what: str, scopes: str) -> Refused:
    return Refused(
        f"{what} needs {scopes}, which this connection was not allowed",
        "Ask the person to connect Loci again and to allow it",
        code=INSUFFICIENT,
    )
