"""The journal of an archive that is not whole yet: each file that is in it, in their order, one a line."""

import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from typing import IO, Any, Final, cast

from loci.core.json import JsonObject
from loci.core.version import version
from loci.transfer.archive_file import json_line, size_of, written_info
from loci.transfer.items import checked_hash
from loci.transfer.plain_values import parsed

LONGEST_LINE: Final = 1 << 16


@dataclass(frozen=True, slots=True)
class Written:
    """A file that is whole in the archive."""

    info: zipfile.ZipInfo
    sha256: str


class Journal:
    """Says what is in the archive. Nothing here waits for the disk: whoever reads it checks what it says."""

    def __init__(self, opened: IO[bytes], of: JsonObject) -> None:
        self._opened = opened
        self._first = json_line({"unfinished": "loci-archive", "loci": version(), "of": of})

    def fault(self) -> str | None:
        """Why it is not the journal of such an export. None: it is."""
        self._opened.seek(0)
        first = self._opened.readline(LONGEST_LINE)
        if not first:
            return "has no list of what is in it"
        return None if first == self._first else "is of another export"

    def begin(self) -> None:
        """Forget what it says."""
        self._opened.seek(0)
        self._opened.truncate()
        self._opened.write(self._first)
        self._opened.flush()

    def note(self, one: Written) -> None:
        """Say that this file is whole: it follows the one before it."""
        info = one.info
        told = (info.filename, one.sha256, info.file_size, info.compress_size, info.CRC)
        self._opened.write(json_line(told))
        self._opened.flush()

    def told(self, size: int) -> Iterator[Written]:
        """The files in the first bytes of the archive, after `fault`. What it says of more is cut off.

        Raises what reading it wrongly raises, if it is not written as it should be.
        """
        end, known = 0, self._opened.tell()
        while (raw := self._opened.readline(LONGEST_LINE)).endswith(b"\n"):
            one = _written(raw, end)
            end += size_of(one.info)
            if end > size:
                break
            known = self._opened.tell()
            yield one
        self._opened.seek(known)
        self._opened.truncate()


def _written(raw: bytes, offset: int) -> Written:
    path, sha256, size, packed, crc = cast("list[Any]", parsed(raw))
    return Written(written_info(path, offset, size, packed, crc), checked_hash(sha256))
