"""Folders and files into the library: what is new, changed or gone since the last time."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import count, filterfalse

from loci.core.errors import Refused
from loci.core.identity import Owner
from loci.documents.catalog import Catalog
from loci.documents.document import Document, Root, Summary
from loci.documents.ingest.existing_documents import LookedUp, ReadBefore
from loci.documents.ingest.folder_scan import SUFFIXES, FoundFile, scan
from loci.documents.ingest.index_writer import IndexWriter, Progress, silent
from loci.documents.ingest.ingest_run import IngestRun, Source
from loci.documents.ingest.missing_folders import kept_in, lost_among
from loci.documents.ingest.read_file import is_file, is_utf8
from loci.documents.ingest.roots import RootLocation, file_of, is_below, path_of, place, root_of

Known = Mapping[str, tuple[Document, str]]
"""Documents with their versions, by path."""


class Ingest:
    """Takes documents in. Killed at any moment, the next time completes it; others may read and write meanwhile."""

    def __init__(self, catalog: Catalog, writer: IndexWriter) -> None:
        self._catalog = catalog
        self._writer = writer

    def run(self, owner: Owner, paths: Sequence[str], progress: Progress = silent) -> Summary:
        """Bring the library up to what these folders and files are now. What lies elsewhere is not touched.

        Of a folder that was taken in by itself, or is named, all is kept while nothing is left in it.
        """
        places = [place(path) for path in paths]
        # Before the look at the folders: what is written meanwhile is not among what may be gone.
        known = {document.path: (document, version) for document, version in self._catalog.versions(owner)}
        found = _found(places)
        if not found.files and not found.unread:
            raise _nothing(places, len(list(_below(places, self._catalog.roots(owner), known))))
        roots = self._roots(owner, places)
        by_folder = {root.folder: root for root in roots.values()}
        sources = [Source(path_of(file, root), root) for file in found.files for root in root_of(file, by_folder)]
        seen = {source.path for source in sources}
        unread = [folder.path for folder in found.unread]
        here = list(_below(places, roots, known))
        named = [one.path for one in places if one.is_folder]
        lost = lost_among([*named, *_inside(named, by_folder)], found.files, unread)
        gone = [
            document for document, file in here if document.path not in seen and not is_below(file, [*unread, *lost])
        ]
        done = count(1)

        def told(path: str) -> None:
            progress(next(done), len(sources), path)

        run = IngestRun(owner, self._catalog, self._writer, ReadBefore(known), _by_hash(gone), told)
        for source in sources:
            run.take(source)
        run.flush()
        for folder in found.unread:
            run.fail(folder.path, folder.reason)
        # Last, so that what was moved finds its embeddings where it was.
        for document in gone:
            run.remove(document)
        self._catalog.remove_empty_roots(owner)
        return run.summary(found.skipped, kept_in(lost, [file for _, file in here]))

    def touch(self, owner: Owner, folder: RootLocation, files: Sequence[str], gone: Sequence[str]) -> Summary:
        """Take in these files of the folder, and take out what is gone of it. No other one is looked at."""
        by_folder = {root.folder: root for root in self._roots(owner, [folder]).values()}
        known = LookedUp(self._catalog, owner)
        inside = [one for one in _inside([folder.path], by_folder) if any(is_below(file, [one]) for file in gone)]
        away = lost_among(inside, sorted(file for one in inside for file in scan(one).files), ())
        # Looked at once more: what comes and goes was there, or gone, only a moment ago.
        lost = {
            file: document
            for file in filterfalse(is_file, gone)
            if not is_below(file, away)
            for root in root_of(file, by_folder)
            if is_utf8(file) and (document := known.at(path_of(file, root))[0]) and document.root == root.id
        }
        run = IngestRun(owner, self._catalog, self._writer, known, _by_hash([*lost.values()]), lambda _: None)
        for file in filter(is_file, files):
            for root in root_of(file, by_folder):
                run.take(Source(path_of(file, root), root))
        run.flush()
        for file in filterfalse(is_file, lost):
            run.remove(lost[file])
        return run.summary((), kept_in(away, gone))

    def _roots(self, owner: Owner, places: Sequence[RootLocation]) -> dict[str, Root]:
        """All roots; new ones where a place lies in none."""
        for one in places:
            roots = self._catalog.roots(owner)
            if not root_of(one.folder, {root.folder: root for root in roots.values()}):
                self._catalog.make_root(owner, one.folder, one.name)
        return self._catalog.roots(owner)


def _found(places: Sequence[RootLocation]) -> FoundFile:
    """What is in all of them, each file once."""
    parts = [scan(one.path) if one.is_folder else FoundFile((one.path,)) for one in places]
    return FoundFile(
        files=tuple(sorted({file for part in parts for file in part.files})),
        skipped=tuple(dict.fromkeys(one for part in parts for one in part.skipped)),
        unread=tuple(dict.fromkeys(one for part in parts for one in part.unread)),
    )


def _below(places: Sequence[RootLocation], roots: Mapping[str, Root], known: Known) -> Iterator[tuple[Document, str]]:
    """The documents that lie in these places, or did, and where."""
    for document, _ in known.values():
        root = roots.get(document.root or "")
        if root is not None:
            file = file_of(document.path, root)
            if is_below(file, [one.path for one in places]):
                yield document, file


def _inside(folders: Sequence[str], by_folder: Mapping[str, Root]) -> list[str]:
    """The roots' folders that lie in these, and are none of them."""
    return [one for one in by_folder if one not in folders and is_below(one, folders)]


def _by_hash(gone: Sequence[Document]) -> dict[str, Document]:
    return {document.sha256: document for document in gone if document.sha256}


def _nothing(places: Sequence[RootLocation], known: int) -> Refused:
    where = ", ".join(one.path for one in places)
    if known:  # a disk that is not mounted looks like this
        return Refused(
            f"{where} holds no document any more, and {known} are known from there",
            "If they are gone for good, take them out with: loci forget PATH",
            code="NOTHING_LEFT",
        )
    return Refused(
        f"There is nothing to ingest in {where}",
        f"Documents end in {', '.join(sorted(SUFFIXES))}; hidden ones are left out",
        code="NOTHING_TO_INGEST",
    )
