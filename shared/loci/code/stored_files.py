"""Stored files, as code in the Python runner reads them."""

from collections.abc import Callable

from loci.code.python_run import InBlobs, Stored
from loci.core.identity import Owner
from loci.files.api import Files


class FilesForCode:
    """The files of the lake. The vertical is made when the first code asks for a file."""

    def __init__(self, files: Callable[[], Files]) -> None:
        self._files = files

    def read(self, owner: Owner, id: str) -> Stored:
        """The file as it is now."""
        found = self._files().read(owner, id)
        return Stored(found.name, found.version, InBlobs(found.blob, found.load), found.number)
