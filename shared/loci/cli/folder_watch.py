"""Folders that are watched: their changes reach the library, and messages say what was done."""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager

from loci.cli.file_events import FileEvents
from loci.cli.terminal import SHOWN, kept_line
from loci.documents.ingest.index_writer import Progress
from loci.documents.ingest.local_files import is_below
from loci.documents.ingest.outcome import IngestSummary
from loci.documents.ingest.watched_folder import (
    FolderEvent,
    FolderIngested,
    FolderUnavailable,
    IngestPostponed,
    WatchedFolder,
)


class FolderWatch:
    """The folders of `watch` are current after each `step`."""

    def __init__(self, say: Callable[[str], None], *, poll: bool = False) -> None:
        self.messages = WatchMessages(say)
        self._say = say
        self._poll = poll
        self._watched: list[WatchedFolder] = []
        self._events = FileEvents([], say, poll=poll)

    @property
    def folders(self) -> list[str]:
        """The folders that are watched."""
        return [one.location.path for one in self._watched]

    def watch(self, wanted: Sequence[WatchedFolder], progress: Callable[[], AbstractContextManager[Progress]]) -> None:
        """Watch these folders from now on. Those that were not watched before are ingested whole."""
        before = {(one.location.path, one.excluded): one for one in self._watched}
        self._watched = []
        for one in wanted:
            known = before.get((one.location.path, one.excluded))
            if known is None:
                with progress() as shown:
                    begun = list(one.ingest_all(shown))
                for happening in begun:
                    self.messages.report(one.location.path, happening)
            self._watched.append(known or one)
        self._events = FileEvents(self.folders, self._say, poll=self._poll)

    def step(self) -> None:
        """Wait for changes, not for long, and ingest what changed."""
        touched = self._events.wait()
        for one in self._watched:
            for happening in one.check({path for path in touched if is_below(path, [one.location.path])}):
                self.messages.report(one.location.path, happening)


class WatchMessages:
    """Says what happens to the watched folders, each message once, and counts."""

    def __init__(self, say: Callable[[str], None]) -> None:
        self._say = say
        self._processed = self._removed = self._failed = 0
        self._begun = set[str]()
        self._missing = set[str]()
        self._postponed: dict[str, str] = {}

    def report(self, folder: str, happening: FolderEvent) -> None:
        """Say the message of one happening, if it was not said before."""
        match happening:
            case FolderIngested(summary):
                self._tell_summary(folder, summary)
            case FolderUnavailable(is_empty):
                if folder in self._missing:  # the message about an outer folder has named it
                    return
                self._missing.add(folder)
                what, back = ("is empty", "the files are back") if is_empty else ("does not exist", "it is back")
                self._say(
                    f"{folder} {what} now. Loci keeps its documents until {back} (to remove them: loci forget {folder})"
                )
            case IngestPostponed(reason):
                if self._postponed.get(folder) != reason:
                    self._postponed[folder] = reason
                    self._say(f"{folder}: {reason} Loci will try again.")

    def totals(self) -> str:
        """Return the counts since the start."""
        return f"{self._processed:,} processed, {self._removed:,} removed, {self._failed:,} failed"

    def _tell_summary(self, folder: str, summary: IngestSummary) -> None:
        failed = len(summary.failed)
        self._processed += summary.processed
        self._removed += summary.removed
        self._failed += failed
        self._postponed.pop(folder, None)
        is_first, is_back = folder not in self._begun, folder in self._missing
        self._begun.add(folder)
        self._missing.discard(folder)
        for kept in summary.kept:
            if kept.folder not in self._missing:
                self._missing.add(kept.folder)
                self._say(kept_line(kept))
        if is_first or is_back or summary.processed or summary.removed or failed:
            counts = f"{summary.processed:,} processed, {summary.unchanged:,} unchanged, {failed:,} failed."
            self._say(f"{folder}{' is back' if is_back else ''}: {counts} {summary.removed:,} removed.")
        self._list([f"+ {path}" for path in summary.taken])
        self._list([f"- {path}" for path in summary.gone])
        self._list([f"{one.path}: {one.reason}" for one in summary.failed])

    def _list(self, lines: Sequence[str]) -> None:
        for line in lines[:SHOWN]:
            self._say(f"  {line}")
        if len(lines) > SHOWN:
            self._say(f"  and {len(lines) - SHOWN:,} more")
