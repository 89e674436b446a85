"""`/transfer` over plain HTTP: serves small archives of what an owner has, and imports small archives.

The owner comes from the credential.
"""

import io
import time
from base64 import b64decode, b64encode
from collections.abc import Callable, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Annotated, Final

from pydantic import BaseModel, ConfigDict, Field

from loci.auth.json_route import Answer, JsonRoute, RouteRequest
from loci.core.errors import NotFound, Refused
from loci.core.identity import Caller, Owner
from loci.core.json import JsonObject
from loci.core.scopes import READS, SCOPES, check_scopes
from loci.mcp.http.refusal import Refusal
from loci.mcp.threads import WRITES, on_thread, on_thread_of
from loci.transfer.api import LocalTarget
from loci.transfer.archive import Archive, ArchiveWriter
from loci.transfer.items import Loaded, Outcome, Receiver, UnreadableItem
from loci.transfer.staging import ARRIVING_BYTES, LEAST, PIECE, Staging

if TYPE_CHECKING:
    from loci.app import App

ITEMS, PAGE_BYTES = 200, 1 << 20
"""The most items of an answer, and the bytes after which it ends."""
MOST: Final = 500
"""The most items of a request."""
SPREAD: Final = 20
"""The files of an archive may unpack to this many times its bytes, and a little more."""
STEP: Final = 8
"""Items that are stored between two checks of the time."""
SECONDS: Final = 15.0
"""Seconds after which the rest of a request is left for the next one: gateways give up after half a minute."""
WRITES_TOO: Final = [one for one in SCOPES if not one.startswith("approvals:")]
Hash = Annotated[str, Field(pattern="^[0-9a-f]{64}$")]


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid")


class _Piece(_Strict):
    """A piece of an archive that is larger than a request."""

    sha256: Hash
    begin: int = Field(ge=0, lt=10**12)
    base64: str = ""


class _Whole(_Strict):
    """An archive that was sent in pieces."""

    sha256: Hash
    size: int = Field(ge=0, lt=10**12)


class _TransferRequest(_Strict):
    """A request to the route: exactly one of these fields."""

    look: str | None = None
    """An archive without blobs, as base64, whose import is only previewed."""
    take: str | _Whole | None = None
    put: _Piece | None = None
    read: _Piece | None = None
    drop: Hash | None = None


class TransferRoute(JsonRoute):
    """Serves what an owner has, page by page, at GET, and imports archives at POST."""

    path, methods, usage = "/transfer", ("GET", "POST"), "Things are read with GET and moved with POST"

    def __init__(self, app: "App", *, is_open: bool, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__(app, is_open=is_open)
        self._largest = app.transfer.largest + LEAST
        self._staging = Staging(app.arriving, max(ARRIVING_BYTES, self._largest))
        self._clock = clock

    async def answer(self, caller: Caller, request: RouteRequest) -> Answer:
        check_scopes(caller, READS, "This")
        if request.is_get:
            wanted, after = request.query("parts") or "", request.query("after") or ""
            return await on_thread(self._page, caller.owner, wanted.split(",") if wanted else [], after)
        asked = await request.body(_TransferRequest, "this")
        if asked.put or asked.take:
            check_scopes(caller, WRITES_TOO, "This")
        return await on_thread_of(WRITES, self._handle, caller.owner, asked)

    def _page(self, owner: Owner, wanted: Sequence[str], after: str) -> Answer:
        """A small archive with the items after `KIND:KEY`."""
        transfer, end = self._app.transfer, self._clock() + SECONDS
        names = [one for one in transfer.kinds if not wanted or one in wanted]
        begun = after.partition(":")[0]
        if begun and begun not in names:
            raise Refusal(400, "after names none of these parts")
        file, unreadable, next = io.BytesIO(), list[JsonObject](), None
        writer, count, size = ArchiveWriter(file), 0, 0
        for one in transfer.items(owner, names, after):
            if isinstance(one, UnreadableItem):
                unreadable.append({"name": one.name, "why": one.why})
                continue
            try:
                size += writer.add(one) + len(repr(one.item.value))
            except (NotFound, Refused) as error:  # it went away meanwhile, or is damaged
                unreadable.append({"name": transfer.label(one.item), "why": str(error)})
            count += 1
            if count == ITEMS or size > PAGE_BYTES or self._clock() > end:
                next = f"{one.item.kind}:{one.item.key}"
                break
        writer.finish("")
        content = file.getvalue()
        page: Answer = {"next": next, "unreadable": unreadable}
        if len(content) > PIECE:
            return {**page, "sha256": self._staging.put_whole(owner, content), "size": len(content)}
        return {**page, "archive": b64encode(content).decode()}

    def _handle(self, owner: Owner, request: _TransferRequest) -> Answer:
        if request.look is not None:
            return _outcomes_answer(self._target(owner).preview(self._items(_decoded(request.look), has_blobs=False)))
        if isinstance(request.take, str):
            return _outcomes_answer(self._store(owner, _decoded(request.take)))
        if request.take is not None:
            outcomes = self._store(owner, self._staging.whole(owner, request.take.sha256, request.take.size))
            if all(one.word != "later" for one in outcomes):
                self._staging.drop(owner, request.take.sha256)
            return _outcomes_answer(outcomes)
        if request.put is not None:
            content = _decoded(request.put.base64)
            if not content:
                raise Refusal(400, "A piece is empty: send only pieces that have bytes")
            if request.put.begin + len(content) > self._largest:
                raise Refusal(413, "The archive is larger than anything that Loci takes")
            self._staging.put(owner, request.put.sha256, request.put.begin, content)
            return {"done": True}
        if request.read is not None:
            content = self._staging.read(owner, request.read.sha256, request.read.begin)
            return {"base64": b64encode(content).decode()}
        if request.drop is not None:
            self._staging.drop(owner, request.drop)
        return {"done": True}

    def _store(self, owner: Owner, content: bytes) -> list[Outcome]:
        end, outcomes = self._clock() + SECONDS, list[Outcome]()
        items = self._items(content, has_blobs=True)
        for start in range(0, len(items), STEP):
            some = items[start : start + STEP]
            if start and self._clock() > end:
                outcomes += [Outcome("later", "The request took too long to get to this")] * len(some)
            else:
                outcomes += self._target(owner).store(some)
        return outcomes

    def _target(self, owner: Owner) -> LocalTarget:
        """The owner as a target. `programs` needs the person at this machine, so HTTP never grants it."""
        return self._app.transfer.target(Receiver(owner, from_afar=True))

    def _items(self, content: bytes, *, has_blobs: bool) -> list[Loaded]:
        archive = Archive(io.BytesIO(content), self._app.transfer.kinds, has_blobs=has_blobs, spread=SPREAD)
        items = [*islice(archive.items(), MOST + 1)]
        if len(items) > MOST:
            raise Refusal(400, f"A request has at most {MOST} items")
        return items


def _outcomes_answer(outcomes: Sequence[Outcome]) -> Answer:
    return {"outcomes": [[one.word, one.why] for one in outcomes]}


def _decoded(text: str) -> bytes:
    try:
        return b64decode(text, validate=True)
    except ValueError:
        raise Refused("A content is no base64", "Send it again", code="BAD_REQUEST") from None
