"""`/documents` over plain HTTP, for `loci ingest --to`. The owner is derived from the credential."""

import time
from base64 import b64decode
from collections.abc import Callable
from typing import TYPE_CHECKING

from pydantic import BaseModel, ConfigDict, Field

from loci.auth.json_route import Answer, JsonRoute, RouteRequest
from loci.core.errors import Unavailable
from loci.core.identity import Caller, Owner
from loci.core.scopes import check_scopes, scope_of
from loci.documents.ingest.uploads import Applied, upload_prefix
from loci.mcp.http.body import LARGEST
from loci.mcp.http.refusal import Refusal, error_body
from loci.mcp.threads import WRITES, on_thread, on_thread_of

if TYPE_CHECKING:
    from loci.app import App

MOST = 500
SECONDS = 15.0
"""Seconds after which a request stops, and leaves the rest to the next one: gateways give up after half a minute."""


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


class DocumentsRoute(JsonRoute):
    """GET lists the documents below a name, page by page; POST adds and removes documents."""

    path, methods, usage = "/documents", ("GET", "POST"), "Documents are listed with GET and sent with POST"

    def __init__(self, app: "App", *, is_open: bool, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__(app, is_open=is_open)
        self._clock = clock

    async def answer(self, caller: Caller, request: RouteRequest) -> Answer:
        check_scopes(caller, [scope_of("documents", writes=not request.is_get)], "This")
        if request.is_get:
            return await on_thread(self._held, caller.owner, request.query("under") or "", request.query("after"))
        batch = await request.body(_Batch, "documents")
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
