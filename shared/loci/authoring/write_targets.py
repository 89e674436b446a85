"""Finds the document that a tool may write, by its id, its path or the path of its file."""

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from loci.core.errors import Refused
from loci.core.identity import LOCAL, Owner
from loci.documents.catalog import Catalog
from loci.documents.document import Root
from loci.documents.ingest import local_files
from loci.documents.ingest.folder_scan import PLAIN_SCAN, FolderScan
from loci.documents.ingest.local_files import checked_path, file_of, path_of, root_of
from loci.documents.vacant_paths import Deletions

LONGEST_NAME = 255
"""Bytes: the most of a file's name on nearly all disks."""


@dataclass(frozen=True, slots=True)
class WriteTarget:
    """A document that exists, or that may be created."""

    path: str
    """The path that people use."""
    root: Root | None
    """The root of its file; None if its text is a blob."""

    @property
    def place(self) -> str:
        """The file or path, for messages."""
        return file_of(self.path, self.root) if self.root else self.path


@dataclass(frozen=True, slots=True)
class WriteTargets:
    """Finds the document to write by its id, its path or the path of its file. Nothing outside the roots is one."""

    catalog: Catalog
    write_roots: Sequence[Path]
    scan: FolderScan = PLAIN_SCAN
    read_only: str = ""
    """The folder whose documents only Loci writes: sessions with coding agents."""
    check_writable: Callable[[Owner, str], None] = lambda _, __: None
    """Raises `Refused` for a name of no document of the owner that stands for one of somebody else."""

    def find(self, owner: Owner, name: str) -> WriteTarget:
        """The target that the name means. `Refused` if nothing may be written there."""
        if not name.isprintable() or ".." in name.split("/"):
            raise Refused(f"{name[:200]!r} is not a document path", "Write it without ..", code="BAD_PATH")
        if document := self.catalog.document(owner, name):
            if document.root is None:
                return WriteTarget(document.path, None)
            root = self.catalog.root_of(owner, document)
            return self._in_root(root, local_files.below_root(document.path))
        self.check_writable(owner, name)
        _require_short(name)
        if name.startswith(("/", "~")):
            return self._by_file(owner, name)
        return self._by_path(owner, name)

    def find_itself(self, owner: Owner, name: str) -> WriteTarget:
        """The target that the name means. `Refused` if a symbolic link has the name."""
        target = self.find(owner, name)
        if target.root:
            document = self.catalog.document(owner, name)
            path = document.path if document else name
            file = os.path.expanduser(name) if name.startswith(("/", "~")) else file_of(path, target.root)  # noqa: PTH111
            if os.path.islink(file):  # noqa: PTH114 (`is_symlink` raises an error for a path that is too long)
                raise Refused(f"{file} is a link", f"Name the file that it leads to: {target.place}", code="IS_A_LINK")
        return target

    def at(self, owner: Owner, path: str, root: str | None) -> WriteTarget | None:
        """The target of that path in the root of that id. None if the root no longer exists."""
        if root is None:
            return WriteTarget(path, None)
        known = self.catalog.root(owner, root)
        return known and WriteTarget(path, known)

    def _by_path(self, owner: Owner, name: str) -> WriteTarget:
        """Find it by a path that begins with the name of a root, or by the path of a blob."""
        path = checked_path(name)
        first, _, below = path.partition("/")
        roots = self.catalog.roots(owner)
        for root in roots.values():
            if below and root.name == first:
                return self._in_root(root, below)
        roots = {id: one for id, one in roots.items() if one.folder != self.read_only}
        if self.catalog.find(owner, path).document or Deletions(self.catalog.records).find(owner, path):
            return WriteTarget(path, None)
        if refused := self.catalog.refused.find(owner, path):
            raise refused
        write_roots = self._write_roots_of(owner)
        for folder in write_roots:
            if below and folder.name == first:
                return self._in_root(self.catalog.make_root(owner, str(folder), first), below)
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
        return self._checked(str(file), root)

    def _by_file(self, owner: Owner, name: str) -> WriteTarget:
        by_folder = {root.folder: root for root in self.catalog.roots(owner).values()}
        write_roots = self._write_roots_of(owner)
        if not by_folder.keys() - {self.read_only} and not write_roots:
            raise Refused(
                f"{name} is not in a folder that Loci may write to",
                "Give a path such as briefs/auth.md: Loci then keeps the document itself",
                code="OUTSIDE_ROOT",
            )
        file = _resolved(name)
        if root := root_of(str(file.parent), by_folder):
            return self._checked(str(file), root)
        for folder in write_roots:
            if file.is_relative_to(folder):
                root = self.catalog.make_root(owner, str(folder), folder.name or "files")
                return self._checked(str(file), root)
        raise _outside(name, [*by_folder, *map(str, write_roots)])

    def _checked(self, file: str, root: Root) -> WriteTarget:
        """The target. `Refused` if an ingestion would skip the file, or if only Loci writes there."""
        if root.folder == self.read_only:
            what, advice = (
                f"{file} is the record of a session",
                "Write another document; `loci forget` removes this one",
            )
            raise Refused(what, advice, code="READ_ONLY")
        if self.scan.leaves_out(root.folder, file) or not local_files.is_document(file):
            ignored = ", nor named by exclude or .gitignore" if self.scan.exclude or self.scan.with_gitignore else ""
            raise Refused(
                f"{file} is not a document",
                f"The names of documents end in {', '.join(sorted(local_files.SUFFIXES))}, and are not hidden{ignored}",
                code="NOT_A_DOCUMENT",
            )
        return WriteTarget(path_of(file, root), root)

    def _write_roots_of(self, owner: Owner) -> list[Path]:
        """The folders of the setting `write_roots`. They belong to the operator, so other owners have none."""
        return [_resolved(str(folder)) for folder in self.write_roots] if owner == LOCAL else []


def _require_short(path: str) -> None:
    for part in path.split("/"):
        if (size := len(part.encode("utf-8", "replace"))) > LONGEST_NAME:
            raise Refused(
                f"The name {part[:60]}… has {size:,} bytes, and may have {LONGEST_NAME}",
                "Shorten it: letters other than a to z take 2 to 4 bytes each",
                code="NAME_TOO_LONG",
            )


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
