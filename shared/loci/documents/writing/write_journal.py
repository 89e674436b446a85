"""The note that is made before a document is written or moved, and removed after it."""

from dataclasses import dataclass, replace

from loci.core.identity import Owner
from loci.core.ids import content_id, random_id
from loci.core.json import JsonObject, string
from loci.core.stores import Record, RecordStore, every, readable

UNFINISHED = "unfinished"


@dataclass(frozen=True, slots=True)
class UnfinishedWrite:
    """The note that a document is being written."""

    path: str
    root: str | None
    """The id of the root that its file lies in. None: its text is a blob."""
    scratch: str
    """The name of the file beside it that will replace it."""
    tries: int = 1
    """The number of times that Loci tried to parse the document, this time included."""
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
        write = UnfinishedWrite(path, root, f".loci-{random_id()}.tmp", move=move)
        self._put(owner, write)
        return write

    def count_try(self, owner: Owner, write: UnfinishedWrite, tries: int) -> None:
        """Note that another try to parse the document begins."""
        if tries > write.tries:
            self._put(owner, replace(write, tries=tries))

    def end(self, owner: Owner, write: UnfinishedWrite) -> None:
        """Remove the note: the write is finished, or it has failed without changing anything."""
        self._records.remove(owner, UNFINISHED, write.key)

    def is_unfinished(self, owner: Owner, write: UnfinishedWrite) -> bool:
        """True if the document still has a note."""
        return self._records.get(owner, UNFINISHED, write.key) is not None

    def unfinished(self, owner: Owner) -> list[UnfinishedWrite]:
        """All writes that are not finished."""
        return list(readable(every(self._records, owner, UNFINISHED), unfinished_write))

    def _put(self, owner: Owner, write: UnfinishedWrite) -> None:
        value: JsonObject = {
            "path": write.path,
            "root": write.root,
            "scratch": write.scratch,
            "tries": write.tries,
            **({"move": write.move} if write.move else {}),
        }
        self._records.put(owner, UNFINISHED, write.key, value)


def unfinished_write(record: Record) -> UnfinishedWrite:
    """The unfinished write of a record."""
    path, root, scratch = (record.value[name] for name in ("path", "root", "scratch"))
    tries = int(str(record.value.get("tries", 1)))
    move = record.value.get("move")
    return UnfinishedWrite(
        string(path),
        None if root is None else string(root),
        string(scratch),
        tries,
        None if move is None else string(move),
    )
