"""The ports of files: what reads them behind a wall, and where people send large ones."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal, Protocol

from loci.core.identity import Owner
from loci.files.reading import Reading

GivenUp = Callable[[], bool]


def never() -> bool:
    """The `given_up` of a caller who waits."""
    return False


class FileReader(Protocol):
    """Reads files where a broken or hostile one can reach nothing."""

    def read(self, owner: Owner, blob: str, name: str, given_up: GivenUp = never) -> Reading:
        """Read the file that lies in the blob store under this key, unless `given_up` says that nobody waits for it.

        Raises `Refused`, with the reason, if it cannot be read; `Unavailable` if files cannot be read safely now.
        """
        ...

    def close(self) -> None:
        """End all processes."""
        ...


@dataclass(frozen=True, slots=True)
class UploadTicket:
    """How to send the bytes of one file: one request to this URL, until it expires."""

    method: Literal["PUT", "POST"]
    url: str
    expires_at: str
    fields: Mapping[str, str] = field(default_factory=dict[str, str])
    """For POST: the fields of the form, before the one named `file`."""


class FileUploads(Protocol):
    """Takes in files that are too large for a call."""

    def begin(self, owner: Owner, name: str, bytes: int) -> UploadTicket:
        """Let whoever holds the ticket send a file of at most so many bytes under this name."""
        ...
