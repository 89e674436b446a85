"""`/documents` over plain HTTP: what `loci ingest --to` asks and sends. The credential says whose they are."""

import json
import time
from base64 import b64decode
from collections.abc import Callable, Mapping
from urllib.parse import parse_qs

from pydantic import BaseModel, ConfigDict, Field
from starlette.datastructures import Headers
from starlette.types import Receive, Scope, Send

from loci.core.errors import LociError, NotFound, Refused
from loci.core.identity import Owner
from loci.core.scopes import check_scopes, scope_of
from loci.documents.host import DocumentsHost
from loci.documents.ingest.uploads import Applied, NotApplied, SentDocument, upload_prefix
from loci.mcp.auth.gate import Gate
from loci.mcp.http.address import Addresses
from loci.mcp.http.body import LARGEST, read_body
from loci.mcp.http.gatekeeper import check_single, closing
from loci.mcp.http.json_body import parsed_body
from loci.mcp.http.refusal import JSON_TYPE, Refusal, respond
from loci.mcp.threads import WRITES, on_thread, on_thread_of

MOST = 500
SECONDS = 15.0
"""After so long what is left of a request is left for the next one: gateways give up after half a minute."""
CODES = {401: "UNAUTHORISED", 403: "FORBIDDEN", 405: "METHOD_NOT_ALLOWED", 408: "TOO_SLOW", 413: "TOO_LARGE"}

Answer = Mapping[str, object]


class _Text(BaseModel):
    """A document: `text` where it is UTF-8, else `base64`."""

    model_config = ConfigDict(extra="forbid")

    path: str = Field(min_length=1, max_length=1000)
    text: str | None = None
    base64: str | None = None

    def sent(self) -> SentDocument:
        if (self.text is None) == (self.base64 is None):
            raise Refusal(400, f"{self.path[:100]!r} needs either text or base64")
        if self.base64 is None:
            return SentDocument(self.path, (self.text or "").encode())
        try:
            return SentDocument(self.path, b64decode(self.base64, validate=True))
        except ValueError:
            raise Refusal(400, f"{self.path[:100]!r} is no base64") from None


class _Batch(BaseModel):
    model_config = ConfigDict(extra="forbid")

    put: list[_Text] = Field(default=[], max_length=MOST)
    remove: list[str] = Field(default=[], max_length=MOST)


class DocumentsRoute:
    """GET tells what is held below a name, page by page; POST takes documents in and out."""

    def __init__(self, app: DocumentsHost, *, is_open: bool, clock: Callable[[], float] = time.monotonic) -> None:
        self._app = app
        self._gate = Gate(app, is_open=is_open)
        self._addresses = Addresses(app.settings, is_open=is_open)
        self._clock = clock

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            status, answer, headers = 200, await self._serve(scope, receive), dict[str, str]()
        except Refusal as refusal:
            status, headers = refusal.status, refusal.headers
            answer = _error(CODES.get(status, "BAD_REQUEST"), refusal.message)
            self._app.telemetry.refused(path=scope["path"], status=status, reason=refusal.message)
        except (NotFound, Refused) as error:
            status, headers, answer = 400, dict[str, str](), _error(error.code, str(error))
        except LociError as error:  # the log says more than who is perhaps not yet known
            status, headers = 503, {"Retry-After": "5"}
            answer = _error(error.code, "Loci cannot answer now. Try again in a minute")
            self._app.telemetry.refused(path=scope["path"], status=status, reason=str(error))
        more = [(name.lower().encode(), value.encode("latin-1", "replace")) for name, value in headers.items()]
        await respond(send, status, json.dumps(answer).encode(), [JSON_TYPE, *more, *(closing(scope) if more else [])])

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
        batch = parsed_body(_Batch, await read_body(receive, headers.get("content-length")))
        sent = [one.sent() for one in batch.put]
        return await on_thread_of(WRITES, self._take, caller.owner, sent, batch.remove)

    def _held(self, owner: Owner, under: str, after: str | None) -> Answer:
        if not under.strip("/"):
            raise Refusal(400, "Say below which name: ?under=NAME")
        held, behind = self._app.documents.sync.uploaded(owner, under, after)
        settings = self._app.settings
        uploads = f"s3://{settings.bucket}/{upload_prefix(owner)}" if settings.mode == "aws" else None
        documents = [{"path": one.path, "sha256": one.sha256} for one in held]
        return {"documents": documents, "next": behind, "largest": LARGEST, "uploads": uploads}

    def _take(self, owner: Owner, sent: list[SentDocument], gone: list[str]) -> Answer:
        end = self._clock() + SECONDS
        done = self._app.documents.sync.apply(owner, sent, gone, lambda: self._clock() > end)
        return {"results": [_view(one) for one in done]}


def _view(one: Applied | NotApplied) -> Answer:
    if isinstance(one, Applied):
        return {"path": one.path, "done": True}
    return {"path": one.path, "done": False, "later": one.may_work_later, **_error(one.error.code, str(one.error))}


def _error(code: str, message: str) -> Answer:
    return {"error": {"code": code, "message": message}}
