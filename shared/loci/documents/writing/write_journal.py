"""The note that is made before a document is written or moved, and removed after it."""

from dataclasses import dataclass

from loci.core.identity import Owner
from loci.core.ids import content_id
from loci.core.json import JsonObject, string
from loci.core.stores import Record, RecordStore, every, readable

UNFINISHED = "unfinished"


@dataclass(frozen=True, slots=True)
class UnfinishedWrite:
    """The note that a document is being written."""

    path: str
    root: str | None
    """The id of the root that its file lies in. None: its text is a blob."""
    move: str | None = None
    """The id of the move to this path. It is finished as a whole."""

    @property
    def key(self) -> str:
        return content_id(f"move {self.move}" if self.move else self.path, length=32)


class WriteJournal:
    """The unfinished writes of each owner."""

    def __init__(self, records: RecordStore) -> None:
        self._records = records

    def begin(self, owner: Owner, path: str, root: str | None, move: str | None = None) -> UnfinishedWrite:
        """Note that the document is going to be written, or moved."""
        write = UnfinishedWrite(path, root, move)
        value: JsonObject = {"path": path, "root": root, **({"move": move} if move else {})}
        self._records.put(owner, UNFINISHED, write.key, value)
        return write

    def end(self, owner: Owner, write: UnfinishedWrite) -> None:
        """Remove the note: the write is finished, or it has failed without changing anything."""
        self._records.remove(owner, UNFINISHED, write.key)

    def is_unfinished(self, owner: Owner, write: UnfinishedWrite) -> bool:
        """True if the document still has a note."""
        return self._records.get(owner, UNFINISHED, write.key) is not None

    def unfinished(self, owner: Owner) -> list[UnfinishedWrite]:
        """All writes that are not finished."""
        return list(readable(every(self._records, owner, UNFINISHED), unfinished_write))


def unfinished_write(record: Record) -> UnfinishedWrite:
    """The unfinished write of a record."""
    root, move = record.value["root"], record.value.get("move")
    return UnfinishedWrite(
        string(record.value["path"]), None if root is None else string(root), None if move is None else string(move)
    )
