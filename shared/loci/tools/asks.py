"""Asks of a tool server, as they travel to the process that reaches it, and what comes back."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NoReturn
from urllib.parse import urlsplit

from loci.core.errors import Conflict, Damaged, LociError, Misconfigured, NotFound, OutOfTime, Refused, Unavailable
from loci.core.identity import Owner
from loci.core.json import JsonObject
from loci.core.secret_box import Unreadable
from loci.tools.ports import ToolServerError

ERRORS: Mapping[str, type[LociError]] = {
    kind.__name__: kind
    for kind in (
        *(LociError, NotFound, Refused, Conflict, Unavailable, OutOfTime, Damaged, Misconfigured),
        *(ToolServerError, Unreadable),
    )
}


@dataclass(frozen=True, slots=True)
class ListTools:
    """Ask the server for its tools, and keep them."""

    owner: Owner
    server: str


@dataclass(frozen=True, slots=True)
class CallTool:
    """Call a tool of the server."""

    owner: Owner
    server: str
    tool: str
    arguments: JsonObject
    seconds: float


@dataclass(frozen=True, slots=True)
class ReadPublic:
    """Read what is at a public https address. It is no tool server, and nobody's."""

    url: str

    @property
    def server(self) -> str:
        """The name for messages."""
        return urlsplit(self.url).hostname or ""


Ask = ListTools | CallTool | ReadPublic


def ask_to_json(ask: Ask) -> JsonObject:
    """Only names and arguments travel: how a server is reached is read where that is done."""
    match ask:
        case ListTools(owner, server):
            return {"owner": _owner(owner), "server": server}
        case CallTool(owner, server, tool, arguments, seconds):
            named: JsonObject = {"owner": _owner(owner), "server": server, "tool": tool}
            return {**named, "arguments": arguments, "seconds": seconds}
        case ReadPublic(url):
            return {"url": url}


def _owner(owner: Owner) -> JsonObject:
    return {"tenant": owner.tenant, "subject": owner.subject}


def ask_from_json(value: Mapping[str, Any]) -> Ask:
    if "url" in value:
        return ReadPublic(value["url"])
    owner = Owner(**value["owner"])
    if "tool" not in value:
        return ListTools(owner, value["server"])
    return CallTool(owner, value["server"], value["tool"], value["arguments"], value["seconds"])


def error_to_json(error: LociError) -> JsonObject:
    """The error in all its words, and the nearest kind that the other side knows."""
    kind = next(one.__name__ for one in type(error).__mro__ if one.__name__ in ERRORS)
    words: JsonObject = {"code": error.code, "what": error.what, "resolution": error.resolution}
    return {"error": {"kind": kind, **words, "details": dict(error.details)}}


def raise_from_json(error: Mapping[str, Any]) -> NoReturn:
    raise ERRORS[error["kind"]](error["what"], error["resolution"], code=error["code"], details=error["details"])
