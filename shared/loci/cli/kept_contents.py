"""Contents that came from a server already, kept in a folder: a stopped export goes on."""

import hashlib
from pathlib import Path

from loci.core.whole_files import replace_file
from loci.transfer.items import Content


class KeptContents:
    """Contents in a folder, by their hashes. Without a folder none is kept."""

    def __init__(self, folder: Path | None) -> None:
        self._folder = folder
        if folder is not None:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)

    def has(self, content: Content) -> bool:
        """True if something is kept under its hash."""
        return self._folder is not None and (self._folder / content.sha256).is_file()

    def read(self, content: Content) -> bytes | None:
        """The content. None if it is not kept, or not as it came: after a power cut it may lack its end."""
        if self._folder is None or not self.has(content):
            return None
        kept = (self._folder / content.sha256).read_bytes()
        return kept if hashlib.sha256(kept).hexdigest() == content.sha256 else None

    def keep(self, content: bytes) -> bytes:
        """Keep the content, and return it."""
        if self._folder is not None:
            replace_file(self._folder / hashlib.sha256(content).hexdigest(), content, synced=False)
        return content
