"""The record of each transcript: its stamp, and the documents that were made of it."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

from pydantic import TypeAdapter

from loci.core.identity import Owner
from loci.core.ids import content_id
from loci.core.json import JsonObject
from loci.core.stores import Record, RecordStore, every, read_or_none, readable

KIND: Final = "session_source"
FORGOTTEN: Final = ""
"""The path of a document that the owner wants out: it stays out when the session grows."""


@dataclass(slots=True)
class Made:
    """A document that was made of a session."""

    path: str
    """The path below the folder of all sessions, or `FORGOTTEN`."""
    mark: str = ""
    """A text that changes when the session grows, if the file holds several."""


@dataclass(slots=True)
class Source:
    """A transcript that was read."""

    file: str
    stamp: list[int | str] = field(default_factory=list[int | str])
    """The stamp of the file, the version of the readers, and the names of excluded repositories."""
    made: dict[str, Made] = field(default_factory=dict[str, Made])
    """By the name of the session within the file; empty if the file holds one."""
    gone: list[str] = field(default_factory=list[str])
    """The paths of documents that were made once, and are out."""

    def take_out(self, part: str) -> None:
        """Note that a document is out."""
        self.gone.append(self.made[part].path)
        self.made[part].path = FORGOTTEN


_SOURCE: Final = TypeAdapter(Source)


@dataclass(frozen=True, slots=True)
class Sources:
    """The transcripts that were read."""

    records: RecordStore

    def get(self, owner: Owner, file: str) -> Source:
        """The transcript with that path, new or known."""
        return read_or_none(self.records.get(owner, KIND, content_id(file)), _source_of) or Source(file)

    def put(self, owner: Owner, source: Source) -> None:
        """Keep it. After a power cut, the transcript may be read again."""
        value: JsonObject = _SOURCE.dump_python(source, mode="json")
        self.records.put(owner, KIND, content_id(source.file), value, durable=False)

    def all(self, owner: Owner) -> Iterator[Source]:
        """All of them, read page by page."""
        return readable(every(self.records, owner, KIND), _source_of)

    def remove_all(self, owner: Owner) -> None:
        """Remove all of them."""
        for record in list(every(self.records, owner, KIND)):
            self.records.remove(owner, KIND, record.key)


def _source_of(record: Record) -> Source:
    return _SOURCE.validate_python(record.value)
