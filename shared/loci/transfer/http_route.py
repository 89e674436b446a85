"""`/transfer` over plain HTTP: what an owner has, listed and read, and things taken in. The credential says whose."""

import hashlib
import json
import time
from base64 import b64encode
from collections.abc import Callable, Mapping
from functools import partial
from urllib.parse import parse_qs

from starlette.datastructures import Headers
from starlette.types import Receive, Scope, Send

from loci.core.errors import LociError, Refused, Unavailable
from loci.core.identity import Owner
from loci.core.json import JsonObject
from loci.core.scopes import READS, SCOPES, check_scopes
from loci.mcp.auth.gate import Gate
from loci.mcp.http.address import Addresses
from loci.mcp.http.body import parsed_body, read_body
from loci.mcp.http.gatekeeper import check_single
from loci.mcp.http.problem import answer_json
from loci.mcp.http.refusal import Refusal
from loci.mcp.threads import WRITES, on_thread, on_thread_of
from loci.transfer.host import TransferHost
from loci.transfer.items import Item, Loaded, Unreadable, Wish, check
from loci.transfer.staging import BUSY_SECONDS, LEAST, Sent, Staging
from loci.transfer.wire import PIECE, Put, Read, Request, Take, decoded, verdict_view

ITEMS, LIST_BYTES = 200, 1 << 20
SECONDS = 15.0
"""After so long what is left of a request is left for the next one: gateways give up after half a minute."""
WRITES_TOO = [one for one in SCOPES if not one.startswith("approvals:")]
Answer = Mapping[str, object]


class TransferRoute:
    """GET lists what an owner has, page by page; POST reads contents, and takes things in."""

    def __init__(self, app: TransferHost, *, is_open: bool, clock: Callable[[], float] = time.monotonic) -> None:
        self._app = app
        self._gate = Gate(app, is_open=is_open)
        self._addresses = Addresses(app.settings, is_open=is_open)
        most = max(app.settings.arriving_mb << 20, app.transfer.largest + LEAST)
        self._staging = Staging(app.arriving, most_bytes=most)
        self._clock = clock

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await answer_json(scope, send, self._serve(scope, receive), self._app.telemetry, "/transfer")

    async def _serve(self, scope: Scope, receive: Receive) -> Answer:
        headers = Headers(scope=scope)
        check_single(scope)
        self._addresses.check(headers)
        if scope["method"] not in ("GET", "POST"):
            raise Refusal(405, "Things are listed with GET and moved with POST", headers={"Allow": "GET, POST"})
        # What is good at the endpoint is good here: a token names that one.
        caller = await self._gate.recognise({**scope, "path": "/mcp"}, headers)
        check_scopes(caller, READS, "This")
        if scope["method"] == "GET":
            query = parse_qs(scope["query_string"].decode("latin-1"))
            wanted, after = query.get("parts", [""])[0], query.get("after", [""])[0]
            return await on_thread(self._listed, caller.owner, wanted.split(",") if wanted else [], after)
        if headers.get("content-type", "").partition(";")[0].strip().lower() != "application/json":
            raise Refusal(415, "Send this as Content-Type: application/json")
        request = parsed_body(Request, await read_body(receive, headers.get("content-length")))
        if not request.only_reads:
            check_scopes(caller, WRITES_TOO, "This")
        return await on_thread_of(WRITES, self._done, caller.owner, request)

    def _listed(self, owner: Owner, wanted: list[str], after: str) -> Answer:
        """A page of items, those behind `PART:KEY`."""
        parts, end = self._app.transfer.parts, self._clock() + SECONDS
        names = [one for one in parts if not wanted or one in wanted]
        begun, _, key = after.partition(":")
        if begun and begun not in names:
            raise Refusal(400, "after names none of these parts")
        items: list[JsonObject] = []
        unreadable: list[JsonObject] = []
        size = 0
        for name in names[names.index(begun) if begun else 0 :]:
            for one in parts[name].items(owner, key if name == begun else None):
                if isinstance(one, Unreadable):
                    unreadable.append({"name": one.name, "reason": one.reason})
                    continue
                items.append(one.as_json())
                size += len(json.dumps(items[-1]))
                if len(items) == ITEMS or size > LIST_BYTES or self._clock() > end:
                    return {"items": items, "unreadable": unreadable, "next": f"{name}:{one.key}"}
        return {"items": items, "unreadable": unreadable, "next": None}

    def _done(self, owner: Owner, request: Request) -> Answer:
        wish = request.wish.wish()
        answer: dict[str, object] = {}
        if request.read:
            answer["read"] = self._read(owner, request.read)
        if request.look:
            looked = [self._checked(one) for one in request.look]
            answer["verdicts"] = [verdict_view(self._app.transfer.of(owner).look([one], wish)[0]) for one in looked]
        if request.held:
            answer["held"] = self._staging.held(owner, request.held)
        if request.put:
            self._put(owner, request.put)
            answer["put"] = len(request.put)
        if request.take:
            answer["taken"] = self._take(owner, request.take, wish)
        if request.end:
            # Not all: another import of this owner may be on its way.
            self._staging.drop_left(owner, BUSY_SECONDS)
            answer["ended"] = True
        return answer

    def _checked(self, value: object) -> Item:
        item = Item.from_json(value)
        part = self._app.transfer.parts.get(item.part)
        if part is None:
            raise Refusal(400, f"nobody knows what {item.part[:40]!r} are")
        check(part, item)
        return item

    def _read(self, owner: Owner, wanted: list[Read]) -> list[JsonObject]:
        """The contents one after the other, as far as there is room; the rest is asked for again."""
        answers: list[JsonObject] = []
        room, end = PIECE, self._clock() + SECONDS
        for one in wanted:
            part = self._app.transfer.parts.get(one.part)
            if part is None:
                raise Refusal(400, f"nobody knows what {one.part[:40]!r} are")
            if room <= 0 or self._clock() > end:
                answers.append({"later": True})
                continue
            try:
                content = part.read(owner, one.key, one.content)
                is_large = len(content) > PIECE and one.begin == 0
                if is_large and self._app.local_links is None and (url := part.link(owner, one.key, one.content)):
                    answers.append({"url": url, "size": len(content)})
                    continue
            except LociError as error:
                answers.append({"error": _told(error)})
                continue
            piece = content[one.begin : one.begin + room]
            room -= len(piece) + 100
            answers.append({"base64": b64encode(piece).decode(), "size": len(content)})
        return answers

    def _put(self, owner: Owner, pieces: list[Put]) -> None:
        sent = [Sent(one.sha256, one.begin, one.piece()) for one in pieces]
        for one in sent:
            if not one.content:
                raise Refusal(400, "A piece is empty: send only pieces that have bytes")
            if one.begin + len(one.content) > self._app.transfer.largest:
                raise Refusal(413, "A content is larger than anything that Loci takes")
        self._staging.put(owner, sent)

    def _take(self, owner: Owner, some: list[Take], wish: Wish) -> list[JsonObject | None]:
        end = self._clock() + SECONDS
        loaded = [self._loaded(owner, one) for one in some]
        place, answers = self._app.transfer.of(owner), list[JsonObject | None]()
        step = 8
        for start in range(0, len(loaded), step):
            if start and self._clock() > end:
                late = Unavailable("The request took too long to get to this", "Send it again", code="LATER")
                answers += [_told(late)] * len(loaded[start : start + step])
                continue
            done = place.take(loaded[start : start + step], wish)
            answers += [None if error is None else _told(error) for error in done]
        for one, sent, answer in zip(loaded, some, answers, strict=True):
            is_over = answer is None or not answer["later"]
            for content in one.item.contents if is_over else ():
                if content.name not in sent.contents:
                    self._staging.drop(owner, content.sha256)
        return answers

    def _loaded(self, owner: Owner, one: Take) -> Loaded:
        item = self._checked(one.item)
        given = {name: decoded(text) for name, text in one.contents.items()}
        return Loaded(item, partial(self._content, owner, item, given))

    def _content(self, owner: Owner, item: Item, given: Mapping[str, bytes], name: str) -> bytes:
        wanted = next((one for one in item.contents if one.name == name), None)
        if wanted is None:
            raise Refused("An item lacks a content", "Send it whole", code="BAD_REQUEST")
        if name not in given:
            return self._staging.whole(owner, wanted.sha256, wanted.size)
        if len(given[name]) != wanted.size or hashlib.sha256(given[name]).hexdigest() != wanted.sha256:
            raise Refused("The hash of a content is another", "Send it again", code="NOT_WHOLE")
        return given[name]


def _told(error: LociError) -> JsonObject:
    return {"code": error.code, "message": str(error), "later": isinstance(error, Unavailable)}
