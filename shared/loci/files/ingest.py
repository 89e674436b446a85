"""Takes files in: reads each one, cuts it into passages, and puts them into the index; large ones in a queue."""

import os
import stat
import threading
from collections import Counter, deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import replace
from functools import partial
from pathlib import Path

from loci.core.atomic_write import open_file
from loci.core.deadline import is_nearly_over, out_of_time
from loci.core.errors import Conflict, LociError, NotFound, Refused, Unavailable
from loci.core.events import Tell, untold
from loci.core.full_disk import freeing
from loci.core.identity import Owner
from loci.core.json import JsonObject
from loci.files.cutting import CuttingRules, ReadingWork, ReadVersion, answer_read, text_read
from loci.files.file import (
    READ_ALIKE,
    READER_VERSION,
    RULES,
    FileStage,
    FileStages,
    FileVersion,
    StoredFile,
    checked_path,
)
from loci.files.lake import Lake, RemoteContent, content_key
from loci.files.ports import FileReader
from loci.files.reading import has_text_name, is_plain, is_table
from loci.files.search_query import COLLECTION
from loci.files.versions import Versions
from loci.sandbox.supervisor.daemon_threads import DAEMON_THREADS
from loci.search.document_index import DocumentIndex
from loci.search.inference import Embedder
from loci.search.passages import embedded_text
from loci.search.ranking import Chunk, TagsAndDate

LOCK_SECONDS = 5.0
AT_ONCE = 2
"""Files that are read beside the calls that brought them, at a time."""
BATCH = 128
"""Passages that are embedded together."""
TIME_TO_KEEP = 0.2
"""The share of a call's time that is kept for writing."""


class FileIngest:
    """Brings one file after the other into the index. After a crash, the next try begins where none was finished."""

    def __init__(
        self,
        lake: Lake,
        versions: Versions,
        index: DocumentIndex,
        embedder: Embedder,
        reader: Callable[[], FileReader],
        work: ReadingWork,
        tell: Tell = untold,
    ) -> None:
        self._tell = tell
        self._work = work
        self._lake = lake
        self._versions = versions
        self._index = index
        self._embedder = embedder
        self._reader = reader
        self.stages = FileStages()

    def accept(
        self,
        owner: Owner,
        path: str,
        content: bytes | RemoteContent,
        lineage: JsonObject | None = None,
        *,
        is_alone: bool = False,
    ) -> tuple[StoredFile, bool]:
        """Keep the content, as the lake does. From then on nothing loses it; `run` reads it."""
        before = self._lake.held(owner, self._lake.id_at(owner, checked_path(path), is_alone=is_alone))
        if before is not None and before.is_removed:  # by a process that was killed before it had ended that
            self.forget(owner, before)
        return self._lake.add(owner, path, content, lineage, is_alone=is_alone)

    def run(self, owner: Owner, id: str, patience: float = LOCK_SECONDS) -> StoredFile:
        """Read the newest version of the file, if it is not read yet, or was read by an older reader.

        If somebody else is reading the file, it is returned as it is. Raises `Unavailable` if files cannot be read now:
        the file waits, and its reason says why.
        """
        with self._lake.reading_turn(owner, id, patience) as is_ours:
            try:
                file = self._lake.get(owner, id)
                # A version that comes while its predecessor is read is read next.
                while is_ours and (
                    file.newest.status in ("pending", "running") or (file.is_outdated and not file.current)
                ):
                    file = self._read(owner, file)
                if is_ours and file.is_outdated and file.current:
                    file = self._renew(owner, file, file.current)
            except NotFound:
                held = self._lake.held(owner, id)
                # It was removed while this process read it, or one that was killed.
                if is_ours and held is not None and held.is_removed:
                    self._remove(owner, held)
                raise
            return file

    def again(self, owner: Owner, id: str) -> StoredFile:
        """Read the newest version of the file once more."""
        self.reset(owner, id)
        return self.run(owner, id)

    def reset(self, owner: Owner, id: str) -> StoredFile:
        """Let the newest version of the file wait to be read, as one that just came."""
        return self._lake.change(
            owner, id, lambda one: replace(one, newest=replace(one.newest, status="pending", reason=None))
        )

    def embed(self, owner: Owner, id: str) -> StoredFile:
        """Give the passages of the file their vectors, if there is a model."""
        model = self._embedder.model()
        with self._lake.reading_turn(owner, id, LOCK_SECONDS) as is_ours:
            file = self._lake.get(owner, id)
            current = file.current
            if not is_ours or model is None or current is None or current.model == model.identity:
                return file
            chunks = self._chunks(owner, id, current)

            def put(some: list[Chunk]) -> None:
                self._index.put(owner, COLLECTION, id, some, _facts(file, current))

            def made(done: int, total: int) -> None:
                self.stages.enter(owner, id, FileStage(f"embedded {done:,} of {total:,} passages", done, total))

            try:
                put(self._embedded(owner, model.identity, chunks, put, made))
            finally:
                self.stages.enter(owner, id, None)
            embedded = replace(current, model=model.identity)
            return self._lake.change(owner, id, lambda one: one.read_as(embedded))

    def index_again(self, owner: Owner, id: str) -> None:
        """Write the passages of the file and of its older versions, from what was read out of them."""
        with self._lake.reading_turn(owner, id, LOCK_SECONDS) as is_ours:
            file = self._lake.get(owner, id)
            current = file.current
            if not is_ours or current is None:
                return
            chunks = self._versions.chunks(owner, file, current, id)
            self._index.put(owner, COLLECTION, id, chunks, _facts(file, current))
            for version in self._lake.history(owner, id):
                self._versions.retire(owner, file, version, _facts(file, version))
            if current.model and not all(one.embedding for one in chunks):
                without_model = partial(replace, model=None)
                self._lake.change(owner, id, lambda one: one.with_current(current.number, without_model))
        self.embed(owner, id)

    def _chunks(self, owner: Owner, id: str, version: FileVersion) -> list[Chunk]:
        """The passages of a version that was read, in order."""
        ids = [f"{id}#{number}" for number in range(version.chunks)]
        chunks = [*self._index.chunks(owner, COLLECTION, ids).values()]
        if len(chunks) < version.chunks:
            raise Unavailable("The file is not in the index", f"Run: loci files read {id}", code="NOT_INDEXED")
        return sorted(chunks, key=lambda one: int(one.id.rpartition("#")[2]))

    @freeing()
    def forget(self, owner: Owner, file: StoredFile) -> None:
        """Remove the file. Nobody sees it from the first write on; if the process ends then, the next start goes on."""
        if not file.is_removed:
            self._lake.change(owner, file.id, lambda one: replace(one, is_removed=True))
        with self._lake.reading_turn(owner, file.id, LOCK_SECONDS) as is_ours:
            if is_ours:  # whoever is reading it removes it at the end
                self._remove(owner, file)

    def _remove(self, owner: Owner, file: StoredFile) -> None:
        self._index.remove(owner, COLLECTION, file.id)
        self._versions.forget(owner, file)
        self._lake.remove(owner, file)

    def _renew(self, owner: Owner, file: StoredFile, current: FileVersion) -> StoredFile:
        """Read the version that searches find with the reader of today. It stays as it is if that fails."""
        self.stages.enter(owner, file.id, FileStage("reading"))
        try:
            renewed = self._cut_again(owner, file, current) or self._read_again(owner, file, current)
        except (Refused, NotFound):
            renewed = replace(current, reader=READER_VERSION)
        finally:
            self.stages.enter(owner, file.id, None)
        self._versions.cut_again(owner, file, partial(_facts, file))
        return self._lake.change(owner, file.id, lambda one: one.with_current(current.number, lambda _: renewed))

    def _cut_again(self, owner: Owner, file: StoredFile, current: FileVersion) -> FileVersion | None:
        """Cut what was read; None if an older reader has read it, or the reading is lost."""
        chunks = self._versions.chunks(owner, file, current, file.id) if current.reader >= READ_ALIKE else []
        if not chunks:
            return None
        held = self._index.chunks(owner, COLLECTION, [one.id for one in chunks])
        if len(chunks) != current.chunks or any(held.get(one.id) != one for one in chunks):
            self._index.put(owner, COLLECTION, file.id, chunks, _facts(file, current))
        model = current.model if all(one.embedding for one in chunks) else None
        return replace(current, reader=READER_VERSION, chunks=len(chunks), model=model)

    def _read_again(self, owner: Owner, file: StoredFile, current: FileVersion) -> FileVersion:
        read = self._cut(owner, file, current)
        held = self._index.embeddings(owner, current.model or "", [one.hash for one in read.chunks])
        chunks = [replace(one, embedding=held.get(one.hash)) for one in read.chunks]
        version = replace(read.version, model=current.model if all(one.embedding for one in chunks) else None)
        if current.summary_by != RULES:
            version = replace(version, summary=current.summary, summary_by=current.summary_by)
        return self._indexed(owner, file, replace(read, version=version, chunks=chunks))

    def _read(self, owner: Owner, file: StoredFile) -> StoredFile:
        """Read the newest version, and write how that went. The file is locked."""
        version = replace(file.newest, status="running", reason=None)
        self.stages.enter(owner, file.id, FileStage("reading"))
        try:
            file = self._lake.change(owner, file.id, lambda one: one.read_as(version))
            if file.newest.number != version.number:  # a newer one came, and the content of this one went
                return file
            self._tell(owner, "ingestion", _event_fields(file, version, "began"))
            try:
                read = self._outcome(owner, file, version)
                file = self._lake.change(owner, file.id, lambda one: one.read_as(read))
            except LociError as error:
                self._tell(owner, "ingestion", {**_event_fields(file, version, "failed"), "code": error.code})
                raise
            ended = _event_fields(file, read, "done" if read.status == "okay" else "failed")
            self._tell(owner, "ingestion", {**ended, "passages": read.chunks, "pages": read.pages})
            if read.status != "okay":
                self._drop_if_replaced(owner, file.id, version)
        finally:
            self.stages.enter(owner, file.id, None)
        self._versions.trim(owner, file)
        return file

    def _outcome(self, owner: Owner, file: StoredFile, version: FileVersion) -> FileVersion:
        try:
            return self._indexed(owner, file, self._cut(owner, file, version))
        except (Conflict, Unavailable) as error:
            waiting = replace(version, status="pending", reason=str(error))
            self._lake.change(owner, file.id, lambda one: one.read_as(waiting))
            self._drop_if_replaced(owner, file.id, version)
            raise
        except (Refused, NotFound) as error:
            return replace(version, status="error", reason=str(error), reader=READER_VERSION)

    def _drop_if_replaced(self, owner: Owner, id: str, version: FileVersion) -> None:
        """Remove the content of a version that was not read, if a newer one came meanwhile: nobody will read it."""
        with self._lake.turn(owner, id):
            file = self._lake.get(owner, id)
            if file.newest.number != version.number:
                self._lake.discard(owner, file, version)

    def _cut(self, owner: Owner, file: StoredFile, version: FileVersion) -> ReadVersion:
        """Read the version, and cut it into passages."""
        rules = CuttingRules(file.id, file.full_path, self._embedder.count, self._versions.longest())
        if has_text_name(file.name):
            content = self._lake.content(owner, file.id, version)
            # Where no other process does it, tables stay behind the wall: they may take long.
            if is_plain(file.name, content) or (self._work.workers and is_table(file.name, content)):
                return self._work.call(len(content), text_read, version, content, rules)

        def read(page: int, pages: int) -> None:
            self.stages.enter(owner, file.id, FileStage(f"read {page:,} of {pages:,} pages", page, pages))

        said = self._reader().read(owner, content_key(file.id, version.sha256), file.name, pages_read=read)
        return self._work.call(len(said), answer_read, version, said, rules)

    def _indexed(self, owner: Owner, file: StoredFile, read: ReadVersion) -> FileVersion:
        version = read.version
        self.stages.enter(owner, file.id, FileStage("indexing", version.pages or 0, version.pages))
        self._lake.keep_reading(owner, file.id, version, read.packed)
        if file.current is not None and file.current.number != version.number:
            self._versions.retire(owner, file, file.current, _facts(file, file.current))
        self._index.put(owner, COLLECTION, file.id, read.chunks, _facts(file, version))
        return version

    def _embedded(
        self,
        owner: Owner,
        model: str,
        chunks: list[Chunk],
        keep: Callable[[list[Chunk]], None],
        made_so_far: Callable[[int, int], None],
    ) -> list[Chunk]:
        """The passages with their vectors. If the time is nearly over, keep those there are: the next try goes on."""
        held = self._index.embeddings(owner, model, [one.hash for one in chunks])
        missing = {one.hash: one for one in chunks if one.hash not in held}
        waiting = [*missing.values()]
        for at in range(0, len(waiting), BATCH):
            made_so_far(at, len(waiting))
            if at and is_nearly_over(TIME_TO_KEEP):
                keep([replace(one, embedding=held.get(one.hash)) for one in chunks])
                raise out_of_time()
            some = waiting[at : at + BATCH]
            made = self._embedder.passages([embedded_text(one.heading, one.text) for one in some])
            held |= {one.hash: embedding for one, embedding in zip(some, made, strict=True)}
        return [replace(one, embedding=held.get(one.hash)) for one in chunks]


def _event_fields(file: StoredFile, version: FileVersion, state: str) -> JsonObject:
    what: JsonObject = {"what": "file", "id": file.id, "name": file.name, "version": version.number}
    return {**what, "state": state, "bytes": version.bytes}


def _facts(file: StoredFile, version: FileVersion) -> TagsAndDate:
    return TagsAndDate((f"type:{version.format}", f"kind:{file.kind}", f"file:{file.id}"), version.added_at[:10])


class LocalPaths:
    """Reads files below some folders, and no others."""

    def __init__(self, roots: Sequence[Path], largest: int) -> None:
        self._roots = roots
        self._largest = largest

    def read(self, path: str) -> tuple[str, bytes]:
        """The path below the allowed folder and the content of the file at this path."""
        root, below = self._place(path)
        try:
            with os.fdopen(open_file(str(root), below), "rb") as opened:
                held = os.fstat(opened.fileno())
                if not stat.S_ISREG(held.st_mode):
                    raise IsADirectoryError
                content = opened.read(self._largest + 1)
        except (FileNotFoundError, NotADirectoryError):
            raise NotFound(f"There is no {path!r} here", "Correct the path", code="NO_SUCH_PATH") from None
        except IsADirectoryError:
            raise Refused(f"{path} is not a file", "Name a file, not a folder", code="NO_FILE") from None
        except OSError as error:
            raise Refused(
                f"Cannot read {path} ({error.strerror})", "Correct its permissions", code="FILE_UNREADABLE"
            ) from None
        return Path(below).as_posix(), content

    def _place(self, path: str) -> tuple[Path, str]:
        """The folder that is allowed, and the path below it. It does not tell if anything is there."""
        try:
            real = Path(path).expanduser().resolve()
        except (OSError, RuntimeError, ValueError):  # RuntimeError: a loop of links, ValueError: a NUL
            raise Refused(f"{path[:200]!r} is not a path", "Correct the path", code="NO_SUCH_PATH") from None
        for root in (one.resolve() for one in self._roots):
            if real != root and real.is_relative_to(root):
                return root, str(real.relative_to(root))
        allowed = ", ".join(map(str, self._roots)) or "none yet"
        raise Refused(
            f"Loci may not read {path} (folders that it may read: {allowed})",
            "Send its text, run `loci add PATH`, or allow a folder above it in the setting file_roots",
            code="PATH_NOT_ALLOWED",
        )


class ReadingQueue:
    """A few files at once. A reader that is free goes to the owner who has the fewest, and among equals in turn.

    So no owner gets a second reader while another one waits. If the process ends, the next start goes on.
    """

    def __init__(self, ingest: FileIngest) -> None:
        self._ingest = ingest
        self._turn = threading.Lock()
        self._waiting: dict[Owner, deque[tuple[str, Future[StoredFile]]]] = {}
        """The waiting files by owner, in the order of their turns: nobody waits for all files of another owner."""
        self._reading = Counter[Owner]()
        """The number of readers that have a file of the owner now."""

    def begin(self, owner: Owner, id: str) -> Future[StoredFile]:
        """Read the file as soon as the owner's files before it are read. The future has the file then."""
        future: Future[StoredFile] = Future()
        with self._turn:
            self._waiting.setdefault(owner, deque()).append((id, future))
        self._start()
        return future

    def _start(self) -> None:
        """Begin with the next file, if there is one and a reader is free."""
        with self._turn:
            owner = min(self._waiting, key=self._reading.__getitem__, default=None)
            if owner is None or self._reading.total() == AT_ONCE:
                return
            files = self._waiting.pop(owner)
            id, future = files.popleft()
            if files:
                self._waiting[owner] = files
            self._reading[owner] += 1
        DAEMON_THREADS.start(lambda: self._read(owner, id, future))

    def _read(self, owner: Owner, id: str, future: Future[StoredFile]) -> None:
        try:
            future.set_result(self._ingest.run(owner, id))
        except LociError as error:
            future.set_exception(error)
        except BaseException as error:
            future.set_exception(error)
            raise
        finally:
            with self._turn:
                self._reading -= Counter([owner])
            self._start()
