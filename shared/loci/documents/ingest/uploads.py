"""Documents that are uploaded: each object that something happened to is looked at, and the library made to fit."""

from urllib.parse import quote, unquote

from loci.core.errors import Refused, Unavailable
from loci.core.identity import Owner
from loci.core.settings import UPLOADS
from loci.core.stores import ABSENT
from loci.core.telemetry import Telemetry
from loci.documents.ingest.folder_scan import SKIPPED_FOLDERS, is_document
from loci.documents.ingest.index_writer import IndexWriter
from loci.documents.ingest.read_file import LARGEST
from loci.documents.library import Library
from loci.search.document_index import Uploads

NO_TENANT = "-"
TRIES = 10
"""For an object that is replaced while it is taken in."""


class UploadIngest:
    """Makes documents of uploads. Only what lies there now counts, so notices may come twice, late or out of order."""

    def __init__(self, uploads: Uploads, library: Library, writer: IndexWriter, telemetry: Telemetry) -> None:
        self._uploads = uploads
        self._library = library
        self._writer = writer
        self.telemetry = telemetry

    def follow(self, notice: str) -> None:
        """Look at every object that the notice names."""
        for key in self._uploads.named(notice):
            self.telemetry.upload_seen(key, is_document=self.look(key))

    def look(self, key: str) -> bool:
        """Take the object in as it is now, or its document out where it is gone; False for what is no document.

        `Refused` where it cannot be taken in; `Unavailable` where trying again may help.
        """
        if not _is_looked_at(key):
            return False
        try:
            owner, path = owner_and_path(key)
        except Refused:
            if self._uploads.version(key) == ABSENT:
                return False
            raise
        for _ in range(TRIES):
            version = self._fit(owner, path, key)
            # Who writes looks again afterwards: of two that fit one document the last to write has seen the newest.
            if self._uploads.version(key) == version:
                return True
        raise Unavailable(f"{key} is replaced all the time", "Try again when it is at rest", code="UPLOAD_CHANGING")

    def _fit(self, owner: Owner, path: str, key: str) -> str:
        """The version of the object that the library has from now on."""
        upload = self._uploads.read(key, LARGEST)
        if upload is None:
            self._library.drop(owner, path)
            return ABSENT
        document = self._library.add(owner, path, upload.content)
        if not self._writer.is_current(document):
            raise Unavailable(
                f"{key} is found by its words only", "Try again, or see why the inference fails", code="WORDS_ONLY"
            )
        return upload.version


def prefix_of(owner: Owner) -> str:
    """What the keys of the owner's uploads begin with."""
    tenant = quote(owner.tenant, safe="") or NO_TENANT
    tenant = "%2D" if owner.tenant == NO_TENANT else tenant
    return f"{UPLOADS}/{tenant}/{quote(owner.subject, safe='')}/"


def owner_and_path(key: str) -> tuple[Owner, str]:
    """Whose upload it is, and the path of its document; `Refused` where the key says it in another way than ours.

    So no two keys are the same document.
    """
    _, tenant, subject, path = [*key.split("/", 3), "", "", ""][:4]
    try:
        owner = Owner("" if tenant == NO_TENANT else unquote(tenant), unquote(subject))
    except ValueError:
        raise _misplaced(key) from None
    if key != prefix_of(owner) + path or not path:
        raise _misplaced(key)
    if {"", ".", ".."} & set(path.split("/")):
        raise Refused(f"{key!r} has a part without a name", "Upload it without //, . and ..", code="BAD_PATH")
    return owner, path


def _is_looked_at(key: str) -> bool:
    """As on a laptop: documents, but none that are hidden."""
    names = key.split("/")[3:]
    is_hidden = any((one.startswith(".") and one.strip(".")) or one in SKIPPED_FOLDERS for one in names)
    return is_document(key) and not key.endswith("/") and not is_hidden


def _misplaced(key: str) -> Refused:
    where = f"Upload it below {UPLOADS}/TENANT/SUBJECT/, both names percent-encoded, a tenant without a name as -"
    return Refused(f"{key!r} names no owner", where, code="BAD_UPLOAD_KEY")
