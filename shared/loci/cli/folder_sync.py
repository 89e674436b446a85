"""Synchronise folders of this machine to another Loci server: send changed documents, and remove deleted ones."""

import base64
import hashlib
import json
import time
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Final, Literal, cast

from loci.cli.remote_client import WAITS, Pause, RemoteRoute, TooLargeError
from loci.cli.terminal import left_out_lines, short_list
from loci.core.errors import NotFound, Refused
from loci.documents.ingest.folder_scan import FolderContents
from loci.documents.ingest.index_writer import Progress
from loci.documents.ingest.local_files import LocalPath, is_below, is_utf8, local_path, read_file
from loci.documents.ingest.outcome import NOTHING_LEFT_OUT, FileFailure, LeftOut

FIELDS: Final = frozenset({"documents", "results"})
BATCH_DOCUMENTS: Final = 32
BATCH_BYTES: Final = 192 * 1024
"""The approximate size of a request: a function can embed this much within its time limit."""
BATCH_REMOVALS: Final = 200
TRIES: Final = 4
"""Retries if the server asks to send all documents of a request later."""
OVERHEAD_BYTES: Final = 100
"""Bytes of a request besides its documents."""

Verb = Literal["put", "remove"]


@dataclass(slots=True)
class SyncSummary:
    """The counts so far. `sent + unchanged + failed + left` is the number of documents seen."""

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
    """Return the summary as JSON: first the counts, then the lists."""
    told = asdict(summary)
    lists = {
        "failures": told.pop("failed"),
        **{name: told.pop(name) for name in ("not_removed", "skipped", "left_out")},
    }
    removed = told.pop("removed")
    return {**told, "failed": len(summary.failed), "left": summary.left, "removed": removed, **lists}


def text(summary: SyncSummary) -> str:
    """Return the summary as text."""
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

    def __init__(self, url: str, key: str | None, progress: Progress, pause: Pause = time.sleep) -> None:
        self.summary = SyncSummary()
        self._route = RemoteRoute(url, key, "documents", FIELDS, pause)
        self._progress = progress
        self._largest_body = 0
        self._uploads: str | None = None
        """The address for files that are too large for a request, if the server has one."""

    def run(self, source: LocalPath, found: FolderContents, removable: Collection[str] | None = None) -> None:
        """Send the new and changed documents of a folder or file, in which these are, and remove deleted documents.

        `removable`: the only ones that may be removed, as other machines send to the same folder.
        """
        stored = self.stored_hashes(source.name)
        if not found.files and not found.unread and not removable:
            raise _empty(source, len(stored))
        self.summary.seen += len(found.files) + len(found.unread)
        self.summary.skipped += found.skipped
        self.summary.left_out += found.left_out
        self.summary.failed += found.unread
        paths = {_path_of(file, source): file for file in found.files}
        for batch in _batches(self._changed(source, paths, stored), BATCH_DOCUMENTS):
            self._deliver("put", batch)
        if source.is_folder:
            unread = [_path_of(one.path, source).rstrip("/") for one in found.unread]
            missing = stored.keys() - paths.keys() if removable is None else stored.keys() & {*removable} - paths.keys()
            gone = sorted(path for path in missing if not is_below(path, unread))
            for batch in _batches(((path, json.dumps(path)) for path in gone), BATCH_REMOVALS):
                self._deliver("remove", batch)

    def stored_hashes(self, under: str) -> dict[str, str]:
        """Return the hashes of the documents that the server has below this name, by path."""
        found: dict[str, str] = {}
        after: str | None = ""
        while after is not None:
            query = {"under": under, **({"after": after} if after else {})}
            page = cast("dict[str, Any]", self._route.request("GET", query))
            self._largest_body, self._uploads = int(page["largest"]), page["uploads"]
            found |= {one["path"]: one["sha256"] for one in page["documents"]}
            after = page["next"]
        return found

    def _changed(
        self, source: LocalPath, paths: Mapping[str, str], stored: Mapping[str, str]
    ) -> Iterator[tuple[str, str]]:
        """Yield the path and the JSON of each document that the server does not have."""
        for path, file in paths.items():
            if not is_utf8(path):
                shown = path.encode("utf-8", "backslashreplace").decode()
                self._note("put", shown, "Its name is not UTF-8. Rename it.")
                continue
            try:
                content = read_file(source.folder, file[len(source.folder) :].lstrip("/"))
            except (NotFound, Refused) as error:
                self._note("put", path, str(error))
                continue
            document = _json(path, content)
            if stored.get(path) == hashlib.sha256(content).hexdigest():
                self.summary.unchanged += 1
                self._show_progress(path)
            elif len(document.encode()) + OVERHEAD_BYTES > self._largest_body:
                size = f"It has {len(content) / 2**20:.1f} MB, more than a request can hold"
                self._note("put", path, self._too_large(size))
            else:
                yield path, document

    def _deliver(self, verb: Verb, documents: Mapping[str, str]) -> None:
        """Send the documents, each alone if they are too large together, and again while the server answers "later"."""
        in_vain = 0
        left: dict[str, str] = {**documents}
        while left:
            body = f'{{"{verb}":[{",".join(left.values())}]}}'.encode()
            try:
                results = cast("list[dict[str, Any]]", self._route.request("POST", {}, body)["results"])
            except TooLargeError:
                for path, document in left.items():
                    if len(left) > 1:
                        self._deliver(verb, {path: document})
                    else:
                        self._note(verb, path, self._too_large("It is too large for the server, or takes too long"))
                return
            later: set[str] = {one["path"] for one in results if not one["done"] and one.get("later")}
            in_vain = in_vain + 1 if len(later) == len(left) else 0
            for one in results:
                if one["path"] not in later or in_vain == TRIES:
                    self._note(verb, one["path"], None if one["done"] else one["error"]["message"])
            if in_vain == TRIES:
                return
            if in_vain:
                self._route.pause(WAITS[in_vain])
            for path in left.keys() - later:
                del left[path]

    def _note(self, verb: Verb, path: str, failure: str | None) -> None:
        """Count a document that the server has now, or no longer has, or the reason why not."""
        if failure is not None:
            (self.summary.failed if verb == "put" else self.summary.not_removed).append(FileFailure(path, failure))
        elif verb == "put":
            self.summary.sent += 1
        else:
            self.summary.removed += 1
        if verb == "put":
            self._show_progress(path)

    def _show_progress(self, path: str) -> None:
        self._progress(self.summary.seen - self.summary.left, self.summary.seen, path)

    def _too_large(self, what: str) -> str:
        return f"{what}. {f'Upload it below {self._uploads}' if self._uploads else 'Split it'}."


def _batches(documents: Iterable[tuple[str, str]], most: int) -> Iterator[dict[str, str]]:
    """The documents that go into one request, as JSON by their paths."""
    batch: dict[str, str] = {}
    for path, document in documents:
        if len(batch) == most or (batch and sum(map(len, batch.values())) + len(document) > BATCH_BYTES):
            yield batch
            batch = {}
        batch[path] = document
    if batch:
        yield batch


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
