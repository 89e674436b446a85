"""Documents to a Loci elsewhere: only those that it does not have, and out what is gone here."""

import base64
import hashlib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence

from loci.cli.remote_client import WAITS, RemoteClient, TooMuchError
from loci.cli.sync_summary import SyncSummary
from loci.core.errors import NotFound, Refused
from loci.documents.document import FileFailure
from loci.documents.ingest.index_writer import Progress
from loci.documents.ingest.local_files import FolderContents, is_utf8, read_file, scan_folder
from loci.documents.ingest.roots import LocalPath, is_below

MOST, LARGE = 32, 192 * 1024
"""Documents and bytes of one request, about: so that a function embeds them in good time."""
MOST_GONE = 200
TURNS = 4
"""How often documents are sent that all come back for later."""
AROUND = 100
"""Bytes of a request that are no document."""

Report = Callable[[str, str | None], None]
"""Hears of a path that it is as it was sent, or why not."""


class FolderSync:
    """Brings what is elsewhere up to what folders are now. Stopped anywhere, the next one goes on."""

    def __init__(self, hosted: RemoteClient, progress: Progress) -> None:
        self.fed = SyncSummary()
        self._hosted = hosted
        self._progress = progress

    def run(self, place: LocalPath) -> None:
        """Send what is new or changed in the folder or file, and take out what is gone."""
        found = scan_folder(place.path) if place.is_folder else FolderContents((place.path,))
        held = self._hosted.held(place.name)
        if not found.files and not found.unread:
            raise _nothing(place, len(held))
        self.fed.seen += len(found.files) + len(found.unread)
        self.fed.skipped += found.skipped
        self.fed.failed += found.unread
        paths = {_path_of(file, place): file for file in found.files}
        pending: dict[str, str] = {}
        for path, text in self._changed(place, paths, held):
            if pending and (len(pending) == MOST or sum(map(len, pending.values())) + len(text) > LARGE):
                self._send(pending)
                pending = {}
            pending[path] = text
        self._send(pending)
        if place.is_folder:
            unread = [_path_of(one.path, place).rstrip("/") for one in found.unread]
            gone = sorted(path for path in held.keys() - paths.keys() if not is_below(path, unread))
            for start in range(0, len(gone), MOST_GONE):
                self._remove(gone[start : start + MOST_GONE])

    def _changed(
        self, place: LocalPath, paths: Mapping[str, str], held: Mapping[str, str]
    ) -> Iterator[tuple[str, str]]:
        """What has to be sent, each as JSON."""
        for path, file in paths.items():
            if not is_utf8(path):
                self._took(path.encode("utf-8", "backslashreplace").decode(), "Its name is not UTF-8. Rename it.")
                continue
            try:
                content = read_file(place.folder, file[len(place.folder) :].lstrip("/"))
            except (NotFound, Refused) as error:
                self._took(path, str(error))
                continue
            if held.get(path) == hashlib.sha256(content).hexdigest():
                self.fed.unchanged += 1
                self._tell(path)
                continue
            text = _json(path, content)
            if len(text.encode()) + AROUND > self._hosted.largest:
                self._took(path, self._too_large(f"It has {len(content) / 2**20:.1f} MB, more than can be sent"))
            else:
                yield path, text

    def _send(self, texts: Mapping[str, str]) -> None:
        self._deliver(texts, lambda parts: f'{{"put":[{",".join(parts)}]}}', self._took)

    def _remove(self, paths: Sequence[str]) -> None:
        texts = {path: json.dumps(path) for path in paths}
        self._deliver(texts, lambda parts: f'{{"remove":[{",".join(parts)}]}}', self._dropped)

    def _deliver(self, texts: Mapping[str, str], wrap: Callable[[Sequence[str]], str], report: Report) -> None:
        """All of them, in parts where so much does not get through, and again what comes back for later."""
        in_vain = 0
        while texts:
            try:
                results = self._hosted.send(wrap([*texts.values()]).encode())
            except TooMuchError:
                if len(texts) == 1:
                    report(next(iter(texts)), self._too_large("It is too large there, or takes too long"))
                    return
                names = [*texts]
                for half in (names[: len(names) // 2], names[len(names) // 2 :]):
                    self._deliver({name: texts[name] for name in half}, wrap, report)
                return
            later = {one.path for one in results if one.is_worth_another_try}
            in_vain = in_vain + 1 if len(later) == len(texts) else 0
            for one in results:
                if one.path not in later or in_vain == TURNS:
                    report(one.path, one.error)
            if in_vain == TURNS:
                return
            if in_vain:
                self._hosted.pause(WAITS[in_vain])
            texts = {path: text for path, text in texts.items() if path in later}

    def _took(self, path: str, reason: str | None) -> None:
        if reason is None:
            self.fed.sent += 1
        else:
            self.fed.failed.append(FileFailure(path, reason))
        self._tell(path)

    def _dropped(self, path: str, reason: str | None) -> None:
        if reason is None:
            self.fed.removed += 1
        else:
            self.fed.not_removed.append(FileFailure(path, reason))

    def _tell(self, path: str) -> None:
        self._progress(self.fed.seen - self.fed.left, self.fed.seen, path)

    def _too_large(self, what: str) -> str:
        return f"{what}. {f'Upload it below {self._hosted.uploads}' if self._hosted.uploads else 'Split it'}."


def _path_of(file: str, place: LocalPath) -> str:
    """As for a folder of this machine: its name, then the way below it."""
    return f"{place.name}/{file[len(place.folder) :].lstrip('/')}"


def _json(path: str, content: bytes) -> str:
    try:
        return json.dumps({"path": path, "text": content.decode()}, ensure_ascii=False)
    except UnicodeDecodeError:
        return json.dumps({"path": path, "base64": base64.b64encode(content).decode()}, ensure_ascii=False)


def _nothing(place: LocalPath, held: int) -> Refused:
    if held:  # a disk that is not mounted looks like this
        what = f"{place.path} holds no document any more, and {held} are there below {place.name}/"
        return Refused(what, "Put them back, or leave the folder out", code="NOTHING_LEFT")
    return Refused(f"There is nothing to send in {place.path}", "Name another folder", code="NOTHING_TO_INGEST")
