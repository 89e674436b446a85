"""An owner's things on another Loci server: an origin and a destination of `loci export` and `loci import`."""

import json
from base64 import b64encode
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from loci.cli.kept_contents import KeptContents
from loci.cli.remote_client import RemoteRoute, TooLargeError
from loci.core.errors import LociError, NotFound, Refused, Unavailable
from loci.core.json import Json, JsonObject
from loci.transfer.items import Content, Item, Loaded, Part, Unreadable, Verdict, Wish, check
from loci.transfer.staging import FULL
from loci.transfer.wire import PIECE, decoded, verdict_of, wish_view

if TYPE_CHECKING:
    from httpx2 import Client

INLINE = PIECE // 2
"""Bytes. A larger content goes in pieces of its own."""
LOOKED_AT = 16
SECONDS = 300.0


class RemotePlace:
    """Things go both ways. Contents that came already are kept in a folder, so that a stopped export goes on."""

    def __init__(
        self,
        url: str,
        key: str | None,
        parts: Mapping[str, Part],
        wanted: Sequence[str] = (),
        kept: Path | None = None,
    ) -> None:
        fields = frozenset({"items", "read", "verdicts", "held", "put", "taken", "ended"})
        self._route = RemoteRoute(url, key, "transfer", fields)
        self._parts = parts
        self._wanted = wanted or [*parts]
        self._kept = KeptContents(kept)

    # As an origin

    def items(self) -> Iterator[Loaded | Unreadable]:
        after: str | None = ""
        while after is not None:
            page = self._route.request("GET", {"parts": ",".join(self._wanted), **({"after": after} if after else {})})
            for one in cast("list[dict[str, str]]", page["unreadable"]):
                yield Unreadable(one["name"], one["reason"])
            items = [Item.from_json(one) for one in cast("list[object]", page["items"])]
            for one in items:
                if one.part not in self._wanted:
                    raise Refused("The server answers something unknown", "Use the same version of Loci on both sides")
                check(self._parts[one.part], one)
            yield from self._loaded(items)
            after = cast("str | None", page["next"])

    def _loaded(self, items: Sequence[Item]) -> Iterator[Loaded]:
        """Each item with its contents; small ones of several items come in one answer."""
        batch: list[Item] = []
        size = 0
        for one in items:
            more = sum(content.size for content in one.contents)
            if batch and size + more > INLINE:
                yield from self._fetched(batch)
                batch, size = [], 0
            batch.append(one)
            size += more
        yield from self._fetched(batch)

    def _fetched(self, items: Sequence[Item]) -> Iterator[Loaded]:
        held: dict[tuple[str, str, str], bytes] = {}
        missing = [
            (item, content)
            for item in items
            for content in item.contents
            if content.size <= INLINE and not self._kept.has(content)
        ]
        while missing:
            asked: list[Json] = [self._ask_for(item, content) for item, content in missing]
            answers = cast("list[dict[str, Any]]", self._post({"read": asked})["read"])
            later: list[tuple[Item, Content]] = []
            for (item, content), answer in zip(missing, answers, strict=True):
                if answer.get("later"):
                    later.append((item, content))
                elif "base64" in answer and answer["size"] <= PIECE:
                    piece = decoded(answer["base64"])
                    if len(piece) < answer["size"]:
                        later.append((item, content))
                    else:
                        held[item.part, item.key, content.name] = self._kept.keep(piece)
            if len(later) == len(missing):
                break  # each is asked for alone
            missing = later
        for item in items:
            yield Loaded(item, partial(self._content, item, held))

    def _content(self, item: Item, held: dict[tuple[str, str, str], bytes], name: str) -> bytes:
        if (found := held.get((item.part, item.key, name))) is not None:
            return found
        content = next(one for one in item.contents if one.name == name)
        kept = self._kept.read(content)
        return self._kept.keep(self._in_pieces(item, content)) if kept is None else kept

    def _in_pieces(self, item: Item, content: Content) -> bytes:
        pieces: list[bytes] = []
        size, begin = content.size, 0
        while not pieces or begin < size:
            [answer] = cast("list[dict[str, Any]]", self._post({"read": [self._ask_for(item, content, begin)]})["read"])
            if "error" in answer:
                raise NotFound(answer["error"]["message"], "Export again")
            if "url" in answer:
                return _downloaded(answer["url"])
            piece = decoded(answer["base64"])
            if not piece and begin < answer["size"]:
                raise Unavailable("The server sends nothing more", "Run the same command again")
            pieces.append(piece)
            size, begin = answer["size"], begin + len(piece)
        return b"".join(pieces)

    @staticmethod
    def _ask_for(item: Item, content: Content, begin: int = 0) -> JsonObject:
        return {"part": item.part, "key": item.key, "content": content.name, "begin": begin}

    # As a destination

    def look(self, items: Sequence[Item], wish: Wish) -> list[Verdict]:
        verdicts: list[Verdict] = []
        for start in range(0, len(items), LOOKED_AT):
            some = [one.as_json() for one in items[start : start + LOOKED_AT]]
            answer = self._post({"look": [*some], "wish": wish_view(wish)})
            verdicts += [verdict_of(one) for one in cast("list[object]", answer["verdicts"])]
        return verdicts

    def take(self, some: Sequence[Loaded], wish: Wish) -> list[LociError | None]:
        errors: list[LociError | None] = []
        batch: list[JsonObject] = []
        size = 0
        for one in some:
            sent = self._sent_or_refused(one)
            if batch and (isinstance(sent, LociError) or size + sent[1] > PIECE):
                errors += self._take(batch, wish)
                batch, size = [], 0
            if isinstance(sent, LociError):
                errors.append(sent)
                continue
            batch.append(sent[0])
            size += sent[1]
        return errors + (self._take(batch, wish) if batch else [])

    def end(self) -> None:
        """Tell the server that all has come: it forgets pieces that nobody needs."""
        with suppress(LociError):
            self._post({"end": True})

    def _take(self, batch: Sequence[JsonObject], wish: Wish) -> list[LociError | None]:
        try:
            answer = self._post({"take": [*batch], "wish": wish_view(wish)})
        except TooLargeError:
            if len(batch) == 1:
                return [_too_large()]
            return [error for one in batch for error in self._take([one], wish)]
        return [None if one is None else _error(one) for one in cast("list[Any]", answer["taken"])]

    def _sent_or_refused(self, one: Loaded) -> tuple[JsonObject, int] | LociError:
        """As `_sent`; the error of an item for whose contents the server has no room."""
        try:
            return self._sent(one)
        except TooLargeError:
            return _too_large()
        except Refused as error:
            if error.code != FULL:
                raise
            return error

    def _sent(self, one: Loaded) -> tuple[JsonObject, int]:
        """The item on the wire, and its size. Large contents are sent first, but for pieces that are there."""
        inline: JsonObject = {}
        size = 0
        for content in one.item.contents:
            if size + content.size <= INLINE:
                inline[content.name] = b64encode(one.load(content.name)).decode()
                size += content.size
            else:
                self._send_in_pieces(content, partial(one.load, content.name))
        item = one.item.as_json()
        return {"item": item, "contents": inline}, size + len(json.dumps(item))

    def _send_in_pieces(self, content: Content, load: Callable[[], bytes]) -> None:
        answer = self._post({"held": [content.sha256]})
        held = set(cast("dict[str, list[int]]", answer["held"])[content.sha256])
        begins = range(0, content.size, PIECE)
        if not held <= {*begins}:
            held = set[int]()
        whole = load()
        for begin in begins:
            if begin not in held:
                piece = b64encode(whole[begin : begin + PIECE]).decode()
                self._post({"put": [{"sha256": content.sha256, "begin": begin, "base64": piece}]})

    def _post(self, body: JsonObject) -> dict[str, object]:
        return dict(self._route.request("POST", {}, json.dumps(body).encode()))


def _error(told: dict[str, Any]) -> LociError:
    kind = Unavailable if told.get("later") else Refused
    return kind(str(told["message"]), "", code=told.get("code"))


def _too_large() -> Refused:
    return Refused("It is too large for the server, or takes too long", "Split it")


def _downloaded(url: str) -> bytes:
    """The bytes behind a link of the server's store. The key does not go there."""
    import httpx2

    try:
        client: Client = httpx2.Client(timeout=SECONDS)
        with client:
            answer = client.get(url)
    except httpx2.HTTPError as error:
        raise Unavailable(f"A file cannot be fetched ({error})", "Run the same command again") from None
    if not answer.is_success:
        raise Unavailable(f"A file cannot be fetched ({answer.status_code})", "Run the same command again")
    return answer.content
