"""Writes that were begun: what a crash leaves marked is put right by the next start, or by the next write."""

from dataclasses import dataclass

from loci.core.identity import Owner
from loci.core.ids import content_id, random_id
from loci.core.stores import RecordStore, every

UNFINISHED = "unfinished"


@dataclass(frozen=True, slots=True)
class Mark:
    """A document that is being written."""

    path: str
    root: str | None
    """The id of the root that its file lies in."""
    scratch: str
    """The name of the file beside it that is to take its place."""

    @property
    def key(self) -> str:
        return content_id(self.path, length=32)


class WriteJournal:
    """The marks of each owner."""

    def __init__(self, records: RecordStore) -> None:
        self._records = records

    def mark(self, path: str, root: str | None) -> Mark:
        """A new mark; `add` puts it there."""
        return Mark(path, root, f".loci-{random_id()}.tmp")

    def add(self, owner: Owner, mark: Mark) -> None:
        """From now on whoever looks knows that this write was begun."""
        self._records.put(owner, UNFINISHED, mark.key, {"path": mark.path, "root": mark.root, "scratch": mark.scratch})

    def remove(self, owner: Owner, mark: Mark) -> None:
        """It is done."""
        self._records.remove(owner, UNFINISHED, mark.key)

    def is_there(self, owner: Owner, mark: Mark) -> bool:
        """Whether it is not done yet."""
        return self._records.get(owner, UNFINISHED, mark.key) is not None

    def marks(self, owner: Owner) -> list[Mark]:
        """All that are not done."""
        found = [record.value for record in every(self._records, owner, UNFINISHED)]
        return [
            Mark(str(one["path"]), None if one["root"] is None else str(one["root"]), str(one["scratch"]))
            for one in found
        ]
