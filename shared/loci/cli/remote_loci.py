"""An owner's data on another Loci server, exported and imported in small archives through its route `/transfer`."""

import hashlib
import io
import json
from base64 import b64decode, b64encode
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, cast

from loci.cli.remote_client import RemoteRoute, TooLargeError
from loci.core.errors import Refused, Unavailable
from loci.core.json import JsonObject
from loci.transfer.archive import Archive, ArchiveWriter
from loci.transfer.items import Kind, Loaded, Outcome, UnreadableItem
from loci.transfer.staging import FULL, NOT_WHOLE, PIECE

TOO_LARGE = Outcome("failed", "It is too large for the server, or takes too long. Split it")


class RemoteLoci:
    """An owner's data on another server, as the source or the target of a move. The owner comes from the key."""

    def __init__(self, url: str, key: str | None, kinds: Mapping[str, Kind]) -> None:
        fields = frozenset({"next", "outcomes", "done", "base64"})
        self._route = RemoteRoute(url, key, "transfer", fields)
        self._kinds = kinds
        self._sent: set[str] = set()
        """The hashes of the archives whose pieces are all on the server."""

    def items(self, names: Sequence[str]) -> Iterator[Loaded | UnreadableItem]:
        """All items of these kinds."""
        after: str | None = ""
        while after is not None:
            page = self._route.request("GET", {"parts": ",".join(names), **({"after": after} if after else {})})
            for one in cast("list[dict[str, str]]", page["unreadable"]):
                yield UnreadableItem(one["name"], one["why"])
            yield from Archive(io.BytesIO(self._content(page)), self._kinds).items()
            after = cast("str | None", page["next"])

    def _content(self, page: Mapping[str, object]) -> bytes:
        if "archive" in page:
            return b64decode(cast("str", page["archive"]))
        sha256, size = cast("str", page["sha256"]), cast("int", page["size"])
        content = b""
        while len(content) < size:
            answer = self._post({"read": {"sha256": sha256, "begin": len(content)}})
            content += b64decode(cast("str", answer["base64"]))
        self._post({"drop": sha256})
        if hashlib.sha256(content).hexdigest() != sha256:
            raise Unavailable("What the server sent did not arrive whole", "Run the same command again")
        return content

    def preview(self, some: Sequence[Loaded]) -> list[Outcome]:
        def ask(some: Sequence[Loaded]) -> list[Outcome]:
            return self._outcomes({"look": b64encode(_archive(some, with_blobs=False)).decode()}, len(some))

        return _halving(some, ask)

    def store(self, some: Sequence[Loaded]) -> list[Outcome]:
        return _halving(some, self._store_all)

    def _store_all(self, some: Sequence[Loaded]) -> list[Outcome]:
        content = _archive(some, with_blobs=True)
        if len(content) <= PIECE:
            return self._outcomes({"take": b64encode(content).decode()}, len(some))
        try:
            return self._store_in_pieces(content, len(some))
        except Refused as error:
            if error.code not in (FULL, NOT_WHOLE):
                raise
            return [Outcome("later" if error.code == NOT_WHOLE else "failed", str(error))] * len(some)

    def _store_in_pieces(self, content: bytes, number: int) -> list[Outcome]:
        sha256 = hashlib.sha256(content).hexdigest()
        for begin in range(0, len(content), PIECE) if sha256 not in self._sent else ():
            piece = b64encode(content[begin : begin + PIECE]).decode()
            self._post({"put": {"sha256": sha256, "begin": begin, "base64": piece}})
        self._sent.discard(sha256)
        outcomes = self._outcomes({"take": {"sha256": sha256, "size": len(content)}}, number)
        if any(one.word == "later" for one in outcomes):
            self._sent.add(sha256)
        return outcomes

    def _outcomes(self, body: JsonObject, number: int) -> list[Outcome]:
        told = cast("list[Any]", self._post(body).get("outcomes") or [])
        if len(told) != number:
            raise Refused("The server answers something unknown", "Use the same version of Loci on both sides")
        return [Outcome(word, why) for word, why in told]

    def _post(self, body: JsonObject) -> Mapping[str, object]:
        return self._route.request("POST", {}, json.dumps(body).encode())


def _halving(some: Sequence[Loaded], ask: Callable[[Sequence[Loaded]], list[Outcome]]) -> list[Outcome]:
    """The outcomes of a request. If the server cannot take all items at once, each half is sent alone."""
    try:
        return ask(some)
    except TooLargeError:
        if len(some) == 1:
            return [TOO_LARGE]
        half = len(some) // 2
        return _halving(some[:half], ask) + _halving(some[half:], ask)


def _archive(some: Sequence[Loaded], *, with_blobs: bool) -> bytes:
    file = io.BytesIO()
    writer = ArchiveWriter(file)
    for one in some:
        writer.add(one, with_blobs=with_blobs)
    writer.finish("")
    return file.getvalue()
