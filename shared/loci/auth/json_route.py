"""Routes beside the endpoint: JSON for an owner, who is derived from a credential for the endpoint."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, TypeVar
from urllib.parse import parse_qs

from pydantic import BaseModel
from starlette.datastructures import Headers
from starlette.types import Receive, Scope, Send

from loci.auth.gate import Gate
from loci.core.identity import Caller
from loci.mcp.http.address import Addresses, check_single
from loci.mcp.http.body import parse_model, read_body
from loci.mcp.http.refusal import Refusal, answer_json

if TYPE_CHECKING:
    from loci.app import App

Answer = Mapping[str, object]
Body = TypeVar("Body", bound=BaseModel)


@dataclass(frozen=True, slots=True)
class RouteRequest:
    """A request that its route takes, of a caller who was recognised."""

    scope: Scope
    headers: Headers
    receive: Receive

    @property
    def is_get(self) -> bool:
        return self.scope["method"] == "GET"

    def query(self, name: str) -> str | None:
        """The first value of that name in the query."""
        return parse_qs(self.scope["query_string"].decode("latin-1")).get(name, [None])[0]

    async def body(self, model: type[Body], what: str) -> Body:
        """The body. `Refusal` if it does not say that it is JSON; `what`: its name there."""
        if self.headers.get("content-type", "").partition(";")[0].strip().lower() != "application/json":
            raise Refusal(415, f"Send {what} as Content-Type: application/json")
        return parse_model(model, await read_body(self.receive, self.headers.get("content-length")))


class JsonRoute(ABC):
    """An ASGI application that answers recognised callers."""

    path: ClassVar[str]
    """The route, as the log names it."""
    methods: ClassVar[tuple[str, ...]]
    usage: ClassVar[str]
    """The sentence that names the methods, for callers who use others."""

    def __init__(self, app: "App", *, is_open: bool) -> None:
        self._app = app
        self._gate = Gate(app, is_open=is_open)
        self._addresses = Addresses(app.settings, is_open=is_open)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await answer_json(scope, send, self._serve(scope, receive), self._app.telemetry, self.path)

    @abstractmethod
    async def answer(self, caller: Caller, request: RouteRequest) -> Answer:
        """Check the scopes that the request needs, and answer it."""

    async def _serve(self, scope: Scope, receive: Receive) -> Answer:
        headers = Headers(scope=scope)
        check_single(scope)
        self._addresses.check(headers)
        if scope["method"] not in self.methods:
            raise Refusal(405, self.usage, headers={"Allow": ", ".join(self.methods)})
        # What is good at the endpoint is good here: a token names that one.
        caller = await self._gate.recognise({**scope, "path": "/mcp"}, headers)
        return await self.answer(caller, RouteRequest(scope, headers, receive))
