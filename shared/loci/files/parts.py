"""The parts of the files vertical, and the adapters that a runtime gives it."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from shutil import rmtree
from tempfile import mkdtemp
from typing import TYPE_CHECKING
from weakref import finalize

from loci.core.lazy import Lazy
from loci.files.citations import Citations
from loci.files.cutting import ReadingWork
from loci.files.finder import FileFinder
from loci.files.ingest import FileIngest, LocalPaths, ReadingQueue
from loci.files.lake import Lake
from loci.files.ports import FileJobs, FileReader, FileUploads, LocalUploads
from loci.files.summaries import Summaries
from loci.files.versions import Versions

if TYPE_CHECKING:
    from loci.app import App
    from loci.core.worker_process import Workers


@dataclass(frozen=True, slots=True)
class FileAdapters:
    """The ports that files need besides the stores, on one runtime."""

    reader: Callable[[], FileReader]
    """Made at the first file that needs a parser."""
    uploads: FileUploads | None = None
    local_uploads: LocalUploads | None = None
    jobs: FileJobs | None = None
    """The queue of another process that reads files; None if this process reads them itself."""
    workers: "Workers | None" = None
    """Worker processes for work that takes long; None if this process serves nobody else meanwhile."""


class FileParts:
    """Everything that `Files` is made of, put together on the adapters of a runtime."""

    def __init__(self, app: "App", adapters: FileAdapters) -> None:
        settings, search = app.settings, app.search_adapters
        is_local, self.largest = settings.mode == "embedded", settings.file_mb << 20
        self.index, self.embedder = search.index, search.embedder
        self.uploads, self.local_uploads, self.jobs = adapters.uploads, adapters.local_uploads, adapters.jobs
        self.lake = Lake(app.records, app.blobs, search.locks, time.time)
        self.work = ReadingWork(adapters.workers)
        self.versions = Versions(self.lake, self.index, self.embedder, settings.file_versions, self.work)
        self.citations = Citations(self.lake, self.versions, self.index, self.work, reads_contents=is_local)
        self.reader = Lazy(adapters.reader)
        self.ingest = FileIngest(
            self.lake, self.versions, self.index, self.embedder, self.reader.get, self.work, app.tell
        )
        model, name, seconds = app.language_model, settings.language_model or "", settings.language_model_seconds
        self.summaries = Summaries(self.lake, self.ingest.stages, model, name, seconds=seconds)
        self.queue = ReadingQueue(self.ingest) if is_local else None
        """Reads files beside the calls that bring them. None: this process may stand still after an answer."""
        self.local_paths = LocalPaths(settings.file_roots, self.largest) if is_local else None
        """The files of this machine; None if no user has files beside the server."""
        self.copies = Lazy(lambda: _temporary_folder(self))
        """The folder of copies that clients of this machine may read. It goes when this process ends."""
        self.finder = FileFinder(self.lake, app.search, self.versions.at, self._model)

    def _model(self) -> str | None:
        """The identity of the model that embeds."""
        model = self.embedder.model()
        return model.identity if model else None


def _temporary_folder(parts: FileParts) -> Path:
    """Make a folder that goes with its owner, at the latest when this process ends."""
    folder = Path(mkdtemp(prefix="loci-files-"))
    finalize(parts, rmtree, folder, ignore_errors=True)
    return folder
