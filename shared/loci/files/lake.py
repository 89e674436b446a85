"""The lake: the files of an owner, their contents, and what was read out of each version."""

import gzip
import hashlib
import io
from collections.abc import Callable, Iterator

from pydantic import ValidationError

from loci.core.errors import NotFound, Refused
from loci.core.identity import Owner
from loci.core.json import JsonObject, iso
from loci.core.stores import ABSENT, BlobStore, RecordStore, every, readable
from loci.files.file import FileVersion, StoredFile, file_id, stored_file, version_of
from loci.files.reading import Reading

KIND, HISTORY = "file", "file_version"
FOLDER = "files/"
LONGEST_NAME = 255
LARGEST_READING = 512 << 20
"""Bytes of a reading, uncompressed."""


class Lake:
    """Keeps files as records and blobs. It knows nothing of what is in them."""

    def __init__(self, records: RecordStore, blobs: BlobStore, clock: Callable[[], float]) -> None:
        self._records = records
        self._blobs = blobs
        self._clock = clock

    def get(self, owner: Owner, id: str) -> StoredFile:
        """The file with this id."""
        record = self._records.get(owner, KIND, id) if id else None
        found = next(readable([record] if record else [], stored_file), None)
        if found is None:
            raise NotFound(
                f"There is no file {id[:80]!r}", "Use an id that search_memory gave", code="MEMORY_NOT_FOUND"
            )
        return found

    def find(self, owner: Owner, name: str) -> StoredFile | None:
        """The file with this name, if there is one."""
        record = self._records.get(owner, KIND, file_id(name))
        return next(readable([record] if record else [], stored_file), None)

    def files(self, owner: Owner) -> Iterator[StoredFile]:
        """All files, in the order of their ids."""
        return readable(every(self._records, owner, KIND), stored_file)

    def add(
        self, owner: Owner, name: str, content: bytes, lineage: JsonObject | None = None
    ) -> tuple[StoredFile, bool]:
        """Keep the content as the file's newest version; False if it was that already, and was read or will be."""
        name = checked_name(name)
        digest = hashlib.sha256(content).hexdigest()
        before = self.find(owner, name)
        if before is not None and before.newest.sha256 == digest and before.newest.status != "error":
            return before, False
        number = before.newest.number + 1 if before else 1
        version = FileVersion(number, digest, len(content), iso(self._clock()), lineage=lineage)
        id = file_id(name)
        self._blobs.write(owner, content_key(id, digest), content)
        added = StoredFile(
            id, name, version, before.current if before else None, before.record_version if before else ABSENT
        )
        return self.put(owner, added), True

    def put(self, owner: Owner, file: StoredFile) -> StoredFile:
        """Write the file's record over the version that it was read from. Raises `Conflict` if another was written."""
        record = self._records.put(owner, KIND, file.id, file.as_json(), expect_version=file.record_version)
        return stored_file(record)

    def keep_history(self, owner: Owner, id: str, version: FileVersion) -> None:
        """Keep what was known of an older version."""
        self._records.put(owner, HISTORY, f"{id}/{version.number:06}", version.as_json())

    def history(self, owner: Owner, id: str) -> list[FileVersion]:
        """The older versions of a file that were read, oldest first."""
        page = self._records.list(owner, HISTORY, prefix=f"{id}/", limit=1000)
        return list(readable(page.records, lambda record: version_of(record.value)))

    def content(self, owner: Owner, id: str, version: FileVersion) -> bytes:
        """The bytes of a version, as they came."""
        return self._blobs.read(owner, content_key(id, version.sha256))

    def link(self, owner: Owner, id: str, version: FileVersion, seconds: int) -> str:
        """A URL that gives the bytes of a version to whoever holds it."""
        return self._blobs.link(owner, content_key(id, version.sha256), seconds)

    def keep_reading(self, owner: Owner, id: str, version: FileVersion, reading: Reading) -> None:
        """Keep what was read out of a version."""
        packed = gzip.compress(reading.model_dump_json(exclude_defaults=True).encode(), 5, mtime=0)
        self._blobs.write(owner, reading_key(id, version.sha256), packed)

    def reading(self, owner: Owner, id: str, version: FileVersion) -> Reading:
        """What was read out of a version."""
        packed = self.packed_reading(owner, id, version)
        try:
            with gzip.GzipFile(fileobj=io.BytesIO(packed)) as opened:
                return Reading.model_validate_json(opened.read(LARGEST_READING))
        except (OSError, EOFError, ValidationError) as error:
            raise Refused(
                f"What was read out of {id} is damaged", f"Read it again: loci files read {id}", code="READING_DAMAGED"
            ) from error

    def packed_reading(self, owner: Owner, id: str, version: FileVersion) -> bytes:
        """What was read out of a version, as it is stored: JSON, compressed."""
        return self._blobs.read(owner, reading_key(id, version.sha256))

    def remove(self, owner: Owner, file: StoredFile) -> None:
        """Remove the file, all its versions and what was read out of them."""
        for key in self._blobs.list(owner, f"{FOLDER}{file.id}/"):
            self._blobs.remove(owner, key)
        for version in self.history(owner, file.id):
            self._records.remove(owner, HISTORY, f"{file.id}/{version.number:06}")
        self._records.remove(owner, KIND, file.id)


def content_key(id: str, sha256: str) -> str:
    """The key of a version's bytes."""
    return f"{FOLDER}{id}/{sha256}"


def reading_key(id: str, sha256: str) -> str:
    """The key of what was read out of a version."""
    return f"{FOLDER}{id}/{sha256}.reading"


def checked_name(name: str) -> str:
    """The name without its folders, if a file can have it; else raise `Refused`."""
    name = name.replace("\\", "/").rpartition("/")[2].strip()
    if not name or name in (".", "..") or len(name.encode("utf-8", "replace")) > LONGEST_NAME or not name.isprintable():
        raise Refused(
            "A file's name has 1 to 255 bytes and no control characters", "Give it such a name", code="BAD_NAME"
        )
    return name
