"""Requests to tool servers, as they travel to the process that reaches the servers of all owners, and its answers."""

import time
from collections.abc import Callable, Mapping
from contextlib import nullcontext, suppress
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Final, Literal, NoReturn, cast
from urllib.parse import urlsplit

from loci.core import tracing
from loci.core.deadline import within
from loci.core.errors import Conflict, Damaged, LociError, Misconfigured, NotFound, OutOfTime, Refused, Unavailable
from loci.core.identity import Owner
from loci.core.json import Json, JsonObject
from loci.core.server_questions import ServerAnswers, ServerAsks
from loci.core.stores import SecretUnreadable
from loci.gateway.offer import Method
from loci.gateway.ports import ToolServerError
from loci.sandbox.lambda_host.function_answer import packed_answer

if TYPE_CHECKING:
    from loci.gateway.tool_list import ToolList

OFFERS: Final = "offers"
"""The request for all prompts, resources and templates of a server."""
SPARE_SECONDS = 1.0
"""Seconds of the process' time that are reserved for the answer."""
STOOD_STILL_SECONDS = 5.0
"""Seconds for which an idle connection is used again."""
ERRORS: Mapping[str, type[LociError]] = {
    kind.__name__: kind
    for kind in (
        *(LociError, NotFound, Refused, Conflict, Unavailable, OutOfTime, Damaged, Misconfigured),
        *(ToolServerError, SecretUnreadable),
    )
}


@dataclass(frozen=True, slots=True)
class ServerRequest:
    """A request for the tools of a server, which are stored, or for a call of a tool. Only names and arguments travel.

    How the server is reached is read where that is done.
    """

    owner: Owner
    server: str
    tool: str | None = None
    """The tool to call; None: list all tools of the server, or do what `method` says."""
    arguments: JsonObject = field(default_factory=dict[str, Json])
    seconds: float = 0.0
    method: Method | Literal["offers"] | None = None
    """Another request than for tools: `arguments` has its parameters."""
    session: str = ""
    """The client session, if each has connections of its own."""
    trace: Mapping[str, str] = field(default_factory=dict[str, str])
    """The trace that the call is a part of."""
    answers: ServerAnswers | None = None
    """The answers to what the server asked when the call was made before."""

    def to_json(self) -> JsonObject:
        asked = [one for one in ("answers", "session", "trace") if getattr(self, one)]
        what = () if self.tool is None else ("tool", "arguments", "seconds", *asked)
        if self.method:
            what = ("method", "arguments", *(("session",) if self.session else ()))
        sent = ("owner", "server", *what)
        return cast("JsonObject", {name: value for name, value in asdict(self).items() if name in sent})


@dataclass(frozen=True, slots=True)
class ReadPublic:
    """A request for the content of a public https address, which is no tool server and has no owner."""

    url: str

    @property
    def server(self) -> str:
        """The name for messages."""
        return urlsplit(self.url).hostname or ""

    def to_json(self) -> JsonObject:
        return {"url": self.url}


def ask_from_json(value: Mapping[str, Any]) -> ServerRequest | ReadPublic:
    if "url" in value:
        return ReadPublic(value["url"])
    fields = dict(value)
    answers = fields.pop("answers", None)
    owner = Owner(**fields.pop("owner"))
    return ServerRequest(owner, **fields, answers=ServerAnswers(**answers) if answers else None)


def error_to_json(error: LociError) -> JsonObject:
    """The error in all its words, and the nearest kind that the other side knows."""
    kind = next(one.__name__ for one in type(error).__mro__ if one.__name__ in ERRORS)
    words: JsonObject = {"code": error.code, "what": error.what, "resolution": error.resolution}
    return {"error": {"kind": kind, **words, "details": dict(error.details)}}


def raise_from_json(error: Mapping[str, Any]) -> NoReturn:
    raise ERRORS[error["kind"]](error["what"], error["resolution"], code=error["code"], details=error["details"])


class ServerConnector:
    """Reads the entry of a server, and connects to it. Every error that a caller can act on is an answer."""

    def __init__(
        self,
        tool_list: "ToolList",
        read_public: Callable[[str], bytes],
        finish: Callable[[], None] = lambda: None,
    ) -> None:
        """`read_public` returns what is at a public https address. `finish`: called before each answer."""
        self._finish = finish
        self._list = tool_list
        self._read_public = read_public
        self._apart = _clocks_apart()

    def answer(self, event: Mapping[str, Any], seconds: float | None) -> dict[str, str]:
        """The answer, packed. `seconds` is the time for it."""
        self._wake()
        ask = ask_from_json(event)
        with nullcontext() if seconds is None else within(seconds - SPARE_SECONDS):
            try:
                said = self._call_server(ask)
            except LociError as error:
                said = error_to_json(error)
        self._finish()
        return packed_answer(said) or packed_answer(error_to_json(_too_large(ask))) or {}

    def close(self) -> None:
        """End all connections."""
        self._list.servers.close()

    def _wake(self) -> None:
        """End the connections if the timers stood still while Lambda froze this process: nobody knows how old they are.

        Whether that happens differs: it was measured both ways. A call on a dead connection must not be repeated.
        """
        apart = _clocks_apart()
        if apart - self._apart > STOOD_STILL_SECONDS:
            self._list.servers.close()
        self._apart = apart

    def _call_server(self, ask: ServerRequest | ReadPublic) -> JsonObject:
        if isinstance(ask, ReadPublic):
            return {"text": self._read_public(ask.url).decode("utf-8", "replace")}
        if ask.method is not None:
            return self._fetch(ask, ask.method)
        if ask.tool is None:
            return {"tools": [one.said for one in self._list.ask(ask.owner, ask.server).tools]}
        server = replace(self._list.get(ask.owner, ask.server), session=ask.session)
        call = partial(self._list.servers.call, ask.owner, server, ask.tool, ask.arguments, seconds=ask.seconds)
        try:
            with tracing.continuing(ask.trace):
                return {"result": call(answers=ask.answers)}
        except ServerAsks as asks:
            if asks.waiting is None:
                return {"asks": asks.as_json()}
            # The next request may reach another process, which knows nothing of the call that waits here.
            with suppress(LociError):
                call(answers=asks.answered({one.key: {"action": "cancel"} for one in asks.questions}))
            advice = "On AWS a server can ask only by the revision 2026-07-28. Give what it asks for in the arguments"
            raise ToolServerError(asks.what, advice) from None

    def _fetch(self, ask: ServerRequest, method: Method | Literal["offers"]) -> JsonObject:
        server = replace(self._list.get(ask.owner, ask.server), session=ask.session)
        if method == OFFERS:
            return {"offers": [one.said for one in self._list.servers.offers(ask.owner, server)]}
        return {"result": self._list.servers.fetch(ask.owner, server, method, ask.arguments)}


def _clocks_apart() -> float:
    """Grows while the clock of the timers stands still."""
    return time.time() - time.monotonic()


def _too_large(ask: ServerRequest | ReadPublic) -> ToolServerError:
    what = f"The answer of the tool server {ask.server} has more than the 6 MB that Lambda passes on"
    return ToolServerError(what, "The call was made. Ask for less at once")
