"""The ports of files: what reads them behind a wall, and where people send large ones."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal, Protocol

from loci.core.identity import Owner

PagesRead = Callable[[int, int], None]
"""Told how many pages are read, and of how many."""


def ignore_pages(page: int, pages: int) -> None:
    """The `pages_read` of a caller who does not look."""


class FileReader(Protocol):
    """Reads files where a broken or hostile one can reach nothing."""

    def read(self, owner: Owner, blob: str, name: str, pages_read: PagesRead = ignore_pages) -> bytes:
        """Read the file that lies in the blob store under this key.

        `pages_read` is told now and then, if the reader can say. Returns what the program said, for `reading.checked`.
        Raises `Refused` if the program was ended; `Unavailable` if files cannot be read safely now.
        """
        ...

    def close(self) -> None:
        """End all processes."""
        ...


@dataclass(frozen=True, slots=True)
class UploadPart:
    """A part of a file, and the URL that takes exactly its bytes."""

    number: int
    """Counts from 1."""
    url: str
    begin: int
    end: int
    """The first byte after it."""


@dataclass(frozen=True, slots=True)
class UploadTicket:
    """The way to send the bytes of a file until the ticket expires: a request to this URL, or one for each part."""

    name: str
    method: Literal["PUT", "POST"]
    url: str | None
    expires_at: str
    fields: Mapping[str, str] = field(default_factory=dict[str, str])
    """The fields of the form for POST, before the one named `file`."""
    parts: tuple[UploadPart, ...] = ()
    """The parts that are missing, if there is no URL."""
    upload_id: str | None = None
    """Ends an upload in parts."""


class FileUploads(Protocol):
    """Takes in files that are too large for a call."""

    def begin(self, owner: Owner, name: str, bytes: int, *, whole: bool = False) -> UploadTicket:
        """Let the holder of the ticket send a file of at most `bytes` under this name.

        If the file is to be sent in parts, it has exactly that many. `whole`: it is not, however large it is.
        """
        ...

    def finish(self, owner: Owner, upload_id: str) -> UploadTicket | str:
        """End an upload in parts and return the name of its file, or a new ticket if parts are missing.

        Raises `NotFound` if the upload has ended or is not the owner's.
        """
        ...


@dataclass(frozen=True, slots=True)
class ExpectedUpload:
    """A file whose bytes may come."""

    owner: Owner
    name: str
    bytes: int
    """The most bytes that may come."""


class LocalUploads(FileUploads, Protocol):
    """The local server's side: it takes the bytes itself."""

    def expected(self, token: str) -> ExpectedUpload:
        """The file that a URL of `begin` is for; raises `NotFound` if the URL expired or was tampered with."""
        ...


class FileJobs(Protocol):
    """Has files read by another process: this one may stand still after its answer."""

    def send(self, owner: Owner, id: str) -> None:
        """Have the file read, and its passages embedded, soon and perhaps more than once.

        Raises `Unavailable` if nobody takes it.
        """
        ...
