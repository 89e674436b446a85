"""Files: the one door. MCP tools, commands and pages call these methods and nothing behind them."""

import hashlib
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from concurrent.futures import wait as wait_for
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from shutil import rmtree

from loci.core.atomic_write import replace_file
from loci.core.errors import Refused, Unavailable
from loci.core.full_disk import disk_error
from loci.core.identity import LOCAL, Owner
from loci.core.json import JsonObject
from loci.core.trust import saw
from loci.files.citations import CheckedCitation
from loci.files.cutting import differences
from loci.files.differences import FileChange
from loci.files.file import FileStage, FileVersion, StoredFile, Watch, checked_path, unwatched
from loci.files.finder import FoundFiles
from loci.files.lake import content_key, reading_key
from loci.files.parts import FileParts
from loci.files.ports import FileJobs, UploadTicket
from loci.files.reading import is_plain
from loci.files.search_query import FileScope, checked_scope
from loci.files.upkeep import FileUpkeep
from loci.search.words import Question

LINK_SECONDS = 3600
LOOK_SECONDS = 0.25
QUICK_BYTES = 4 << 20
"""A plain text up to this size is read at once, as is every text that comes in a call."""


@dataclass(frozen=True, slots=True)
class FileContent:
    """The bytes of a file, as code reads them."""

    name: str
    version: str
    blob: str
    """The key of the content in the blob store."""
    load: Callable[[], bytes]
    number: int = 0
    """The number of the version."""
    path: str | None = None
    """The path of the file, if it says more than the name."""

    @property
    def content(self) -> bytes:
        """The bytes, read now."""
        return self.load()


@dataclass(frozen=True, slots=True)
class Difference:
    """The places in which two versions of a file differ."""

    file: StoredFile
    older: FileVersion
    newer: FileVersion
    changes: tuple[FileChange, ...]
    """The first ones."""
    total: int


class Files:
    """Files of all owners: added, read, found, fetched and removed."""

    def __init__(self, parts: FileParts) -> None:
        self.parts = parts
        self.upkeep = FileUpkeep(parts)
        self.contents = parts.versions

    def search(self, owner: Owner, asked: Question, *, limit: int, scope: FileScope) -> FoundFiles:
        """The files that answer the question, each with the passages that do."""
        found = self.parts.finder.find(owner, asked, limit=limit, scope=checked_scope(scope))
        saw(source for one in found.files for source in one.version.foreign)
        return found

    def listed(self, owner: Owner, *, newest_first: bool = False) -> list[StoredFile]:
        """All files, by their paths or by their age."""
        files = self.parts.lake.files(owner)
        if newest_first:
            return sorted(files, key=lambda one: (one.newest.added_at, one.id), reverse=True)
        return sorted(files, key=lambda one: (one.full_path.casefold(), one.full_path))

    def add(
        self,
        owner: Owner,
        name: str,
        content: bytes,
        lineage: JsonObject | None = None,
        *,
        is_alone: bool = False,
        wait: float | None = None,
        watch: Watch = unwatched,
    ) -> StoredFile:
        """Add a file, or a new version of it. Nothing happens if the lake has the same content already.

        `is_alone`: no other file that is added with it has the last part of its name.

        Waits until the file is read, at most `wait` seconds; its status then says how far it is. `watch` is told
        meanwhile.
        """
        self.check_size(name, len(content))
        file, is_new = self.parts.ingest.accept(owner, name, content, lineage, is_alone=is_alone)
        is_done = file.newest.status in ("okay", "error")
        return file if is_done and not is_new else self._read(owner, file, _is_quick(name, content), wait, watch)

    def add_local(
        self,
        owner: Owner,
        path: str,
        name: str | None = None,
        *,
        wait: float | None = None,
        watch: Watch = unwatched,
    ) -> StoredFile:
        """Add a file of this machine, for the person who uses it, from a folder that the operator allows."""
        if self.parts.local_paths is None or owner != LOCAL:
            raise Refused(
                "Only the person at the server's machine can name its paths",
                "Send the text, or ask for an upload",
                code="PATH_NOT_ALLOWED",
            )
        own_name, content = self.parts.local_paths.read(path)
        return self.add(owner, name or own_name, content, wait=wait, watch=watch)

    def begin_upload(
        self, owner: Owner, name: str, bytes: int, *, over_http: bool = True, whole: bool = False
    ) -> UploadTicket:
        """Let the caller send a file of at most `bytes` by HTTP requests of its own.

        `over_http`: the caller reaches this server by HTTP, so its URLs too. `whole`: it sends no file in parts.
        """
        name = checked_path(name)
        self.check_size(name, bytes)
        if self.parts.uploads is None or (self.parts.local_uploads is not None and not over_http):
            what = "This server takes no uploads" if over_http else "A server over stdio has no URL to send a file to"
            advice = f"Run: loci add {name}. Or give its path, if the setting file_roots allows its folder"
            raise Refused(what, advice, code="NO_UPLOADS")
        return self.parts.uploads.begin(owner, name, bytes, whole=whole)

    def finish_upload(self, owner: Owner, upload_id: str) -> UploadTicket | str:
        """End an upload in parts and return the path of its file, or a new ticket if parts are missing."""
        if self.parts.uploads is None:
            raise Refused("This server takes no uploads", "Send the text, or run: loci add FILE", code="NO_UPLOADS")
        return self.parts.uploads.finish(owner, upload_id)

    def check_size(self, name: str, size: int) -> None:
        """Raise `Refused` if a file is too large for the lake."""
        if size > self.parts.largest:
            what = f"{name} has {size / 2**20:,.0f} MB, more than the limit of {self.parts.largest / 2**20:,.0f} MB"
            raise Refused(what, "Split it, or raise the setting file_mb", code="FILE_TOO_LARGE")

    def read_again(self, owner: Owner, id: str) -> StoredFile:
        """Read a file once more, as after a newer Loci or a changed limit."""
        return self.parts.ingest.again(owner, id)

    def retry(self, owner: Owner, id: str) -> StoredFile:
        """Begin to read a file once more, and return the file as it waits."""
        file = self.parts.ingest.reset(owner, id)
        return self._read(owner, file, is_text=False, wait=0.0, watch=unwatched)

    def summarized(self, owner: Owner, file: StoredFile, watch: Watch = unwatched) -> StoredFile:
        """The file with the summary that a language model writes, if there is one. A server sees to that by itself."""
        if not self.parts.summaries.are_written_for(file):
            return file
        watch(FileStage("summarizing"))
        return self.parts.summaries.write(owner, file.id)

    def restore(self, owner: Owner, file: StoredFile, content: bytes) -> StoredFile:
        """Add the file's newest version with its number and time, as an archive has them.

        A version is kept when the next one comes, so it must be read before. Raises `Unavailable` if it must wait.
        """
        name = file.full_path
        self.check_size(name, len(content))
        held = self.parts.lake.held(owner, file.id)
        if (
            held is not None
            and held.newest.number < file.newest.number
            and held.newest.status in ("pending", "running")
        ):
            self._read(owner, held, False, None, unwatched)
            if self.parts.lake.get(owner, held.id).newest.status in ("pending", "running"):
                raise Unavailable(f"An older version of {name} is being read", "Try again", code="FILE_BUSY")
        file, _ = self.parts.lake.restore(owner, file, content)
        if file.newest.status in ("okay", "error"):
            return file
        return self._read(owner, file, _is_quick(name, content), None, unwatched)

    def summarize(self, owner: Owner, id: str, number: int, summary: str, by: str) -> StoredFile:
        """Give a version the summary that a language model wrote of it before."""
        change = partial(replace, summary=summary, summary_by=by)
        return self.parts.lake.change(owner, id, lambda one: one.with_current(number, change))

    def status(self, owner: Owner, ids: Sequence[str]) -> list[StoredFile]:
        """The files with these ids, each with its status."""
        files = self.parts.lake.get_all(owner, ids)
        saw(source for one in files for source in one.shown.foreign)
        return files

    def waiting(self, owner: Owner) -> list[StoredFile]:
        """The files that are not read yet, or could not be read."""
        return [one for one in self.listed(owner) if one.newest.status != "okay"]

    def read(self, owner: Owner, id: str, number: int | None = None) -> FileContent:
        """The bytes of a version, for code that computes on it. Without a number: the one that searches find."""
        file = self.parts.lake.get(owner, id)
        is_newest = number == file.newest.number  # it may have no reading
        version = (
            file.newest if is_newest else file.shown if number is None else self.parts.versions.get(owner, file, number)
        )
        saw(version.foreign)
        return FileContent(
            file.name,
            version.sha256,
            content_key(id, version.sha256),
            partial(self.parts.lake.content, owner, id, version),
            version.number,
            file.shown_path,
        )

    def tables(self, owner: Owner, id: str, number: int | None = None) -> FileContent:
        """The reading of a version, compressed, for SQL about its tables. Raises `Refused` if it has no table."""
        file = self.parts.lake.get(owner, id)
        version = file.current if number is None else self.parts.versions.get(owner, file, number)
        if version is None:
            what = f"{file.name} is not read: {file.newest.reason or file.newest.status}"
            raise Refused(what, "Look at ingestion_status", code="FILE_NOT_READ")
        saw(version.foreign)
        if not version.tables:
            raise Refused(f"{file.name} has no table", "Use search_memory for its text", code="NO_TABLES")
        if file.is_outdated and self.parts.jobs is not None:  # nothing runs there between calls
            with suppress(Unavailable):
                self.parts.jobs.send(owner, id)
        packed = self.parts.lake.packed_reading(owner, id, version)
        digest = hashlib.sha256(packed).hexdigest()
        return FileContent(file.full_path, digest, reading_key(id, version.sha256), lambda: packed, version.number)

    def link(self, owner: Owner, file: StoredFile) -> str:
        """A URL for downloading the file."""
        return self.parts.lake.link(owner, file, LINK_SECONDS)

    def id_at(self, owner: Owner, path: str) -> str:
        """The id of the file at this path, or the id that a file there will get."""
        return self.parts.lake.id_at(owner, path)

    def local_copy(self, owner: Owner, file: StoredFile) -> Path:
        """A copy of the file under its name, which the person at this machine may read. It lasts as long as Loci runs.

        It is no link to the stored content: who writes into it changes no stored file.
        """
        shown = file.shown
        path = Path(self.parts.copies.get(), file.id, str(shown.number), file.name)
        try:
            if not path.is_file():
                path.parent.mkdir(parents=True, exist_ok=True)
                replace_file(path, self.parts.lake.content(owner, file.id, shown), synced=False)
        except OSError as error:
            what = f"Cannot write {path} ({error.strerror})"
            raise disk_error(error, path.parent) or Unavailable(what, "Make room there, then try again") from error
        return path

    def known(self, owner: Owner, ids: Sequence[str]) -> dict[str, StoredFile | None]:
        """The files with these ids; None for an id that no file has."""
        found = self.parts.lake.known(owner, ids)
        saw(source for one in found.values() for source in one.shown.foreign)
        return {id: found.get(id) for id in ids}

    def close(self) -> None:
        """End what reads files, and remove copies: the server stops."""
        if copies := self.parts.copies.made:
            rmtree(copies, ignore_errors=True)
        if reader := self.parts.reader.made:
            reader.close()
        if self.parts.work.workers:
            self.parts.work.workers.close()

    def remove(self, owner: Owner, ids: Sequence[str]) -> list[StoredFile]:
        """Remove files, with all their versions. If one of them is unknown, none is removed."""
        files = self.status(owner, ids)
        for one in files:
            self.parts.ingest.forget(owner, one)
            if copies := self.parts.copies.made:
                rmtree(copies / one.id, ignore_errors=True)
        return files

    def versions(self, owner: Owner, id: str) -> list[FileVersion]:
        """The versions of a file that were read, oldest first."""
        return self.parts.versions.for_file(owner, self.parts.lake.get(owner, id))

    def compare(
        self, owner: Owner, id: str, older: int | None = None, newer: int | None = None, limit: int = 50
    ) -> Difference:
        """The first differences between two versions of a file: by default the current one and the one before it."""
        file = self.parts.lake.get(owner, id)
        versions = self.parts.versions
        after = versions.get(owner, file, newer)
        before = versions.get(owner, file, older if older is not None else versions.before(owner, file, after))
        older_text, newer_text = (self.parts.lake.packed_reading(owner, id, one) for one in (before, after))
        size = before.bytes + after.bytes
        first, total = self.parts.work.call(size, differences, older_text, newer_text, id, limit)
        return Difference(file, before, after, first, total)

    def verify(self, owner: Owner, chunk_id: str, text: str) -> CheckedCitation:
        """Check that a text stands where a passage says that it does."""
        return self.parts.citations.check(owner, chunk_id, text)

    def _read(self, owner: Owner, file: StoredFile, is_text: bool, wait: float | None, watch: Watch) -> StoredFile:
        watch(FileStage("accepted"))
        if self.parts.jobs is not None:
            return self._hand_over(owner, file, is_text, self.parts.jobs)
        try:
            if self.parts.queue is None or is_text:
                return self.parts.ingest.run(owner, file.id)
            return self._watched(owner, file.id, self.parts.queue.begin(owner, file.id), wait, watch)
        except (Unavailable, TimeoutError):  # it waits, and its reason says why
            return self.parts.lake.get(owner, file.id)

    def _watched(
        self, owner: Owner, id: str, reading: Future[StoredFile], wait: float | None, watch: Watch
    ) -> StoredFile:
        """Wait for the reading, and tell its stages meanwhile. Raises `TimeoutError` if the time is over."""
        until = None if wait is None else time.monotonic() + wait
        while not reading.done():
            left = LOOK_SECONDS if until is None else min(LOOK_SECONDS, until - time.monotonic())
            done, _ = wait_for([reading], max(0.0, left))
            if not done and left <= 0:
                raise TimeoutError
            if stage := self.parts.ingest.stages.get(owner, id):
                watch(stage)
        return reading.result()

    def _hand_over(self, owner: Owner, file: StoredFile, is_text: bool, jobs: FileJobs) -> StoredFile:
        """Plain texts are found at once, by their words. The rest is done by another process."""
        if not is_text:
            jobs.send(owner, file.id)
            return self.parts.lake.get(owner, file.id)
        with suppress(Unavailable):  # the other process tries it again
            self.parts.ingest.run(owner, file.id)
        file = self.parts.lake.get(owner, file.id)
        is_unfinished = self.parts.embedder.model() is not None or self.parts.summaries.are_written_for(file)
        if file.newest.status == "pending" or is_unfinished:
            jobs.send(owner, file.id)
        return file


def _is_quick(name: str, content: bytes) -> bool:
    return len(content) <= QUICK_BYTES and is_plain(name, content)
