"""Stored files as an executor reads them: copies that it cannot change."""

import secrets
from pathlib import Path

from loci.adapters.local.executors.executor_folders import ARRIVING, ExecutorFolders
from loci.adapters.sandbox.file_names import safe_name
from loci.code.executors import Stored
from loci.code.ports import StoredFiles
from loci.core.errors import LociError
from loci.core.identity import Owner
from loci.core.ids import content_id

LONGEST_ID = 200


class Arrivals:
    """Copies a file where it is asked for."""

    def __init__(self, place: ExecutorFolders, files: StoredFiles, owner: Owner) -> None:
        self._place = place
        self._files = files
        self._owner = owner

    def __call__(self, id: str, _: str) -> dict[str, str]:
        """Its path behind the wall; or why there is none. The id alone says which it is: names change."""
        try:
            stored = self._files.read(self._owner, id[:LONGEST_ID])
            return {"path": str(self._copied(id, stored))}
        except LociError as error:
            return {"missing": f"{error.code}: {error}"}
        except OSError as error:
            return {"missing": f"The file could not be copied ({error.strerror})"}

    def _copied(self, id: str, stored: Stored) -> Path:
        folder = self._place.folders.memory / content_id(id, stored.version)
        path = folder / safe_name(stored.name)
        if path.is_file():
            return path
        # Seen whole or not at all: where it is written the executor does not reach.
        arriving = self._place.folder / ARRIVING / secrets.token_hex(8)
        arriving.write_bytes(stored.content)
        arriving.chmod(0o444)
        folder.mkdir(exist_ok=True, mode=0o755)
        return arriving.replace(path)
