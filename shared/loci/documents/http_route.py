"""`/documents` over plain HTTP, for `loci ingest --to`. The owner is derived from the credential."""

import time
from base64 import b64decode
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING
from urllib.parse import parse_qs

from pydantic import BaseModel, ConfigDict, Field
from starlette.datastructures import Headers
from starlette.types import Receive, Scope, Send

from loci.auth.gate import Gate
from loci.core.errors import Unavailable
from loci.core.identity import Owner
from loci.core.scopes import check_scopes, scope_of
from loci.documents.ingest.uploads import Applied, upload_prefix
from loci.mcp.http.address import Addresses, check_single
from loci.mcp.http.body import LARGEST, parse_model, read_body
from loci.mcp.http.refusal import Refusal, answer_json, error_body
from loci.mcp.threads import WRITES, on_thread, on_thread_of

if TYPE_CHECKING:
    from loci.app import App

MOST = 500
SECONDS = 15.0
"""Seconds after which a request stops, and leaves the rest to the next one: gateways give up after half a minute."""

Answer = Mapping[str, object]


class _Text(BaseModel):
    """A document: `text` where it is UTF-8, else `base64`."""

    model_config = ConfigDict(extra="forbid")

    path: str = Field(min_length=1, max_length=1000)
    text: str | None = None
    base64: str | None = None

    def sent(self) -> tuple[str, bytes]:
        if (self.text is None) == (self.base64 is None):
            raise Refusal(400, f"{self.path[:100]!r} needs either text or base64")
        if self.base64 is None:
            return (self.path, (self.text or "").encode())
        try:
            return (self.path, b64decode(self.base64, validate=True))
        except ValueError:
            raise Refusal(400, f"{self.path[:100]!r} is no base64") from None


class _Batch(BaseModel):
    model_config = ConfigDict(extra="forbid")

    put: list[_Text] = Field(default=[], max_length=MOST)
    remove: list[str] = Field(default=[], max_length=MOST)


class DocumentsRoute:
    """GET lists the documents below a name, page by page; POST adds and removes documents."""

    def __init__(self, app: "App", *, is_open: bool, clock: Callable[[], float] = time.monotonic) -> None:
        self._app = app
        self._gate = Gate(app, is_open=is_open)
        self._addresses = Addresses(app.settings, is_open=is_open)
        self._clock = clock

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await answer_json(scope, send, self._serve(scope, receive), self._app.telemetry, "/documents")

    async def _serve(self, scope: Scope, receive: Receive) -> Answer:
        headers = Headers(scope=scope)
        check_single(scope)
        self._addresses.check(headers)
        if scope["method"] not in ("GET", "POST"):
            raise Refusal(405, "Documents are listed with GET and sent with POST", headers={"Allow": "GET, POST"})
        # What is good at the endpoint is good here: a token names that one.
        caller = await self._gate.recognise({**scope, "path": "/mcp"}, headers)
        reads = scope["method"] == "GET"
        check_scopes(caller, [scope_of("documents", writes=not reads)], "This")
        if reads:
            query = parse_qs(scope["query_string"].decode("latin-1"))
            return await on_thread(self._held, caller.owner, query.get("under", [""])[0], query.get("after", [None])[0])
        if headers.get("content-type", "").partition(";")[0].strip().lower() != "application/json":
            raise Refusal(415, "Send documents as Content-Type: application/json")
        batch = parse_model(_Batch, await read_body(receive, headers.get("content-length")))
        sent = [one.sent() for one in batch.put]
        return await on_thread_of(WRITES, self._take, caller.owner, sent, batch.remove)

    def _held(self, owner: Owner, under: str, after: str | None) -> Answer:
        if not under.strip("/"):
            raise Refusal(400, "Say below which name: ?under=NAME")
        held, behind = self._app.documents.sync.uploaded(owner, under, after)
        settings = self._app.settings
        uploads = f"s3://{settings.aws.bucket}/{upload_prefix(owner)}" if settings.mode == "aws" else None
        documents = [{"path": one.path, "sha256": one.sha256} for one in held]
        return {"documents": documents, "next": behind, "largest": LARGEST, "uploads": uploads}

    def _take(self, owner: Owner, sent: list[tuple[str, bytes]], gone: list[str]) -> Answer:
        end = self._clock() + SECONDS
        done = self._app.documents.sync.apply(owner, sent, gone, lambda: self._clock() > end)
        return {"results": [_view(one) for one in done]}


def _view(one: Applied) -> Answer:
    if one.error is None:
        return {"path": one.path, "done": True}
    later = isinstance(one.error, Unavailable)
    return {"path": one.path, "done": False, "later": later, **error_body(one.error.code, str(one.error))}
