"""Bring another Loci server up to date with folders of this machine: send what changed, remove what is gone."""

import base64
import hashlib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field

from loci.cli.remote_client import WAITS, RemoteClient, TooLargeError
from loci.cli.terminal import left_out_lines, short_list
from loci.core.errors import NotFound, Refused
from loci.documents.ingest.folder_scan import PLAIN_SCAN, FolderContents, FolderScan
from loci.documents.ingest.index_writer import Progress
from loci.documents.ingest.local_files import (
    LocalPath,
    is_below,
    is_utf8,
    local_path,
    read_file,
)
from loci.documents.ingest.outcome import NOTHING_LEFT_OUT, FileFailure, LeftOut

BATCH_DOCUMENTS, BATCH_BYTES = 32, 192 * 1024
"""About how much goes into one request: a function can embed that many documents in good time."""
BATCH_REMOVALS = 200
TRIES = 4
"""The number of times to send documents again if the server asks to send all of them later."""
OVERHEAD_BYTES = 100
"""The part of a request that is not a document."""

Report = Callable[[str, str | None], None]
"""Called with a path and the reason of its failure; None: the server has the document as it was sent."""


@dataclass(slots=True)
class SyncSummary:
    """The work so far. `sent + unchanged + failed + left` is the number of documents seen."""

    seen: int = 0
    sent: int = 0
    unchanged: int = 0
    removed: int = 0
    failed: list[FileFailure] = field(default_factory=list[FileFailure])
    not_removed: list[FileFailure] = field(default_factory=list[FileFailure])
    skipped: list[FileFailure] = field(default_factory=list[FileFailure])
    left_out: LeftOut = NOTHING_LEFT_OUT

    @property
    def left(self) -> int:
        """The number of documents that are still to do."""
        return self.seen - self.sent - self.unchanged - len(self.failed)


def view(summary: SyncSummary) -> dict[str, object]:
    """Return the summary for programs: the counts first, then the lists behind them."""
    return {
        "seen": summary.seen,
        "sent": summary.sent,
        "unchanged": summary.unchanged,
        "failed": len(summary.failed),
        "left": summary.left,
        "removed": summary.removed,
        "failures": [asdict(one) for one in summary.failed],
        "not_removed": [asdict(one) for one in summary.not_removed],
        "skipped": [asdict(one) for one in summary.skipped],
        "left_out": asdict(summary.left_out),
    }


def text(summary: SyncSummary) -> str:
    """Return the summary for people."""
    left = f", {summary.left:,} left for the next run" if summary.left else ""
    lines = [
        f"{summary.seen:,} seen: {summary.sent:,} sent, {summary.unchanged:,} unchanged,"
        f" {len(summary.failed):,} failed{left}. {summary.removed:,} removed."
    ]
    lines += left_out_lines(summary.left_out)
    lines += short_list("Failed", [f"{one.path}: {one.reason}" for one in summary.failed])
    lines += short_list("Not removed", [f"{one.path}: {one.reason}" for one in summary.not_removed])
    lines += short_list("Skipped", [f"{one.path}: {one.reason}" for one in summary.skipped])
    return "\n".join(lines)


def sources(paths: Sequence[str]) -> list[LocalPath]:
    """Return each folder and file once; raise `Refused` if two folders would get the same name on the server."""
    found = dict.fromkeys(local_path(path) for path in paths)
    folders: dict[str, str] = {}
    for one in found:
        if folders.setdefault(one.name, one.folder) != one.folder:
            what = f"{folders[one.name]} and {one.folder} would both become {one.name}/ on the server"
            raise Refused(what, "Rename one of them", code="SAME_NAME")
    whole = {one.folder for one in found if one.is_folder}
    return [one for one in found if one.is_folder or one.folder not in whole]


class FolderSync:
    """Makes the server's documents equal to the folders. If it is stopped, the next run continues."""

    def __init__(self, server: RemoteClient, progress: Progress, scan: FolderScan = PLAIN_SCAN) -> None:
        self.summary = SyncSummary()
        self._server = server
        self._scan = scan
        self._progress = progress

    def run(self, source: LocalPath) -> None:
        """Send the new and changed documents of a folder or file, and remove those that are gone."""
        found = self._scan.contents(source.path) if source.is_folder else FolderContents((source.path,))
        stored = self._server.stored_hashes(source.name)
        if not found.files and not found.unread:
            raise _empty(source, len(stored))
        self.summary.seen += len(found.files) + len(found.unread)
        self.summary.skipped += found.skipped
        self.summary.left_out += found.left_out
        self.summary.failed += found.unread
        paths = {_path_of(file, source): file for file in found.files}
        batch: dict[str, str] = {}
        for path, document in self._changed(source, paths, stored):
            if batch and (len(batch) == BATCH_DOCUMENTS or sum(map(len, batch.values())) + len(document) > BATCH_BYTES):
                self._send(batch)
                batch = {}
            batch[path] = document
        self._send(batch)
        if source.is_folder:
            unread = [_path_of(one.path, source).rstrip("/") for one in found.unread]
            gone = sorted(path for path in stored.keys() - paths.keys() if not is_below(path, unread))
            for start in range(0, len(gone), BATCH_REMOVALS):
                self._remove(gone[start : start + BATCH_REMOVALS])

    def _changed(
        self, source: LocalPath, paths: Mapping[str, str], stored: Mapping[str, str]
    ) -> Iterator[tuple[str, str]]:
        """Yield the path and the JSON of each document that the server does not have."""
        for path, file in paths.items():
            if not is_utf8(path):
                self._sent(path.encode("utf-8", "backslashreplace").decode(), "Its name is not UTF-8. Rename it.")
                continue
            try:
                content = read_file(source.folder, file[len(source.folder) :].lstrip("/"))
            except (NotFound, Refused) as error:
                self._sent(path, str(error))
                continue
            if stored.get(path) == hashlib.sha256(content).hexdigest():
                self.summary.unchanged += 1
                self._show_progress(path)
                continue
            document = _json(path, content)
            if len(document.encode()) + OVERHEAD_BYTES > self._server.largest_body:
                self._sent(path, self._too_large(f"It has {len(content) / 2**20:.1f} MB, more than a request can hold"))
            else:
                yield path, document

    def _send(self, documents: Mapping[str, str]) -> None:
        self._deliver(documents, lambda parts: f'{{"put":[{",".join(parts)}]}}', self._sent)

    def _remove(self, paths: Sequence[str]) -> None:
        documents = {path: json.dumps(path) for path in paths}
        self._deliver(documents, lambda parts: f'{{"remove":[{",".join(parts)}]}}', self._removed)

    def _deliver(self, documents: Mapping[str, str], body: Callable[[Sequence[str]], str], report: Report) -> None:
        """Send the documents: in halves if they are too large together, and again if the server says "later"."""
        tries_in_vain = 0
        while documents:
            try:
                results = self._server.send(body([*documents.values()]).encode())
            except TooLargeError:
                if len(documents) == 1:
                    report(next(iter(documents)), self._too_large("It is too large for the server, or takes too long"))
                    return
                names = [*documents]
                for half in (names[: len(names) // 2], names[len(names) // 2 :]):
                    self._deliver({name: documents[name] for name in half}, body, report)
                return
            later = {one.path for one in results if one.is_worth_another_try}
            tries_in_vain = tries_in_vain + 1 if len(later) == len(documents) else 0
            for one in results:
                if one.path not in later or tries_in_vain == TRIES:
                    report(one.path, one.error)
            if tries_in_vain == TRIES:
                return
            if tries_in_vain:
                self._server.pause(WAITS[tries_in_vain])
            documents = {path: document for path, document in documents.items() if path in later}

    def _sent(self, path: str, reason: str | None) -> None:
        if reason is None:
            self.summary.sent += 1
        else:
            self.summary.failed.append(FileFailure(path, reason))
        self._show_progress(path)

    def _removed(self, path: str, reason: str | None) -> None:
        if reason is None:
            self.summary.removed += 1
        else:
            self.summary.not_removed.append(FileFailure(path, reason))

    def _show_progress(self, path: str) -> None:
        self._progress(self.summary.seen - self.summary.left, self.summary.seen, path)

    def _too_large(self, what: str) -> str:
        uploads = self._server.uploads
        return f"{what}. {f'Upload it below {uploads}' if uploads else 'Split it'}."


def _path_of(file: str, source: LocalPath) -> str:
    """Return the path on the server: the folder's name, then the path below it, as for a local folder."""
    return f"{source.name}/{file[len(source.folder) :].lstrip('/')}"


def _json(path: str, content: bytes) -> str:
    try:
        return json.dumps({"path": path, "text": content.decode()}, ensure_ascii=False)
    except UnicodeDecodeError:
        return json.dumps({"path": path, "base64": base64.b64encode(content).decode()}, ensure_ascii=False)


def _empty(source: LocalPath, stored: int) -> Refused:
    if stored:  # a disk that is not mounted looks like this
        what = f"{source.path} has no documents now, but the server has {stored} below {source.name}/"
        return Refused(what, "Put the files back, or leave this folder out", code="NOTHING_LEFT")
    return Refused(f"There are no documents in {source.path}", "Name another folder", code="NOTHING_TO_INGEST")
