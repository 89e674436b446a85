"""The parts of the files vertical, put together on the adapters of a runtime."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from loci.core.events import Tell, untold
from loci.core.lazy import Lazy
from loci.core.settings import Settings
from loci.core.stores import BlobStore, RecordStore, WriteLocks
from loci.files.citations import Citations
from loci.files.finder import FileFinder
from loci.files.ingest import FileIngest
from loci.files.lake import Lake
from loci.files.local_paths import LocalPaths
from loci.files.long_work import LongWork
from loci.files.ports import FileJobs, FileReader, FileUploads, LocalUploads
from loci.files.reading_queue import ReadingQueue
from loci.files.summaries import Summaries
from loci.files.versions import Versions
from loci.search.document_index import DocumentIndex
from loci.search.inference import Embedder, Reranker
from loci.search.language_model import LanguageModel
from loci.search.language_stage import LanguageStage
from loci.search.search import Search

if TYPE_CHECKING:
    from loci.core.worker_process import Workers


@dataclass(frozen=True, slots=True)
class FileAdapters:
    """The ports that files need besides the stores, on one runtime."""

    index: DocumentIndex
    embedder: Embedder
    reranker: Reranker
    locks: WriteLocks
    reader: Callable[[], FileReader]
    """Made at the first file that needs a parser."""
    uploads: FileUploads | None = None
    local_uploads: LocalUploads | None = None
    jobs: FileJobs | None = None
    """None: this process reads files itself."""
    workers: "Workers | None" = None
    """For work that takes long. None: this process serves nobody else meanwhile."""


@dataclass(frozen=True, slots=True)
class FileParts:
    """Everything that `Files` is made of."""

    lake: Lake
    versions: Versions
    citations: Citations
    ingest: FileIngest
    summaries: Summaries
    queue: ReadingQueue | None
    """Reads files beside the calls that bring them. None: this process may stand still after an answer."""
    uploads: FileUploads | None
    local_uploads: LocalUploads | None
    local_paths: LocalPaths | None
    """None: there are no files beside the server."""
    jobs: FileJobs | None
    finder: FileFinder
    embedder: Embedder
    index: DocumentIndex
    largest: int
    """Bytes of a file."""
    reader: Lazy[FileReader]
    work: LongWork


def file_parts(
    settings: Settings,
    records: RecordStore,
    blobs: BlobStore,
    adapters: FileAdapters,
    language_model: LanguageModel | None,
    tell: Tell = untold,
) -> FileParts:
    """Put the parts together."""
    lake = Lake(records, blobs, adapters.locks, time.time)
    work = LongWork(settings, adapters.workers)
    versions = Versions(lake, adapters.index, adapters.embedder, settings.file_versions, work)
    is_local, largest = settings.mode == "embedded", settings.file_mb << 20
    model_name, seconds = settings.language_model or "", settings.language_model_seconds
    stage = LanguageStage(language_model, model_name, seconds=seconds)
    search = Search(adapters.index, adapters.embedder, adapters.reranker, stage, rerank_seconds=settings.rerank_seconds)
    reader = Lazy(adapters.reader)
    ingest = FileIngest(lake, versions, adapters.index, adapters.embedder, reader.get, work, tell)
    return FileParts(
        lake=lake,
        versions=versions,
        citations=Citations(lake, versions, adapters.index, work, reads_contents=is_local),
        ingest=ingest,
        summaries=Summaries(lake, ingest.stages, language_model, model_name, seconds=seconds),
        queue=ReadingQueue(ingest) if is_local else None,
        uploads=adapters.uploads,
        local_uploads=adapters.local_uploads,
        local_paths=LocalPaths(settings.file_roots, largest) if is_local else None,
        jobs=adapters.jobs,
        finder=FileFinder(lake, search, versions.at),
        embedder=adapters.embedder,
        index=adapters.index,
        largest=largest,
        reader=reader,
        work=work,
    )
