"""Bring the library up to date with folders and files on this machine."""

import os
from bisect import bisect_left
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cache, partial
from itertools import filterfalse
from pathlib import PurePath
from typing import Final

from loci.core.errors import Conflict, LociError, Refused
from loci.core.events import Tell, untold
from loci.core.identity import Owner
from loci.core.ids import content_id
from loci.core.json import JsonObject, string
from loci.core.stores import Record, every, readable
from loci.documents.catalog import INGESTED_FOLDER, Catalog
from loci.documents.document import Document, FileStamp, Root
from loci.documents.ingest.folder_scan import PLAIN_SCAN, FolderContents, FolderScan
from loci.documents.ingest.index_writer import IndexWriter, Progress, no_progress
from loci.documents.ingest.ingest_run import IngestRun, SourceFile
from loci.documents.ingest.local_files import (
    SUFFIXES,
    LocalPath,
    file_of,
    is_below,
    is_regular_file,
    is_utf8,
    local_path,
    path_of,
    root_of,
    stamp_of,
)
from loci.documents.ingest.outcome import IngestSummary, LeftOut, MissingFolder

FORGOTTEN = "forgotten"
AT_ONCE: Final = 500
"""Stamps of files that are kept together."""
MOST_TOLD: Final = 3
"""Names of folders in an event."""
Confirm = Callable[[Sequence[str]], None]
Stamps = dict[str, FileStamp | None]
"""The stamps of files. None: the file is so fresh that it may change without a new stamp."""
DocumentsByPath = Mapping[str, tuple[Document, str]]
"""Documents with their versions, by path."""


@dataclass(frozen=True, slots=True)
class FolderLook:
    """The contents of a folder, and the stamps that its files had then."""

    contents: FolderContents
    stamps: Stamps

    @classmethod
    def at(cls, folder: str, scan: FolderScan, clock: Callable[[], float]) -> "FolderLook":
        """Look at the folder as it is now."""
        contents, stamps = scan.contents(folder), dict[str, FileStamp | None]()
        for file in contents.files:
            with suppress(OSError):  # it has just gone, or its folder may not be read
                stamps[file] = stamp_of(os.lstat(file), clock())
        return cls(contents, stamps)


@dataclass(frozen=True, slots=True)
class IngestedFolders:
    """The folders that were ingested as a whole, and may be kept current, but for the forgotten documents.

    A root, on the other hand, may have been made for a single file.
    """

    catalog: Catalog

    def all(self, owner: Owner) -> list[LocalPath]:
        """All of them, ordered by path."""
        return sorted(
            readable(every(self.catalog.records, owner, INGESTED_FOLDER), folder_of), key=lambda one: one.folder
        )

    def note(self, owner: Owner, location: LocalPath) -> None:
        """Note that this folder was ingested; a folder inside one that was is not noted."""
        if location.is_folder and not is_below(location.path, [one.folder for one in self.all(owner)]):
            value = {"folder": location.path, "name": location.name}
            self.catalog.records.put(owner, INGESTED_FOLDER, content_id(location.path), {**value})

    def forget(self, owner: Owner, removed: Sequence[Document]) -> None:
        """Drop the folders whose last documents are about to be removed. Note the documents of the others."""
        roots, ids = self.catalog.roots(owner), {one.id for one in removed}
        left = [
            file_of(one.path, root)
            for one in self.catalog.documents(owner)
            if one.id not in ids and (root := roots.get(one.root or ""))
        ]
        kept: list[str] = []
        for one in self.all(owner):
            if any(is_below(file, [one.folder]) for file in left):
                kept.append(one.folder)
            else:
                self.catalog.records.remove(owner, INGESTED_FOLDER, content_id(one.folder))
        for document in removed:
            root = roots.get(document.root or "")
            if root and is_below(file_of(document.path, root), kept):
                self.catalog.records.put(owner, FORGOTTEN, content_id(document.path), {"path": document.path})

    def forgotten(self, owner: Owner) -> set[str]:
        """The paths of the forgotten documents."""
        return set(readable(every(self.catalog.records, owner, FORGOTTEN), forgotten_path))

    def recall(self, owner: Owner, paths: Collection[str]) -> None:
        """End the exclusion of paths that are now asked for by name, or with their folders."""
        for path in self.forgotten(owner).intersection(paths):
            self.catalog.records.remove(owner, FORGOTTEN, content_id(path))


def folder_of(record: Record) -> LocalPath:
    """The folder of a record."""
    return LocalPath(string(record.value["folder"]), True, string(record.value["name"]))


def forgotten_path(record: Record) -> str:
    """The path of a record."""
    return string(record.value["path"])


@dataclass(frozen=True, slots=True)
class FolderIngest:
    """Ingests documents while others read and write. If it is killed, the next run completes its work."""

    catalog: Catalog
    writer: IndexWriter
    scan: FolderScan = PLAIN_SCAN
    tell: Tell = untold

    @property
    def folders(self) -> IngestedFolders:
        """The folders that are ingested as a whole."""
        return IngestedFolders(self.catalog)

    def run(
        self,
        owner: Owner,
        paths: Sequence[str],
        progress: Progress = no_progress,
        confirm: Confirm = lambda _: None,
        *,
        with_forgotten: bool = True,
        look: Callable[[], FolderLook] | None = None,
    ) -> IngestSummary:
        """Ingest new and changed documents in these folders and files, and remove documents that are gone from them.

        A folder that was ingested by itself or is named here keeps its documents if it has lost all of them.
        Documents that the owner wanted forgotten come back, unless nobody asked for this ingest. `confirm` is given the
        files, and raises to stop it. `look` looks at the only path, a folder.
        """
        return self._telling(owner, paths, lambda: self._run(owner, paths, progress, confirm, with_forgotten, look))

    def update(self, owner: Owner, folder: LocalPath, files: Sequence[str], gone: Sequence[str]) -> IngestSummary:
        """Ingest these files of the folder and remove the documents of files that are gone, without a full scan."""
        return self._telling(owner, [folder.path], lambda: self._update(owner, folder, files, gone))

    def _run(
        self,
        owner: Owner,
        paths: Sequence[str],
        progress: Progress,
        confirm: Confirm,
        with_forgotten: bool,
        look: Callable[[], FolderLook] | None,
    ) -> IngestSummary:
        locations = [local_path(path) for path in paths]
        # Before the scan: a document that is written during it is then not mistaken for one whose file is gone.
        known = {document.path: (document, version) for document, version in self.catalog.with_versions(owner)}
        seen = look() if look else FolderLook(self._scanned(locations), {})
        found = seen.contents
        if not found.files and not found.unread:
            raise _nothing_to_ingest(locations, len(_below(locations, self.catalog.roots(owner), known)))
        confirm(found.files)
        roots = self._roots(owner, locations)
        by_folder = {root.folder: root for root in roots.values()}
        root_above = cache(partial(root_of, by_folder=by_folder))
        sources = [
            SourceFile(path_of(file, root), root, seen.stamps.get(file))
            for file in found.files
            if (root := root_above(file[: file.rindex("/")] or "/"))
        ]
        seen = {source.path for source in sources}
        if with_forgotten:
            self.folders.recall(owner, seen)
        forgotten = self.folders.forgotten(owner)
        sources = [source for source in sources if source.path not in forgotten or source.path in known]
        unread = [folder.path for folder in found.unread]
        here = _below(locations, roots, known)
        named = [one.path for one in locations if one.is_folder]
        missing = _missing([*named, *_roots_inside(named, by_folder)], found.files, unread)
        gone = [one for one, file in here if one.path not in seen and not is_below(file, [*unread, *missing])]
        ids = {document.id for document, _ in known.values()}
        run = IngestRun(owner, self.catalog, self.writer, known, ids.__contains__, gone, progress)
        run.write_changed(sources)
        self._keep_stamps(owner, run.stamped)
        self._forget(owner, run, forgotten)
        # Last, so that a document that moved finds its embeddings at its old path.
        for document in gone:
            run.remove(document)
        for one in locations:  # only now, as a watcher would take the same files
            self.folders.note(owner, one)
        self.catalog.remove_empty_roots(owner)
        summary, kept = run.summary, _with_counts(missing, [file for _, file in here])
        failed = [*summary.failed, *found.unread]
        return replace(summary, failed=failed, skipped=found.skipped, kept=kept, left_out=found.left_out)

    def _update(self, owner: Owner, folder: LocalPath, files: Sequence[str], gone: Sequence[str]) -> IngestSummary:
        by_folder = {root.folder: root for root in self._roots(owner, [folder]).values()}
        named = {
            one: SourceFile(path_of(one, root), root) for one in (*files, *gone) if (root := root_of(one, by_folder))
        }
        entries = {one.path: self.catalog.find(owner, one.path) for one in named.values() if is_utf8(one.path)}
        known = {path: (one.document, one.version) for path, one in entries.items() if one.document}
        inside = [one for one in _roots_inside([folder.path], by_folder) if any(is_below(file, [one]) for file in gone)]
        missing = _missing(inside, sorted(file for one in inside for file in self.scan.contents(one).files), ())
        # A second look: a file that comes and goes may have been there, or gone, only a moment ago.
        lost = {
            file: document
            for file in filterfalse(is_regular_file, gone)
            if not is_below(file, missing)
            if (source := named.get(file)) and source.path in known
            if (document := known[source.path][0]).root == source.root.id
        }

        def has_id(id: str) -> bool:
            return self.catalog.document(owner, id) is not None

        run = IngestRun(owner, self.catalog, self.writer, known, has_id, [*lost.values()])
        forgotten = self.folders.forgotten(owner)
        sources = [named[file] for file in filter(is_regular_file, files) if file in named]
        run.write_changed([one for one in sources if one.path not in forgotten or one.path in known])
        self._forget(owner, run, forgotten)
        for file in filterfalse(is_regular_file, lost):
            run.remove(lost[file])
        return replace(run.summary, kept=_with_counts(missing, gone))

    def _telling(self, owner: Owner, paths: Sequence[str], ingest: Callable[[], IngestSummary]) -> IngestSummary:
        """Ingest, and publish events: that it began, then its counts or its error."""
        where = ", ".join(PurePath(path).name or path for path in paths[:MOST_TOLD])
        what: JsonObject = {"what": "documents", "where": where}
        self.tell(owner, "ingestion", {**what, "state": "began"})
        try:
            summary = ingest()
        except LociError as error:
            self.tell(owner, "ingestion", {**what, "state": "failed", "code": error.code})
            raise
        counts = {"processed": summary.processed, "unchanged": summary.unchanged, "removed": summary.removed}
        self.tell(owner, "ingestion", {**what, "state": "done", **counts, "failed": len(summary.failed)})
        return summary

    def _keep_stamps(self, owner: Owner, stamped: Sequence[tuple[Document, str]]) -> None:
        """Keep the new stamps of files whose text is the same: the next look does not read these."""
        for start in range(0, len(stamped), AT_ONCE):
            with self.writer.together():
                for document, version in stamped[start : start + AT_ONCE]:
                    with suppress(Conflict):  # somebody writes it
                        self.catalog.put(owner, document, version)

    def _forget(self, owner: Owner, run: IngestRun, before: Collection[str]) -> None:
        """Remove documents that the owner wanted forgotten during the run, but that the run wrote after that."""
        for path in self.folders.forgotten(owner).difference(before).intersection(run.summary.taken):
            if document := self.catalog.find(owner, path).document:
                run.remove(document)

    def _scanned(self, locations: Sequence[LocalPath]) -> FolderContents:
        """The contents of all locations, each file once."""
        parts = [self.scan.of(one) for one in locations]
        return FolderContents(
            files=tuple(sorted({file for part in parts for file in part.files})),
            skipped=tuple(dict.fromkeys(one for part in parts for one in part.skipped)),
            unread=tuple(dict.fromkeys(one for part in parts for one in part.unread)),
            left_out=sum((part.left_out for part in parts), LeftOut()),
        )

    def _roots(self, owner: Owner, locations: Sequence[LocalPath]) -> dict[str, Root]:
        """All roots, after making a root for each location that lies in none."""
        for one in locations:
            roots = self.catalog.roots(owner)
            if root_of(one.folder, {root.folder: root for root in roots.values()}) is None:
                self.catalog.make_root(owner, one.folder, one.name)
        return self.catalog.roots(owner)


def _below(
    locations: Sequence[LocalPath], roots: Mapping[str, Root], known: DocumentsByPath
) -> list[tuple[Document, str]]:
    """The known documents whose files belong to these locations, each with its file."""
    paths = [one.path for one in locations]
    files = ((one, file_of(one.path, root)) for one, _ in known.values() if (root := roots.get(one.root or "")))
    return [(document, file) for document, file in files if is_below(file, paths)]


def _missing(folders: Iterable[str], files: Sequence[str], unread: Sequence[str]) -> list[str]:
    """The outermost folders that contain none of the files, which are sorted. An unmounted disk looks like that.

    A folder inside one that could not be read is not missing: nobody knows what is in it.
    """
    missing: list[str] = []
    for folder in sorted(set(folders)):
        start = f"{folder.rstrip('/')}/"
        at = bisect_left(files, start)
        if not is_below(folder, [*missing, *unread]) and not (at < len(files) and files[at].startswith(start)):
            missing.append(folder)
    return missing


def _with_counts(missing: Sequence[str], files: Sequence[str]) -> tuple[MissingFolder, ...]:
    """The missing folders that had some of the files, each with the number of these."""
    counts = {folder: sum(is_below(file, [folder]) for file in files) for folder in missing}
    return tuple(MissingFolder(folder, count) for folder, count in counts.items() if count)


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
        f"Names of documents end in {', '.join(sorted(SUFFIXES))}. Hidden files are skipped. "
        "PDFs, workbooks and other files are added with: loci add --recursive FOLDER",
        code="NOTHING_TO_INGEST",
    )
