"""An executor's work folder on its way to the bucket and back."""

import hashlib
import io
import os
import tarfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from loci.sandbox.lambda_host import signed_objects
from loci.sandbox.lambda_host.signed_objects import ObjectError
from loci.sandbox.supervisor.executor_files import MOST_LOOKED_AT, FileStamps, file_stamps


class KeptFolder:
    """What was written of the folder last."""

    def __init__(self) -> None:
        self._seen: FileStamps = {}

    def restore(self, folder: Path, told: Mapping[str, Any], most: int) -> None:
        """Bring the files that were kept into the empty folder; `ObjectError` where they cannot be had."""
        content = signed_objects.read(told["get"], 2 * most)
        if hashlib.sha256(content).hexdigest() != told["sha256"]:
            raise ObjectError("they are damaged")
        try:
            with tarfile.open(fileobj=io.BytesIO(content)) as archive:
                archive.extractall(folder, filter="data")
        except (tarfile.TarError, OSError) as error:
            raise ObjectError(str(error)) from None
        self._seen = file_stamps(folder)

    def forget(self) -> None:
        """The folder is empty."""
        self._seen = {}

    def save(self, folder: Path, link: str, most: int) -> str | None:
        """The hash of what was written; None where nothing has changed. `ObjectError` where there is too much."""
        now = {name: told for name, told in file_stamps(folder).items() if "__pycache__" not in name}
        if now == self._seen:
            return None
        if len(now) >= MOST_LOOKED_AT or sum(size for size, _ in now.values()) > most:
            raise ObjectError(f"its files take more than {most >> 20} MB, or are more than {MOST_LOOKED_AT:,}")
        try:
            content = _archive(folder, now)
        except OSError as error:
            raise ObjectError(f"its files could not be read ({error.strerror})") from None
        signed_objects.write(link, content)
        self._seen = now
        return hashlib.sha256(content).hexdigest()


def _archive(folder: Path, files: FileStamps) -> bytes:
    content = io.BytesIO()
    with tarfile.open(fileobj=content, mode="w") as archive:
        for name, (size, _) in sorted(files.items()):
            # The code does not run now. Where it has left a link in a file's place, it gets no other file by it.
            with open(os.open(folder / name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK), "rb") as opened:
                part = opened.read(size)
            entry = tarfile.TarInfo(name)
            entry.size = len(part)
            archive.addfile(entry, io.BytesIO(part))
    return content.getvalue()
