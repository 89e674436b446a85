"""The ports of files: what reads them behind a wall."""

from collections.abc import Callable
from typing import Protocol

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
