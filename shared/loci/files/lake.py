"""The lake: the files of an owner, their contents, and what was read out of each version."""

import gzip
import hashlib
import io
import re
import zlib
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass, replace

from pydantic import ValidationError

from loci.core.errors import Conflict, NotFound, Refused, Unavailable
from loci.core.identity import Owner
from loci.core.json import JsonObject, iso
from loci.core.stores import (
    ABSENT,
    BlobStore,
    Record,
    RecordStore,
    WriteLocks,
    every,
    lost_race,
    read_or_none,
    readable,
)
from loci.files.file import FileVersion, StoredFile, checked_path, file_id, name_of, stored_file, version_of
from loci.files.reading import Reading

KIND, HISTORY = "file", "file_version"
STATE = "file_state"
"""The kind of a record that is written after each change of a file. Its version is compared, and it holds nothing."""
FOLDER = "files/"
ID = re.compile(r"ds-[0-9a-f]{1,40}")
LONGEST_ID = 80
"""Characters of an unknown id that an error shows."""
LARGEST_READING = 512 << 20
"""Bytes of a reading, uncompressed."""
LOCK_SECONDS = 30.0
ATTEMPTS = 10
"""Tries to write a record that others write meanwhile."""
MOST_NAMED = 5
ARRIVALS = 20
"""Uploads of a file that are remembered. Each is reported for some hours, and then no more."""


@dataclass(frozen=True, slots=True)
class RemoteContent:
    """Bytes of a file that lie elsewhere. The store copies them, and they never pass through this process."""

    sha256: str
    bytes: int
    copy: Callable[[str], None]
    """Copies them to this key of the owner's blobs."""
    arrival: str
    """The name of the upload that brought them. An upload counts once, even if another one came meanwhile."""


class Lake:
    """Keeps files as records and blobs. It knows nothing of what is in them."""

    def __init__(self, records: RecordStore, blobs: BlobStore, locks: WriteLocks, clock: Callable[[], float]) -> None:
        self._records = records
        self._blobs = blobs
        self._locks = locks
        self._clock = clock

    def get(self, owner: Owner, id: str) -> StoredFile:
        """The file with this id."""
        found = self.held(owner, id)
        if found is None or found.is_removed:
            raise _unknown([id])
        return found

    def get_all(self, owner: Owner, ids: Sequence[str]) -> list[StoredFile]:
        """The files with these ids, each once. If some are unknown, the error names all of them."""
        found = self.known(owner, ids)
        if unknown := [id for id in dict.fromkeys(ids) if id not in found]:
            raise _unknown(unknown)
        return [*found.values()]

    def known(self, owner: Owner, ids: Sequence[str]) -> dict[str, StoredFile]:
        """The files with these ids, without the ids that no file has."""
        found = self._records.get_all(owner, KIND, [id for id in ids if ID.fullmatch(id)])
        return {one.id: one for one in readable(found.values(), stored_file) if not one.is_removed}

    def held(self, owner: Owner, id: str) -> StoredFile | None:
        """The file with this id, also one that is being removed."""
        record = self._records.get(owner, KIND, id) if ID.fullmatch(id) else None
        return read_or_none(record, stored_file)

    def files(self, owner: Owner) -> Iterator[StoredFile]:
        """All files, in the order of their ids."""
        return (one for one in readable(every(self._records, owner, KIND), stored_file) if not one.is_removed)

    def being_removed(self, owner: Owner) -> Iterator[StoredFile]:
        """The removed files that may not be gone completely."""
        return (one for one in readable(every(self._records, owner, KIND), stored_file) if one.is_removed)

    def id_at(self, owner: Owner, path: str, sha256: str | None = None, *, is_alone: bool = False) -> str:
        """The id of the file at this path, or the id that a file there will get.

        A file that came when files had only names keeps the id of its name. It is the file at the path from the time
        when its newest content comes from there; any content, if no other path of that name is added (`is_alone`).
        """
        id = file_id(path)
        if "/" not in path or self.held(owner, id) is not None:
            return id
        older = self.held(owner, file_id(name_of(path)))
        if older is None or older.is_removed:
            return id
        is_same = older.path == path or (older.path is None and (is_alone or older.newest.sha256 == sha256))
        return older.id if is_same else id

    def add(
        self,
        owner: Owner,
        path: str,
        content: bytes | RemoteContent,
        lineage: JsonObject | None = None,
        *,
        is_alone: bool = False,
    ) -> tuple[StoredFile, bool]:
        """Keep the content as the file's newest version; False if it was that already, and was read or will be.

        A content that could not be read is tried again. The content of the current version replaces a newer one that
        could not be read.
        """
        path = checked_path(path)
        is_here = isinstance(content, bytes)
        digest = hashlib.sha256(content).hexdigest() if is_here else content.sha256
        size = len(content) if is_here else content.bytes
        id = self.id_at(owner, path, digest, is_alone=is_alone)
        with self.turn(owner, id):
            for _ in range(ATTEMPTS):
                record = self._records.get(owner, KIND, id)
                before = read_or_none(record, stored_file)
                if before is not None and not is_here and content.arrival in before.arrivals:
                    return before, False
                after = _after(before, id, path, digest, size, iso(self._clock()), lineage)
                if not is_here:
                    after = replace(after, arrivals=(*after.arrivals, content.arrival)[-ARRIVALS:])
                if record is not None and before is None:  # damaged: the file begins anew
                    after = replace(after, record_version=record.version)
                if before is not None and after == before:
                    self._mend(owner, content_key(id, digest), content)
                    return before, False
                is_new = before is None or after.newest != before.newest
                if is_new and is_here:
                    self._blobs.write(owner, content_key(id, digest), content)
                elif is_new and not is_here:
                    content.copy(content_key(id, digest))
                with suppress(Conflict):  # its reading was written meanwhile
                    kept = self.put(owner, after)
                    if not is_new:
                        return kept, False
                    # What is being read just now is needed until that has ended.
                    if before is not None and before.newest.status not in ("okay", "running"):
                        self.discard(owner, kept, before.newest)
                    return kept, kept.newest.status == "pending"
        raise lost_race(KIND)

    def _mend(self, owner: Owner, key: str, content: bytes | RemoteContent) -> None:
        """Write the content again if the stored one is damaged or lost."""
        if isinstance(content, bytes):
            try:
                self._blobs.read(owner, key)
            except (NotFound, Refused):
                self._blobs.write(owner, key, content)

    def restore(self, owner: Owner, file: StoredFile, content: bytes) -> tuple[StoredFile, bool]:
        """Keep the content as the newest version of the file, unless it has this or a newer one already."""
        id, version = file.id, file.newest
        with self.turn(owner, id):
            record = self._records.get(owner, KIND, id)
            before = read_or_none(record, stored_file)
            if before is not None and (before.is_removed or before.newest.number >= version.number):
                return before, False
            if before is None:
                after = replace(file, record_version=record.version if record else ABSENT)
            else:
                after = replace(before, newest=version)
            self._blobs.write(owner, content_key(id, version.sha256), content)
            return self.put(owner, after), True

    @contextmanager
    def turn(self, owner: Owner, id: str) -> Generator[None]:
        """Let nobody else add or discard contents of the file meanwhile."""
        with self._locks.take(owner, f"file content/{id}", LOCK_SECONDS) as is_taken:
            if not is_taken:
                raise Unavailable("Somebody else adds this file just now", "Try again", code="FILE_BUSY")
            yield

    def put(self, owner: Owner, file: StoredFile) -> StoredFile:
        """Write the file's record over the version that it was read from. Raises `Conflict` if another was written."""
        record = self._records.put(owner, KIND, file.id, file.as_json(), expect_version=file.record_version)
        self._tell_changed(owner)
        return stored_file(record)

    def state(self, owner: Owner) -> str:
        """A token that changes with the files, in any process; use it to validate caches, for a minute at most.

        A process that was killed between a change and its note has left the token as it was.
        """
        record = self._records.get(owner, STATE, KIND)
        return record.version if record else ABSENT

    def _tell_changed(self, owner: Owner) -> None:
        self._records.put(owner, STATE, KIND, {}, durable=False)

    def change(self, owner: Owner, id: str, change: Callable[[StoredFile], StoredFile]) -> StoredFile:
        """Change the file's record as it is now, also if others change it meanwhile. A removed file stays removed."""
        for _ in range(ATTEMPTS):
            with suppress(Conflict):
                return self.put(owner, change(self.get(owner, id)))
        raise lost_race(KIND)

    def discard(self, owner: Owner, file: StoredFile, version: FileVersion) -> None:
        """Remove the content of a version and its reading, unless another version has the same. Only in its `turn`."""
        others = [file.newest, *([file.current] if file.current else []), *self.history(owner, file.id)]
        if all(one.sha256 != version.sha256 for one in others):
            self._blobs.remove(owner, reading_key(file.id, version.sha256))
            self._blobs.remove(owner, content_key(file.id, version.sha256))

    def reading_turn(self, owner: Owner, id: str, patience: float) -> AbstractContextManager[bool]:
        """Let nobody else read the file meanwhile. Gives False if somebody does."""
        return self._locks.take(owner, f"file/{id}", patience)

    def keep_history(self, owner: Owner, id: str, version: FileVersion) -> None:
        """Keep what was known of an older version."""
        self._records.put(owner, HISTORY, f"{id}/{version.number:06}", version.as_json())

    def history(self, owner: Owner, id: str) -> list[FileVersion]:
        """The older versions of a file that were read, oldest first."""
        page = self._records.list(owner, HISTORY, prefix=f"{id}/", limit=1000)
        return list(readable(page.records, version_in))

    def histories(self, owner: Owner) -> dict[str, list[FileVersion]]:
        """The older versions of all files, by the ids of the files."""
        found: dict[str, list[FileVersion]] = {}
        for record in every(self._records, owner, HISTORY):
            for version in readable([record], version_in):
                found.setdefault(record.key.partition("/")[0], []).append(version)
        return found

    def content(self, owner: Owner, id: str, version: FileVersion) -> bytes:
        """The bytes of a version, as they came."""
        with _if_gone(id):
            try:
                return self._blobs.read(owner, content_key(id, version.sha256))
            except Refused as error:
                file = self.held(owner, id)
                what = f"Version {version.number} of {file.name if file else id} is damaged: it is not what was added"
                advice = f"{error.resolution}. get_memorylake_metadata lists its other versions"
                raise Refused(what, advice, code=error.code) from error

    def link(self, owner: Owner, file: StoredFile, seconds: int) -> str:
        """A URL that gives the file's bytes, under its name, to anyone who has the URL."""
        with _if_gone(file.id):
            return self._blobs.link(owner, content_key(file.id, file.shown.sha256), seconds, file.name)

    def keep_reading(self, owner: Owner, id: str, version: FileVersion, packed: bytes) -> None:
        """Keep what was read out of a version, packed."""
        self._blobs.write(owner, reading_key(id, version.sha256), packed)

    def reading(self, owner: Owner, id: str, version: FileVersion) -> Reading:
        """The reading of a version."""
        return unpacked(self.packed_reading(owner, id, version), id)

    def forget_version(self, owner: Owner, id: str, version: FileVersion) -> None:
        """Remove what was known of an older version."""
        self._records.remove(owner, HISTORY, f"{id}/{version.number:06}")

    def packed_reading(self, owner: Owner, id: str, version: FileVersion) -> bytes:
        """The reading of a version as it is stored: JSON, compressed."""
        with _if_gone(id):
            return self._blobs.read(owner, reading_key(id, version.sha256))

    def remove(self, owner: Owner, file: StoredFile) -> None:
        """Remove the file, all its versions and what was read out of them. Its record goes last."""
        with self.turn(owner, file.id):
            for key in self._blobs.list(owner, f"{FOLDER}{file.id}/"):
                self._blobs.remove(owner, key)
            for version in self.history(owner, file.id):
                self.forget_version(owner, file.id, version)
            held = self.held(owner, file.id)
            if held is not None and held.is_removed:
                self._records.remove(owner, KIND, file.id, expect_version=held.record_version)
                self._tell_changed(owner)


def packed(reading: Reading) -> bytes:
    """The reading as it is stored."""
    return gzip.compress(reading.model_dump_json(exclude_none=True).encode(), 5, mtime=0)


def unpacked(content: bytes, id: str) -> Reading:
    """The reading of the file with this id, as it was stored."""
    try:
        with gzip.GzipFile(fileobj=io.BytesIO(content)) as opened:
            return Reading.model_validate_json(opened.read(LARGEST_READING))
    except (OSError, EOFError, zlib.error, ValidationError) as error:
        raise Refused(
            f"The reading of {id} is damaged", f"Read it again: loci files read {id}", code="READING_DAMAGED"
        ) from error


@contextmanager
def _if_gone(id: str) -> Generator[None]:
    """Tell what a missing blob means, without its key."""
    try:
        yield
    except NotFound:
        advice = "If it was just changed or removed, ask again; else run: loci doctor"
        raise NotFound(f"A content of {id} is gone", advice, code="CONTENT_NOT_FOUND") from None


def _after(
    before: StoredFile | None,
    id: str,
    path: str,
    digest: str,
    size: int,
    now: str,
    lineage: JsonObject | None,
) -> StoredFile:
    """The file with this content as its newest version."""
    if before is None:
        newest = FileVersion(1, digest, size, now, lineage=lineage)
        return StoredFile(id, name_of(path), newest, None, ABSENT, path=path)
    if before.is_removed:
        raise Conflict(f"{path} is being removed", "Add it again in a moment")
    before = replace(before, path=path)
    newest, current = before.newest, before.current
    if newest.sha256 == digest:
        is_known = newest.status != "error"
        return before if is_known else replace(before, newest=FileVersion(newest.number, digest, size, now))
    if newest.status == "error" and current is not None and current.sha256 == digest:
        return replace(before, newest=current)
    return replace(before, newest=FileVersion(newest.number + 1, digest, size, now, lineage=lineage))


def _unknown(ids: Sequence[str]) -> NotFound:
    ids = [one[:LONGEST_ID] for one in ids]
    names = ", ".join(map(repr, ids[:MOST_NAMED]))
    what = f"There is no file {names}" if len(ids) == 1 else f"There are no files {names}"
    more = f" and {len(ids) - MOST_NAMED} more" if len(ids) > MOST_NAMED else ""
    advice = "Use an id that search_memory or get_memorylake_metadata gave"
    return NotFound(f"{what}{more}", advice, code="MEMORY_NOT_FOUND", details={"unknown": [*ids]})


def version_in(record: Record) -> FileVersion:
    """The older version in this record."""
    return version_of(record.value)


def content_key(id: str, sha256: str) -> str:
    """The key of a version's bytes."""
    return f"{FOLDER}{id}/{sha256}"


def reading_key(id: str, sha256: str) -> str:
    """The key of what was read out of a version."""
    return f"{FOLDER}{id}/{sha256}.reading"
