"""Folders in which nothing is left of what is known from them: a disk that is not mounted looks like this."""

from bisect import bisect_left
from collections.abc import Iterable, Sequence

from loci.documents.document import KeptDocument
from loci.documents.ingest.roots import is_below


def lost_among(folders: Iterable[str], files: Sequence[str], unread: Sequence[str]) -> list[str]:
    """Those below which none of the files lies, without those that lie in one of these. The files are sorted.

    What lies in a folder that could not be read is not among them: nobody knows what is there.
    """
    lost: list[str] = []
    for folder in sorted(set(folders)):
        if not is_below(folder, [*lost, *unread]) and not _holds(folder, files):
            lost.append(folder)
    return lost


def kept_in(lost: Sequence[str], known: Sequence[str]) -> tuple[KeptDocument, ...]:
    """How many of the known files each of them had; those that had none are left out."""
    counts = {folder: sum(is_below(file, [folder]) for file in known) for folder in lost}
    return tuple(KeptDocument(folder, count) for folder, count in counts.items() if count)


def _holds(folder: str, files: Sequence[str]) -> bool:
    begins = f"{folder.rstrip('/')}/"
    at = bisect_left(files, begins)
    return at < len(files) and files[at].startswith(begins)
