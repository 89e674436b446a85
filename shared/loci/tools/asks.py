"""Asks of a tool server, as they travel to the process that reaches it, and what comes back."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, NoReturn, cast
from urllib.parse import urlsplit

from loci.core.errors import Conflict, Damaged, LociError, Misconfigured, NotFound, OutOfTime, Refused, Unavailable
from loci.core.identity import Owner
from loci.core.json import Json, JsonObject
from loci.core.stores import Unreadable
from loci.tools.ports import ToolServerError

ERRORS: Mapping[str, type[LociError]] = {
    kind.__name__: kind
    for kind in (
        *(LociError, NotFound, Refused, Conflict, Unavailable, OutOfTime, Damaged, Misconfigured),
        *(ToolServerError, Unreadable),
    )
}


@dataclass(frozen=True, slots=True)
class Ask:
    """Asks for the tools of a server, which are kept, or for a call of one. Only names and arguments travel.

    How the server is reached is read where that is done.
    """

    owner: Owner
    server: str
    tool: str | None = None
    """None: all its tools are asked for."""
    arguments: JsonObject = field(default_factory=dict[str, Json])
    seconds: float = 0.0

    def to_json(self) -> JsonObject:
        sent = ("owner", "server") if self.tool is None else ("owner", "server", "tool", "arguments", "seconds")
        return cast("JsonObject", {name: value for name, value in asdict(self).items() if name in sent})


@dataclass(frozen=True, slots=True)
class ReadPublic:
    """Asks for what is at a public https address. It is no tool server, and nobody's."""

    url: str

    @property
    def server(self) -> str:
        """The name for messages."""
        return urlsplit(self.url).hostname or ""

    def to_json(self) -> JsonObject:
        return {"url": self.url}


def ask_from_json(value: Mapping[str, Any]) -> Ask | ReadPublic:
    if "url" in value:
        return ReadPublic(value["url"])
    fields = dict(value)
    return Ask(Owner(**fields.pop("owner")), **fields)


def error_to_json(error: LociError) -> JsonObject:
    """The error in all its words, and the nearest kind that the other side knows."""
    kind = next(one.__name__ for one in type(error).__mro__ if one.__name__ in ERRORS)
    words: JsonObject = {"code": error.code, "what": error.what, "resolution": error.resolution}
    return {"error": {"kind": kind, **words, "details": dict(error.details)}}


def raise_from_json(error: Mapping[str, Any]) -> NoReturn:
    raise ERRORS[error["kind"]](error["what"], error["resolution"], code=error["code"], details=error["details"])
