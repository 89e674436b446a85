"""Where a name leads that somebody wants to write to: a file below a root, or a text that is kept here."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from loci.core.errors import NotFound, Refused
from loci.core.identity import LOCAL, Owner
from loci.documents.catalog import Catalog
from loci.documents.document import Root
from loci.documents.ingest.local_files import SKIPPED_FOLDERS, SUFFIXES, is_document
from loci.documents.ingest.roots import below_root, file_of, path_of, root_of
from loci.documents.library import checked_path


@dataclass(frozen=True, slots=True)
class Target:
    """A document that is there, or may be made."""

    path: str
    """As people know it."""
    root: Root | None
    """None: its text is kept in the blob store."""

    @property
    def place(self) -> str:
        """The file, or what stands for it."""
        return file_of(self.path, self.root) if self.root else self.path


class Targets:
    """Finds documents by their id, their path, or the path of their file; nothing outside the roots is one."""

    def __init__(self, catalog: Catalog, write_roots: Sequence[Path]) -> None:
        self._catalog = catalog
        self._write_roots = write_roots

    def find(self, owner: Owner, name: str) -> Target:
        """What the name leads to; `Refused` where that may not be written."""
        if not name.isprintable() or ".." in name.split("/"):
            raise Refused(f"{name[:200]!r} is no path of a document", "Name it without ..", code="BAD_PATH")
        if document := self._catalog.document(owner, name):
            if document.root is None:
                return Target(document.path, None)
            root = self._catalog.root(owner, document.root)
            if root is None:
                advice = "Take it in again with: loci ingest FOLDER"
                raise NotFound(f"The folder of {document.path} is not known any more", advice, code="ROOT_NOT_FOUND")
            return self._in(root, below_root(document.path))
        if name.startswith(("/", "~")):
            return self._file(owner, name)
        return self._known(owner, name)

    def at(self, owner: Owner, path: str, root: str | None) -> Target | None:
        """What had that path in the root of that id; None where the root is not known any more."""
        if root is None:
            return Target(path, None)
        known = self._catalog.root(owner, root)
        return known and Target(path, known)

    def _known(self, owner: Owner, name: str) -> Target:
        """By a path whose first part is the name of a root, or of a text that is kept here."""
        path = checked_path(name)
        first, _, below = path.partition("/")
        roots = self._catalog.roots(owner)
        for root in roots.values():
            if below and root.name == first:
                return self._in(root, below)
        if self._catalog.find(owner, path).document:
            return Target(path, None)
        own = self._own(owner)
        for folder in own:
            if below and folder.name == first:
                return self._in(self._catalog.make_root(owner, str(folder), first), below)
        if not roots and not own:
            return Target(path, None)
        names = sorted({root.name for root in roots.values()} | {folder.name for folder in own})
        raise Refused(
            f"There is no folder {first!r} to write to",
            f"Begin the path with one of {', '.join(names)}, as in {names[0]}/{Path(path).name}",
            code="OUTSIDE_ROOT",
        )

    def _in(self, root: Root, below: str) -> Target:
        file = _real(f"{root.folder.rstrip('/')}/{below}")
        if not file.is_relative_to(root.folder):
            raise self._outside(f"{root.name}/{below}", [root.folder])
        return _checked(str(file), root)

    def _file(self, owner: Owner, name: str) -> Target:
        by_folder = {root.folder: root for root in self._catalog.roots(owner).values()}
        own = self._own(owner)
        if not by_folder and not own:
            raise Refused(
                f"{name} lies in no folder that Loci may write to",
                "Give a path such as briefs/auth.md: Loci keeps the document itself",
                code="OUTSIDE_ROOT",
            )
        file = _real(name)
        if root := root_of(str(file.parent), by_folder):
            return _checked(str(file), root)
        for folder in own:
            if file.is_relative_to(folder):
                return _checked(str(file), self._catalog.make_root(owner, str(folder), folder.name or "files"))
        raise self._outside(name, [*by_folder, *map(str, own)])

    def _own(self, owner: Owner) -> list[Path]:
        """The folders of the setting: the operator's, so only the person at this machine has them."""
        return [_real(str(folder)) for folder in self._write_roots] if owner == LOCAL else []

    def _outside(self, name: str, folders: Sequence[str]) -> Refused:
        known = f"Choose a path below {', '.join(sorted(folders))}"
        advice = f"{known}; others are added by `loci ingest FOLDER`, or by the setting write_roots"
        return Refused(f"{name} lies in no folder that Loci may write to", advice, code="OUTSIDE_ROOT")


def _real(path: str) -> Path:
    """The path with all links followed, as far as there is something."""
    try:
        return Path(path).expanduser().resolve()
    except (OSError, RuntimeError):  # links that go round, a home that nobody knows
        raise Refused(f"{path!r} is no path of a document", "Correct the path", code="BAD_PATH") from None


def _checked(file: str, root: Root) -> Target:
    """The target; `Refused` where an ingestion would not take it in."""
    path = path_of(file, root)
    parts = below_root(path).split("/")
    if any(part.startswith(".") or part in SKIPPED_FOLDERS for part in parts) or not is_document(file):
        raise Refused(
            f"{file} is no document",
            f"Documents end in {', '.join(sorted(SUFFIXES))}, and are not hidden",
            code="NOT_A_DOCUMENT",
        )
    return Target(path, root)
