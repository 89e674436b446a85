"""The work that takes long with the content of a file: it is read and cut into passages, if large in another process.

Python runs one thread at a time, so a server that cut a log itself would answer nobody meanwhile.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import islice
from typing import TYPE_CHECKING, TypeVar, TypeVarTuple

from loci.core.errors import Unavailable
from loci.files.cutting import cut, cut_with_remark
from loci.files.differences import Change, changes
from loci.files.file import RULES, FileVersion
from loci.files.lake import packed, unpacked
from loci.files.plain_text import read_text
from loci.files.reading import Reading, checked, stopped
from loci.files.summaries import extracted
from loci.search.passages import Count
from loci.search.ranking import Chunk

if TYPE_CHECKING:
    from loci.core.worker_process import Workers

QUICK_BYTES = 65_536
"""Up to this size this process does the work itself: to ask another one would take longer."""
SECONDS = 120.0
"""Of the processor, for the reading of one file."""
MEMORY_BYTES = 1536 << 20
Arguments = TypeVarTuple("Arguments")
Result = TypeVar("Result")


class LongWork:
    """Calls the functions of this module, in worker processes if there are any."""

    def __init__(self, workers: "Workers | None") -> None:
        self.workers = workers
        """None: this process serves nobody else meanwhile."""

    def call(self, size: int, function: Callable[[*Arguments], Result], *arguments: *Arguments) -> Result:
        """Call the function, which reads a content of `size` bytes, and return its result.

        Raises `Refused` if the work takes too much time or memory; `Unavailable` if it may succeed later.
        """
        if self.workers is None or size <= QUICK_BYTES:
            return function(*arguments)
        from loci.core.worker_process import EndedError  # a function on AWS does without

        try:
            return self.workers.call(function, *arguments, seconds=SECONDS, memory_bytes=MEMORY_BYTES)
        except EndedError as ended:
            if ended.why in ("busy", "killed"):
                what = "This machine was too busy to read it" if ended.why == "busy" else "Its reading was ended"
                advice = "Try again in a minute; a file that waits is then read by itself"
                raise Unavailable(what, advice, code="READERS_BUSY") from None
            raise stopped(ended.why) from None


@dataclass(frozen=True, slots=True)
class Rules:
    """How a file is cut into passages."""

    id: str
    """The id of the file; for an earlier version, the id of its document in the index."""
    name: str
    count: Count
    """Picklable: another process may call it."""
    longest: int


@dataclass(frozen=True, slots=True)
class ReadVersion:
    """A version that was read."""

    version: FileVersion
    chunks: list[Chunk]
    packed: bytes
    """Its reading, as it is stored."""


def text_read(version: FileVersion, content: bytes, rules: Rules) -> ReadVersion:
    """Read a plain text, or a table of text."""
    return _cut(version, read_text(rules.name, content), rules)


def answer_read(version: FileVersion, said: bytes, rules: Rules) -> ReadVersion:
    """Take over what the program behind the wall said."""
    return _cut(version, checked(said), rules)


def passages_again(packed_reading: bytes, rules: Rules) -> list[Chunk]:
    """Cut a version that was read before."""
    return cut(rules.id, rules.name, unpacked(packed_reading, rules.id), rules.count, rules.longest)


def differences(older: bytes, newer: bytes, id: str, most: int) -> tuple[tuple[Change, ...], int]:
    """The first differences between two packed readings of a file, and the number of all."""
    found = changes(unpacked(older, id), unpacked(newer, id))
    first = tuple(islice(found, most))
    return first, len(first) + sum(1 for _ in found)


def _cut(version: FileVersion, reading: Reading, rules: Rules) -> ReadVersion:
    chunks, left_out = cut_with_remark(rules.id, rules.name, reading, rules.count, rules.longest)
    read = replace(
        version,
        status="okay",
        reason=None,
        format=reading.format,
        chunks=len(chunks),
        figures=reading.figures,
        tables=len(reading.tables),
        sheets=reading.sheets,
        pages=reading.pages,
        summary=extracted(reading),
        summary_by=RULES,
        remarks=(*reading.remarks, *left_out),
    )
    return ReadVersion(read, chunks, packed(reading))
