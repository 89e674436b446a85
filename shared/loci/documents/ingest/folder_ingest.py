"""Bring the library up to date with folders and files on this machine."""

from collections.abc import Callable, Collection, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import filterfalse
from pathlib import PurePath
from typing import Final

from loci.core.errors import LociError, Refused
from loci.core.events import Tell, untold
from loci.core.identity import Owner
from loci.core.json import JsonObject
from loci.documents.catalog import Catalog
from loci.documents.document import Document, Root
from loci.documents.ingest.folder_scan import PLAIN_SCAN, FolderContents, FolderScan
from loci.documents.ingest.index_writer import IndexWriter, Progress, no_progress
from loci.documents.ingest.ingest_run import IngestRun, SourceFile
from loci.documents.ingest.ingested_folders import IngestedFolders
from loci.documents.ingest.local_files import (
    SUFFIXES,
    LocalPath,
    file_of,
    is_below,
    is_regular_file,
    is_utf8,
    local_path,
    missing_folders,
    missing_with_counts,
    path_of,
    root_of,
)
from loci.documents.ingest.outcome import IngestSummary, LeftOut

MOST_TOLD: Final = 3
"""Names of folders in an event."""
DocumentsByPath = Mapping[str, tuple[Document, str]]
"""Documents with their versions, by path."""


class FolderIngest:
    """Ingests documents while others read and write. If it is killed, the next run completes its work."""

    def __init__(
        self,
        catalog: Catalog,
        writer: IndexWriter,
        folders: IngestedFolders,
        scan: FolderScan = PLAIN_SCAN,
        tell: Tell = untold,
    ) -> None:
        self.scan = scan
        self._tell = tell
        self._catalog = catalog
        self._writer = writer
        self._folders = folders

    def run(
        self, owner: Owner, paths: Sequence[str], progress: Progress = no_progress, *, with_forgotten: bool = True
    ) -> IngestSummary:
        """Ingest what is new or changed in these folders and files, and remove what is gone from them.

        A folder that was ingested by itself or is named here keeps its documents if it has lost all of them.
        Documents that the owner wanted forgotten come back, unless nobody asked for this ingest.
        """
        with self._told(owner, paths) as done:
            return done(self._run(owner, paths, progress, with_forgotten=with_forgotten))

    def _run(self, owner: Owner, paths: Sequence[str], progress: Progress, *, with_forgotten: bool) -> IngestSummary:
        locations = [local_path(path) for path in paths]
        # Before the scan: a document that is written during it is then not mistaken for one whose file is gone.
        known = {document.path: (document, version) for document, version in self._catalog.with_versions(owner)}
        found = self._scanned(locations)
        if not found.files and not found.unread:
            raise _nothing_to_ingest(locations, len(list(_below(locations, self._catalog.roots(owner), known))))
        roots = self._roots(owner, locations)
        by_folder = {root.folder: root for root in roots.values()}
        sources = [SourceFile(path_of(file, root), root) for file in found.files if (root := root_of(file, by_folder))]
        seen = {source.path for source in sources}
        if with_forgotten:
            self._folders.recall(owner, seen)
        forgotten = self._folders.forgotten(owner)
        if not with_forgotten:
            sources = [source for source in sources if source.path not in forgotten or source.path in known]
        unread = [folder.path for folder in found.unread]
        here = list(_below(locations, roots, known))
        named = [one.path for one in locations if one.is_folder]
        missing = missing_folders([*named, *_roots_inside(named, by_folder)], found.files, unread)
        gone = [
            document for document, file in here if document.path not in seen and not is_below(file, [*unread, *missing])
        ]
        done = 0

        def report(path: str, note: str) -> None:
            nonlocal done
            done += not note
            progress(done, len(sources), path, note)

        ids = {document.id for document, _ in known.values()}
        run = IngestRun(owner, self._catalog, self._writer, known, ids.__contains__, gone, report)
        run.take(sources)
        self._forget(owner, run, forgotten)
        for folder in found.unread:
            run.fail(folder.path, folder.reason)
        # Last, so that a document that moved finds its embeddings at its old path.
        for document in gone:
            run.remove(document)
        for one in locations:  # only now, as a watcher would take the same files
            self._folders.note(owner, one)
        self._catalog.remove_empty_roots(owner)
        return run.summary(found.skipped, missing_with_counts(missing, [file for _, file in here]), found.left_out)

    def update(self, owner: Owner, folder: LocalPath, files: Sequence[str], gone: Sequence[str]) -> IngestSummary:
        """Ingest these files of the folder and remove the documents of those that are gone, without a full scan."""
        with self._told(owner, [folder.path]) as done:
            return done(self._update(owner, folder, files, gone))

    def _update(self, owner: Owner, folder: LocalPath, files: Sequence[str], gone: Sequence[str]) -> IngestSummary:
        by_folder = {root.folder: root for root in self._roots(owner, [folder]).values()}
        named = {
            one: SourceFile(path_of(one, root), root) for one in (*files, *gone) if (root := root_of(one, by_folder))
        }
        entries = {one.path: self._catalog.find(owner, one.path) for one in named.values() if is_utf8(one.path)}
        known = {path: (one.document, one.version) for path, one in entries.items() if one.document}
        inside = [one for one in _roots_inside([folder.path], by_folder) if any(is_below(file, [one]) for file in gone)]
        missing = missing_folders(inside, sorted(file for one in inside for file in self.scan.contents(one).files), ())
        # A second look: a file that comes and goes may have been there, or gone, only a moment ago.
        lost = {
            file: document
            for file in filterfalse(is_regular_file, gone)
            if not is_below(file, missing)
            if (source := named.get(file)) and source.path in known
            if (document := known[source.path][0]).root == source.root.id
        }

        def has_id(id: str) -> bool:
            return self._catalog.document(owner, id) is not None

        run = IngestRun(owner, self._catalog, self._writer, known, has_id, [*lost.values()], _silent)
        forgotten = self._folders.forgotten(owner)
        sources = [named[file] for file in filter(is_regular_file, files) if file in named]
        run.take([one for one in sources if one.path not in forgotten or one.path in known])
        self._forget(owner, run, forgotten)
        for file in filterfalse(is_regular_file, lost):
            run.remove(lost[file])
        return run.summary((), missing_with_counts(missing, gone))

    @contextmanager
    def _told(self, owner: Owner, paths: Sequence[str]) -> Generator[Callable[[IngestSummary], IngestSummary]]:
        """Tell of an ingest: that it began, and its counts or its error."""
        where = ", ".join(PurePath(path).name or path for path in paths[:MOST_TOLD])
        what: JsonObject = {"what": "documents", "where": where}

        def done(summary: IngestSummary) -> IngestSummary:
            counts = {"processed": summary.processed, "unchanged": summary.unchanged, "removed": summary.removed}
            self._tell(owner, "ingestion", {**what, "state": "done", **counts, "failed": len(summary.failed)})
            return summary

        self._tell(owner, "ingestion", {**what, "state": "began"})
        try:
            yield done
        except LociError as error:
            self._tell(owner, "ingestion", {**what, "state": "failed", "code": error.code})
            raise

    def _forget(self, owner: Owner, run: IngestRun, before: Collection[str]) -> None:
        """Remove what the owner wanted forgotten since then, but the run wrote after that."""
        for path in self._folders.forgotten(owner).difference(before):
            if run.has_taken(path) and (document := self._catalog.find(owner, path).document):
                run.remove(document)

    def _scanned(self, locations: Sequence[LocalPath]) -> FolderContents:
        """The contents of all locations, each file once."""
        parts = [self.scan.contents(one.path) if one.is_folder else FolderContents((one.path,)) for one in locations]
        return FolderContents(
            files=tuple(sorted({file for part in parts for file in part.files})),
            skipped=tuple(dict.fromkeys(one for part in parts for one in part.skipped)),
            unread=tuple(dict.fromkeys(one for part in parts for one in part.unread)),
            left_out=sum((part.left_out for part in parts), LeftOut()),
        )

    def _roots(self, owner: Owner, locations: Sequence[LocalPath]) -> dict[str, Root]:
        """All roots, after making one for each location that lies in none."""
        for one in locations:
            roots = self._catalog.roots(owner)
            if root_of(one.folder, {root.folder: root for root in roots.values()}) is None:
                self._catalog.make_root(owner, one.folder, one.name)
        return self._catalog.roots(owner)


def _silent(path: str, note: str) -> None:
    """Ignore progress."""


def _below(
    locations: Sequence[LocalPath], roots: Mapping[str, Root], known: DocumentsByPath
) -> Iterator[tuple[Document, str]]:
    """The known documents whose files belong to these locations, each with its file."""
    for document, _ in known.values():
        root = roots.get(document.root or "")
        if root is not None:
            file = file_of(document.path, root)
            if is_below(file, [one.path for one in locations]):
                yield document, file


def _roots_inside(folders: Sequence[str], by_folder: Mapping[str, Root]) -> list[str]:
    """The folders of roots that lie in these folders and are not one of them."""
    return [one for one in by_folder if one not in folders and is_below(one, folders)]


def _nothing_to_ingest(locations: Sequence[LocalPath], known: int) -> Refused:
    where = ", ".join(one.path for one in locations)
    if known:  # an unmounted disk looks like this
        return Refused(
            f"{where} has no documents any more, but Loci has {known:,} from there",
            "If they are gone for good, remove them with: loci forget PATH",
            code="NOTHING_LEFT",
        )
    return Refused(
        f"There is nothing to ingest in {where}",
        f"Names of documents end in {', '.join(sorted(SUFFIXES))}. Hidden files are skipped",
        code="NOTHING_TO_INGEST",
    )
