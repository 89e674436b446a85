"""The place where a document's text is kept, a file or a blob: found by a name, read, and safely written."""

import os
import stat
from collections.abc import Generator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from loci.core.errors import Conflict, NotFound, Refused
from loci.core.identity import LOCAL, Owner
from loci.core.opening import FILE, FOLDER, open_folder
from loci.core.stores import BlobStore
from loci.documents.catalog import Catalog
from loci.documents.document import Root
from loci.documents.ingest import local_files
from loci.documents.ingest.local_files import blob_key, checked_path, file_of, path_of, root_of

OPEN_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


@dataclass(frozen=True, slots=True)
class WriteTarget:
    """A document that exists, or that may be created."""

    path: str
    """The path that people use."""
    root: Root | None
    """None: its text is a blob."""

    @property
    def place(self) -> str:
        """The file or path, for messages."""
        return file_of(self.path, self.root) if self.root else self.path


class WriteTargets:
    """Finds the document to write by its id, its path or the path of its file. Nothing outside the roots is one."""

    def __init__(self, catalog: Catalog, write_roots: Sequence[Path]) -> None:
        self._catalog = catalog
        self._write_roots = write_roots

    def find(self, owner: Owner, name: str) -> WriteTarget:
        """The target that the name means. `Refused` if nothing may be written there."""
        if not name.isprintable() or ".." in name.split("/"):
            raise Refused(f"{name[:200]!r} is not a document path", "Write it without ..", code="BAD_PATH")
        if document := self._catalog.document(owner, name):
            if document.root is None:
                return WriteTarget(document.path, None)
            root = self._catalog.root(owner, document.root)
            if root is None:
                advice = "Ingest it again with: loci ingest FOLDER"
                raise NotFound(f"Loci no longer knows the folder of {document.path}", advice, code="ROOT_NOT_FOUND")
            return self._in_root(root, local_files.below_root(document.path))
        if name.startswith(("/", "~")):
            return self._by_file(owner, name)
        return self._by_path(owner, name)

    def at(self, owner: Owner, path: str, root: str | None) -> WriteTarget | None:
        """The target of that path in the root of that id. None if the root no longer exists."""
        if root is None:
            return WriteTarget(path, None)
        known = self._catalog.root(owner, root)
        return known and WriteTarget(path, known)

    def _by_path(self, owner: Owner, name: str) -> WriteTarget:
        """By a path that begins with the name of a root, or by the path of a blob."""
        path = checked_path(name)
        first, _, below = path.partition("/")
        roots = self._catalog.roots(owner)
        for root in roots.values():
            if below and root.name == first:
                return self._in_root(root, below)
        if self._catalog.find(owner, path).document:
            return WriteTarget(path, None)
        write_roots = self._write_roots_of(owner)
        for folder in write_roots:
            if below and folder.name == first:
                return self._in_root(self._catalog.make_root(owner, str(folder), first), below)
        if not roots and not write_roots:
            return WriteTarget(path, None)
        names = sorted({root.name for root in roots.values()} | {folder.name for folder in write_roots})
        raise Refused(
            f"There is no folder {first!r} to write to",
            f"Begin the path with one of {', '.join(names)}, as in {names[0]}/{Path(path).name}",
            code="OUTSIDE_ROOT",
        )

    def _in_root(self, root: Root, below: str) -> WriteTarget:
        file = _resolved(f"{root.folder.rstrip('/')}/{below}")
        if not file.is_relative_to(root.folder):
            raise _outside(f"{root.name}/{below}", [root.folder])
        return _checked(str(file), root)

    def _by_file(self, owner: Owner, name: str) -> WriteTarget:
        by_folder = {root.folder: root for root in self._catalog.roots(owner).values()}
        write_roots = self._write_roots_of(owner)
        if not by_folder and not write_roots:
            raise Refused(
                f"{name} is not in a folder that Loci may write to",
                "Give a path such as briefs/auth.md: Loci then keeps the document itself",
                code="OUTSIDE_ROOT",
            )
        file = _resolved(name)
        if root := root_of(str(file.parent), by_folder):
            return _checked(str(file), root)
        for folder in write_roots:
            if file.is_relative_to(folder):
                return _checked(str(file), self._catalog.make_root(owner, str(folder), folder.name or "files"))
        raise _outside(name, [*by_folder, *map(str, write_roots)])

    def _write_roots_of(self, owner: Owner) -> list[Path]:
        """The folders of the setting `write_roots`. They belong to the operator, so other owners have none."""
        return [_resolved(str(folder)) for folder in self._write_roots] if owner == LOCAL else []


@dataclass(frozen=True, slots=True)
class FileText:
    """A text in a file. At any moment the file has its old text or its new one, and no link leads a write elsewhere."""

    root: Root
    path: str
    scratch: str
    """The name of the file beside it that a write makes first. A crash may leave it there."""

    def read(self) -> bytes | None:
        """The text. None if there is no file."""
        try:
            return local_files.read_file(self.root.folder, local_files.below_root(self.path))
        except NotFound:
            return None

    def write(self, content: bytes, before: bytes | None) -> None:
        """Replace `before` (None: no file) by the content. `Conflict` if the file says something else by now."""
        with self._with_reason(), self._opened(make=True) as (folder, name):
            mode = None if before is None else _mode(name, folder)
            try:
                with os.fdopen(os.open(self.scratch, OPEN_NEW, 0o666, dir_fd=folder), "wb") as file:
                    file.write(content)
                    if mode is not None:
                        os.fchmod(file.fileno(), mode)
                    file.flush()
                    os.fsync(file.fileno())
                self._expect(name, folder, before)  # as late as possible: editors take no locks
                if before is None:
                    self._create(name, folder)
                else:
                    os.rename(self.scratch, name, src_dir_fd=folder, dst_dir_fd=folder)
            finally:
                _remove_if_there(self.scratch, folder)
            os.fsync(folder)

    def remove(self, before: bytes) -> None:
        """Remove the file. `Conflict` if it says something else than `before`."""
        with self._with_reason(), self._opened(make=False) as (folder, name):
            self._expect(name, folder, before)
            os.unlink(name, dir_fd=folder)
            os.fsync(folder)

    def clear(self) -> None:
        """Remove the scratch file that a crash may have left."""
        with suppress(OSError), self._opened(make=False) as (folder, _):
            _remove_if_there(self.scratch, folder)

    @contextmanager
    def _opened(self, *, make: bool) -> Generator[tuple[int, str]]:
        """The file's folder, opened part by part so that no link leads elsewhere, and the file's name."""
        *above, name = local_files.below_root(self.path).split("/")
        folder = open_folder(self.root.folder)
        try:
            for part in above:
                if make:
                    with suppress(FileExistsError):
                        os.mkdir(part, dir_fd=folder)
                below = os.open(part, FOLDER, dir_fd=folder)
                os.close(folder)
                folder = below
            yield folder, name
        finally:
            os.close(folder)

    def _expect(self, name: str, folder: int, before: bytes | None) -> None:
        try:
            with os.fdopen(os.open(name, FILE, dir_fd=folder), "rb") as file:
                now = file.read() if stat.S_ISREG(os.fstat(file.fileno()).st_mode) else b""
        except FileNotFoundError:
            now = None
        if now != before:
            raise _changed(self.path)

    def _create(self, name: str, folder: int) -> None:
        try:
            os.link(self.scratch, name, src_dir_fd=folder, dst_dir_fd=folder)
        except FileExistsError:
            raise _changed(self.path) from None
        except OSError:  # this file system has no links
            os.rename(self.scratch, name, src_dir_fd=folder, dst_dir_fd=folder)

    @contextmanager
    def _with_reason(self) -> Generator[None]:
        """Turn an error of the file system into one that names the file and the reason."""
        try:
            yield
        except OSError as error:
            if isinstance(error, FileNotFoundError) and os.path.isdir(self.root.folder):  # noqa: PTH112
                raise _changed(self.path) from None
            raise Refused(
                f"{self.root.folder}/{local_files.below_root(self.path)} cannot be written ({error.strerror})",
                "Correct its permissions, or choose another path",
                code="FILE_UNWRITABLE",
            ) from error


@dataclass(frozen=True, slots=True)
class BlobText:
    """A text that Loci keeps itself. The writer has the lock, so no other writer comes between."""

    blobs: BlobStore
    owner: Owner
    id: str
    path: str

    def read(self) -> bytes | None:
        """The text. None if there is none."""
        try:
            return self.blobs.read(self.owner, blob_key(self.id))
        except NotFound:
            return None

    def write(self, content: bytes, before: bytes | None) -> None:
        """As in `FileText`."""
        self._expect(before)
        self.blobs.write(self.owner, blob_key(self.id), content)

    def remove(self, before: bytes) -> None:
        """As in `FileText`."""
        self._expect(before)
        self.blobs.remove(self.owner, blob_key(self.id))

    def clear(self) -> None:
        """Do nothing: a blob is written whole, so a crash leaves nothing beside it."""

    def _expect(self, before: bytes | None) -> None:
        if self.read() != before:
            raise _changed(self.path)


StoredText = FileText | BlobText


def _mode(name: str, folder: int) -> int:
    found = os.stat(name, dir_fd=folder, follow_symlinks=False)
    if not os.access(name, os.W_OK, dir_fd=folder):
        raise PermissionError(0, "it is write-protected")
    return stat.S_IMODE(found.st_mode)


def _remove_if_there(name: str, folder: int) -> None:
    with suppress(FileNotFoundError):
        os.unlink(name, dir_fd=folder)


def _changed(path: str) -> Conflict:
    return Conflict(f"{path} was changed while it was written", "Read it again, then decide")


def _outside(name: str, folders: Sequence[str]) -> Refused:
    advice = f"Choose a path below {', '.join(sorted(folders))}"
    more = "`loci ingest FOLDER` or the setting write_roots adds other folders"
    return Refused(f"{name} is not in a folder that Loci may write to", f"{advice}; {more}", code="OUTSIDE_ROOT")


def _resolved(path: str) -> Path:
    """The path with all links followed, as far as it exists."""
    try:
        return Path(path).expanduser().resolve()
    except (OSError, RuntimeError):  # links in a circle, or the home folder of an unknown user
        raise Refused(f"{path!r} is not a document path", "Correct the path", code="BAD_PATH") from None


def _checked(file: str, root: Root) -> WriteTarget:
    """The target. `Refused` if an ingestion would skip the file."""
    path = path_of(file, root)
    parts = local_files.below_root(path).split("/")
    if any(
        part.startswith(".") or part in local_files.SKIPPED_FOLDERS for part in parts
    ) or not local_files.is_document(file):
        raise Refused(
            f"{file} is not a document",
            f"The names of documents end in {', '.join(sorted(local_files.SUFFIXES))}, and are not hidden",
            code="NOT_A_DOCUMENT",
        )
    return WriteTarget(path, root)
