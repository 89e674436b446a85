"""The documents whose files are gone, as an ingest of their folders would see them."""

import os
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field

from loci.documents.document import Document, Root
from loci.documents.ingest.folder_scan import PLAIN_SCAN
from loci.documents.ingest.local_files import file_of, is_below, missing_folders, missing_with_counts
from loci.documents.ingest.outcome import MissingFolder


@dataclass(frozen=True, slots=True)
class LostFiles:
    """The documents whose files are no longer there: they are gone, may have moved, or their folder is gone."""

    gone: frozenset[str] = frozenset()
    """The ids of documents whose files were deleted."""
    moved: Mapping[str, str] = field(default_factory=dict[str, str])
    """The folders of documents whose files may have another name now, by the documents' ids."""
    kept: frozenset[str] = frozenset()
    """The ids of documents of the missing folders."""
    missing: tuple[MissingFolder, ...] = ()

    @staticmethod
    def of(documents: Sequence[Document], roots: Mapping[str, Root]) -> "LostFiles":
        """Look at the folders of these documents."""
        by_file = {file_of(one.path, root): one for one in documents if (root := roots.get(one.root or ""))}
        if not by_file:
            return LostFiles()
        scans = [PLAIN_SCAN.contents(root.folder) for root in roots.values()]
        found = sorted({file for scan in scans for file in scan.files})
        unread = [folder.path for scan in scans for folder in scan.unread if os.path.lexists(folder.path)]
        missing = missing_folders([root.folder for root in roots.values()], found, unread)
        lost = {file: one for file, one in by_file.items() if not os.path.lexists(file) and not is_below(file, unread)}
        kept = {file for file in lost if is_below(file, missing)}
        sizes = _sizes(file for file in found if file not in by_file)
        moved = {one.id: roots[one.root or ""].folder for one in lost.values() if one.bytes in sizes}
        return LostFiles(
            frozenset(one.id for file, one in lost.items() if file not in kept and one.id not in moved),
            moved,
            frozenset(lost[file].id for file in kept),
            missing_with_counts(missing, [*kept]),
        )


def _sizes(files: Iterable[str]) -> set[int]:
    sizes: set[int] = set()
    for file in files:
        with suppress(OSError):  # it has just gone
            sizes.add(os.stat(file).st_size)  # noqa: PTH116 (many of them)
    return sizes
