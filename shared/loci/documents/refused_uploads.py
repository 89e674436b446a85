"""Uploads that could not become documents: who asks for one by its path learns the reason."""

from typing import Final

from loci.core.errors import LociError, Refused
from loci.core.identity import Owner
from loci.core.ids import content_id
from loci.core.json import string
from loci.core.stores import Record, RecordStore, every, read_or_none, readable

REFUSED: Final = "refused"


class RefusedUploads:
    """The reasons of each owner's refused uploads, by path, until the path has another upload or none."""

    def __init__(self, records: RecordStore) -> None:
        self._records = records

    def note(self, owner: Owner, path: str, error: LociError) -> None:
        """Keep the reason."""
        value = {"path": path, "what": error.what, "resolution": error.resolution, "code": error.code}
        self._records.put(owner, REFUSED, _key(path), {**value}, durable=False)

    def find(self, owner: Owner, path: str) -> Refused | None:
        """The reason why the upload at that path is no document, if there is one."""
        return read_or_none(self._records.get(owner, REFUSED, _key(path)), refusal_of)

    def paths(self, owner: Owner) -> list[str]:
        """The paths of all refused uploads."""
        return list(readable(every(self._records, owner, REFUSED), lambda one: string(one.value["path"])))

    def end(self, owner: Owner, path: str) -> None:
        """Forget the reason: another upload is there, or none."""
        if self._records.get(owner, REFUSED, _key(path)):  # to look costs a fraction of a write
            self._records.remove(owner, REFUSED, _key(path), durable=False)


def refusal_of(record: Record) -> Refused:
    """The reason in a record."""
    value = record.value
    return Refused(string(value["what"]), string(value["resolution"]), code=string(value["code"]))


def _key(path: str) -> str:
    return content_id(path, length=32)
