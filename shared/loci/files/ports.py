"""The ports of files: what reads them behind a wall."""

from typing import Protocol

from loci.core.identity import Owner
from loci.files.reading import Reading


class FileReader(Protocol):
    """Reads files where a broken or hostile one can reach nothing."""

    def read(self, owner: Owner, blob: str, name: str) -> Reading:
        """Read the file that lies in the blob store under this key.

        Raises `Refused`, with the reason, if it cannot be read; `Unavailable` if files cannot be read safely now.
        """
        ...

    def close(self) -> None:
        """End all processes."""
        ...
