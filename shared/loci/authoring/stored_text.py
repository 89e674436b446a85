"""The place where a document's text is kept, a file or a blob: read, and safely written."""

import os
import stat
from collections.abc import Generator
from contextlib import contextmanager, suppress
from dataclasses import dataclass

from loci.core.atomic_write import FILE, FOLDER, open_folder
from loci.core.errors import Conflict, NotFound, Refused
from loci.core.full_disk import disk_error
from loci.core.identity import Owner
from loci.core.ids import content_id, random_id
from loci.core.stores import BlobStore
from loci.documents.document import Root
from loci.documents.ingest import local_files
from loci.documents.ingest.local_files import blob_key

OPEN_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


@dataclass(frozen=True, slots=True)
class FileStamp:
    """The permissions of a file, and the time of its last change."""

    mode: int | None
    """None: the permissions that the file has, or gets by default."""
    changed_ns: int


@dataclass(frozen=True, slots=True)
class FileText:
    """A text in a file. At any moment the file has its old text or its new one, and no link leads a write elsewhere."""

    root: Root
    path: str

    @property
    def file(self) -> str:
        return local_files.file_of(self.path, self.root)

    def read(self) -> bytes | None:
        """The text; None if there is no file."""
        try:
            return local_files.read_file(self.root.folder, local_files.below_root(self.path))
        except NotFound:
            return None

    def stamp(self) -> FileStamp | None:
        """The stamp that the file is to keep through a move. `Refused` if it is write-protected."""
        with self._opened() as (folder, name):
            return _stamp(name, folder)

    def write(self, content: bytes, before: bytes | None, stamp: FileStamp | None = None) -> None:
        """Replace `before` (None: no file) by the content. `Conflict` if the file has other content by now."""
        with self._opened(make=True) as (folder, name):
            kept = stamp if before is None else _stamp(name, folder)
            scratch = f"{self._scratch()}{random_id()}.tmp"
            try:
                with os.fdopen(os.open(scratch, OPEN_NEW, 0o666, dir_fd=folder), "wb") as file:
                    file.write(content)
                    if kept and kept.mode is not None:
                        os.fchmod(file.fileno(), kept.mode)
                    file.flush()
                    if stamp:
                        os.utime(file.fileno(), ns=(stamp.changed_ns, stamp.changed_ns))
                    os.fsync(file.fileno())
                self._expect(name, folder, before)  # as late as possible: editors take no locks
                try:
                    if before is None:
                        os.link(scratch, name, src_dir_fd=folder, dst_dir_fd=folder)
                    else:
                        os.rename(scratch, name, src_dir_fd=folder, dst_dir_fd=folder)
                except FileExistsError:
                    raise _changed(self.path) from None
                except OSError:
                    if before is not None:
                        raise
                    os.rename(scratch, name, src_dir_fd=folder, dst_dir_fd=folder)  # this file system has no links
            finally:
                with suppress(FileNotFoundError):
                    os.unlink(scratch, dir_fd=folder)
            os.fsync(folder)

    def remove(self, before: bytes) -> None:
        """Remove the file. `Conflict` if it has other content than `before`."""
        with self._opened() as (folder, name):
            _stamp(name, folder)
            self._expect(name, folder, before)
            os.unlink(name, dir_fd=folder)
            os.fsync(folder)

    def clear(self) -> None:
        """Remove the temp files that killed writes of this text left. The caller holds its write lock."""
        with suppress(Refused), self._opened() as (folder, _):
            for name in os.listdir(folder):  # noqa: PTH208 (an opened folder)
                if name.startswith(self._scratch()):
                    os.unlink(name, dir_fd=folder)

    def _scratch(self) -> str:
        """The beginning of the names of its temp files."""
        return f".loci-{content_id(self.path, length=16)}"

    @contextmanager
    def _opened(self, *, make: bool = False) -> Generator[tuple[int, str]]:
        """The file's folder, opened part by part so that no link leads elsewhere, and the file's name.

        An error of the file system becomes one that names the file and the reason.
        """
        *above, name = local_files.below_root(self.path).split("/")
        folder: int | None = None
        try:
            folder = open_folder(self.root.folder)
            for part in above:
                if make:
                    with suppress(FileExistsError):
                        os.mkdir(part, dir_fd=folder)
                below = os.open(part, FOLDER, dir_fd=folder)
                os.close(folder)
                folder = below
            yield folder, name
        except OSError as error:
            if isinstance(error, FileNotFoundError) and os.path.isdir(self.root.folder):  # noqa: PTH112
                raise _changed(self.path) from None
            if told := disk_error(error, self.file):
                raise Refused(told.what, told.resolution, code=told.code) from error  # nothing was written
            advice = "Correct its permissions, or choose another path"
            what = f"{self.file} cannot be written ({error.strerror})"
            raise Refused(what, advice, code="FILE_UNWRITABLE") from error
        finally:
            if folder is not None:
                os.close(folder)

    def _expect(self, name: str, folder: int, before: bytes | None) -> None:
        try:
            with os.fdopen(os.open(name, FILE, dir_fd=folder), "rb") as file:
                now = file.read() if stat.S_ISREG(os.fstat(file.fileno()).st_mode) else b""
        except FileNotFoundError:
            now = None
        if now != before:
            raise _changed(self.path)


@dataclass(frozen=True, slots=True)
class BlobText:
    """A text that Loci keeps itself. The writer has the lock, so no other writer comes between."""

    blobs: BlobStore
    owner: Owner
    id: str
    path: str

    def read(self) -> bytes | None:
        """The text; None if it does not exist."""
        try:
            return self.blobs.read(self.owner, blob_key(self.id))
        except NotFound:
            return None

    def stamp(self) -> FileStamp | None:
        """The stamp of the file, or None: the text is in no file."""
        return None

    def write(self, content: bytes, before: bytes | None, stamp: FileStamp | None = None) -> None:
        """See `FileText`."""
        del stamp
        self._expect(before)
        self.blobs.write(self.owner, blob_key(self.id), content)

    def remove(self, before: bytes) -> None:
        """See `FileText`."""
        self._expect(before)
        self.blobs.remove(self.owner, blob_key(self.id))

    def clear(self) -> None:
        """Do nothing: a blob is written whole, so a crash leaves nothing beside it."""

    def _expect(self, before: bytes | None) -> None:
        if self.read() != before:
            raise _changed(self.path)


StoredText = FileText | BlobText


def _stamp(name: str, folder: int) -> FileStamp:
    """The stamp of a file that may be written."""
    found = os.stat(name, dir_fd=folder, follow_symlinks=False)
    if not os.access(name, os.W_OK, dir_fd=folder):
        raise PermissionError(0, "it is write-protected")
    return FileStamp(stat.S_IMODE(found.st_mode), found.st_mtime_ns)


def _changed(path: str) -> Conflict:
    return Conflict(f"{path} was changed while it was written", "Read it again, then decide")
