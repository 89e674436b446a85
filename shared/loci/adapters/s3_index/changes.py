"""The changes of an owner's index since its base, as the bytes of one object: a header, then one block a change."""

import json
import secrets
import struct
import zlib
from base64 import b64decode, b64encode
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from loci.core.errors import Misconfigured
from loci.search.inference import Embedding
from loci.search.ranking import Chunk, TagsAndDate

FORMAT = b"loci-index-1\n"
HEADER = struct.Struct(">16s16s16s")
"""The name of the base, the mark of the last change in it, and the mark before the first change that follows here.
Zeros: there is no base, or no change. Some changes are here and in the base, too: who lags behind by so few needs no
other base."""
BLOCK = struct.Struct(">16sI")
"""The mark of the change, and how many bytes follow."""
NOTHING = bytes(16)
FAST = 1
"""The level of zlib. Vectors hardly shrink at any level."""
UNMARKED = TagsAndDate()


@dataclass(frozen=True, slots=True)
class IndexChange:
    """A document that was put, or, without chunks, removed."""

    collection: str
    document: str
    chunks: Sequence[Chunk] = ()
    tags_and_date: TagsAndDate = UNMARKED


@dataclass(frozen=True, slots=True)
class Changes:
    """The newest changes, oldest first: at least all since the base."""

    content: bytes = FORMAT + HEADER.pack(NOTHING, NOTHING, NOTHING)
    last: bytes = field(init=False)
    """The mark of the last change. Every search asks for it."""

    def __post_init__(self) -> None:
        _, last, _ = self._header()
        for mark, _, _ in self._blocks():
            last = mark
        object.__setattr__(self, "last", last)

    @property
    def base(self) -> str | None:
        """The name of the base; None if the changes begin with an empty index."""
        base, _, _ = self._header()
        return None if base == NOTHING else base.hex()

    @property
    def size(self) -> int:
        """The size in bytes, without the header."""
        return len(self.content) - len(FORMAT) - HEADER.size

    def since_base(self) -> list[IndexChange]:
        """The changes that the base does not have."""
        _, in_base, _ = self._header()
        return self.since(in_base) or []

    def since(self, mark: bytes) -> list[IndexChange] | None:
        """The changes after that mark. None if it is unknown, or so old that the changes after it are in the base."""
        _, _, before = self._header()
        is_after = mark == before
        found: list[IndexChange] = []
        for one, start, end in self._blocks():
            if is_after:
                found.append(_change(self.content[start:end]))
            is_after = is_after or one == mark
        return found if is_after else None

    def all(self) -> list[IndexChange]:
        """All changes that are here."""
        return [_change(self.content[start:end]) for _, start, end in self._blocks()]

    def with_more(self, changes: Sequence[IndexChange]) -> "Changes":
        """These and the new ones, each with a mark that no other has."""
        return Changes(self.content + b"".join(_framed(secrets.token_bytes(16), _block(one)) for one in changes))

    def folded(self, base: str, keep: float) -> "Changes":
        """The last changes, in at most `keep` bytes, after a base that has all changes."""
        _, _, before = self._header()
        end = first = len(self.content)
        for mark, start, _ in reversed(list(self._blocks())):
            if end - (start - BLOCK.size) > keep:
                before = mark
                break
            first = start - BLOCK.size
        return Changes(FORMAT + HEADER.pack(bytes.fromhex(base), self.last, before) + self.content[first:])

    def _header(self) -> tuple[bytes, bytes, bytes]:
        if not self.content.startswith(FORMAT) or len(self.content) < len(FORMAT) + HEADER.size:
            raise unreadable("another version of Loci wrote it, or it is damaged")
        return HEADER.unpack_from(self.content, len(FORMAT))

    def _blocks(self) -> Iterator[tuple[bytes, int, int]]:
        """The mark of each change, and from where to where its block is in the content: blocks may be large."""
        at = len(FORMAT) + HEADER.size
        while at < len(self.content):
            if len(self.content) < at + BLOCK.size:
                raise unreadable("it ends too soon")
            mark, size = BLOCK.unpack_from(self.content, at)
            start = at + BLOCK.size
            at = start + size
            yield mark, start, at


def unreadable(why: str) -> Misconfigured:
    """The objects in the bucket are damaged, or of another version of Loci."""
    return Misconfigured(
        f"The index in the bucket cannot be read ({why})",
        "Update Loci. If that does not help, delete the objects below index/, and run: loci reindex --stack NAME",
        code="INDEX_DAMAGED",
    )


def _framed(mark: bytes, block: bytes) -> bytes:
    return BLOCK.pack(mark, len(block)) + block


def _block(change: IndexChange) -> bytes:
    chunks = [
        [
            *(one.id, one.path, one.title, one.heading, one.first_line, one.last_line, one.text, one.hash, one.words),
            one.embedding and [one.embedding.model, _text(one.embedding.vector), _text(one.embedding.bits)],
        ]
        for one in change.chunks
    ]
    marks = change.tags_and_date
    return zlib.compress(
        json.dumps([change.collection, change.document, marks.tags, marks.date, chunks]).encode(), FAST
    )


def _change(block: bytes) -> IndexChange:
    try:
        collection, document, tags, date, chunks = json.loads(zlib.decompress(block))
        return IndexChange(
            collection, document, [_chunk(document, one) for one in chunks], TagsAndDate(tuple(tags), date)
        )
    except (ValueError, TypeError, zlib.error) as error:
        raise unreadable(str(error)) from error


def _chunk(document: str, stored: list[Any]) -> Chunk:
    id, path, title, heading, first, last, text, hash, words, embedded = stored
    embedding = embedded and Embedding(embedded[0], b64decode(embedded[1]), b64decode(embedded[2]))
    return Chunk(id, document, path, title, tuple(heading), first, last, text, hash, words, embedding)


def _text(value: bytes) -> str:
    return b64encode(value).decode("ascii")
