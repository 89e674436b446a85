"""The parts of the documents vertical, put together on the adapters of a runtime, and their upkeep."""

import time
from typing import TYPE_CHECKING

from loci.documents.archive import DocumentArchive
from loci.documents.catalog import Catalog
from loci.documents.ingest.folder_ingest import FolderIngest, IngestedFolders
from loci.documents.ingest.folder_scan import FolderScan
from loci.documents.ingest.index_writer import IndexWriter
from loci.documents.ingest.uploads import ClientSync
from loci.documents.library import Library
from loci.documents.recently_read import RecentlyRead
from loci.documents.supersession import Supersession
from loci.documents.upkeep import Upkeep

if TYPE_CHECKING:
    from loci.app import App


class DocumentParts:
    """Everything that `Documents` is made of. Tests and doctor's checks look at single parts."""

    def __init__(self, app: "App") -> None:
        settings, records, adapters = app.settings, app.records, app.search_adapters
        self.index, self.embedder = adapters.index, adapters.embedder
        self.catalog = Catalog(records)
        self.scan = FolderScan(settings.use_gitignore, settings.exclude)
        self.writer = IndexWriter(self.catalog, self.index, self.embedder, time.time)
        self.library = Library(self.catalog, self.writer, app.blobs, adapters.locks)
        self.search = app.search
        self.supersession = Supersession(self.catalog, self.writer.links)
        self.ingest = FolderIngest(self.catalog, self.writer, self.scan, app.tell)
        self.folders = IngestedFolders(self.catalog)
        writing = self.catalog, self.writer, self.index, self.embedder, self.library
        self.upkeep = Upkeep(*writing, lambda owner: app.authoring.repair(owner))
        self.sync = ClientSync(self.catalog, self.library, app.tell)
        self.archive = DocumentArchive(self.catalog, self.library, self.writer, app.blobs, adapters.locks)
        self.recently_read = RecentlyRead(records, time.time)
