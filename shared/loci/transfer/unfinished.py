"""An archive that is not whole yet, and its journal: an export that was interrupted goes on where it was."""

import hashlib
import os
import struct
import zipfile
import zlib
from collections.abc import Generator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import IO, Final

from loci.core.errors import LociError, Refused
from loci.core.json import JsonObject
from loci.transfer.archive_file import LEVEL, file_info, header_of, size_of
from loci.transfer.journal import Journal, Written
from loci.transfer.part_file import locked_part, paths_of, private_file

PIECE: Final = 1 << 20
DAMAGE: Final = (
    *(ArithmeticError, AttributeError, EOFError, LookupError, NotImplementedError, OSError, RecursionError),
    *(TypeError, ValueError, struct.error, zipfile.BadZipFile, zipfile.LargeZipFile, zlib.error),
)


class Unfinished:
    """An archive that is being written. It takes the name of FILE when it is whole; until then FILE stays as it was."""

    def __init__(self, file: Path, opened: IO[bytes], journal: Journal | None) -> None:
        self.found = 0
        """How many files an export before this one has left."""
        self.fault: str | None = None
        """Why nothing of an earlier export is used. None if there is none, or this one goes on with it."""
        self._file = file
        self._opened = opened
        self._journal = journal
        self._left: dict[str, Written] = {}
        self._hashes: dict[str, str] = {}
        self._is_whole = False
        self.archive = zipfile.ZipFile(opened, "w", zipfile.ZIP_DEFLATED, compresslevel=LEVEL)
        self._go_on()

    @property
    def is_worth_keeping(self) -> bool:
        """True if the same command can go on with it."""
        return self._journal is not None and not self._is_whole and self.archive.start_dir > 0

    @property
    def advice(self) -> str:
        """The words that tell a person how to go on after an interruption, or how to remove the rest."""
        part, journal = paths_of(self._file)
        return f"Run the same command again to go on, or delete {part} and {journal.name}"

    def take_over(self, path: str, sha256: str) -> int | None:
        """Keep the file that was left at this path if it has this content. Its size; None if there is none."""
        left = self._left.get(path)
        if left is None or left.sha256 != sha256:
            return None
        del self._left[path]
        self.archive.filelist.append(left.info)
        self.archive.NameToInfo[path] = left.info
        self._hashes[path] = sha256
        return left.info.file_size

    def write(self, path: str, content: bytes, sha256: str) -> None:
        """Add a file. If the process ends after this, it is not written again."""
        info = file_info(path)
        self.archive.writestr(info, content, compresslevel=LEVEL)
        if self._journal is not None:
            self._opened.flush()
            self._journal.note(Written(info, sha256))
            if self.found:
                self._hashes[path] = sha256

    def leave_out_the_rest(self) -> None:
        """Take out what was left and is no more: what comes behind it moves there."""
        infos = sorted(self.archive.filelist, key=lambda one: one.header_offset)
        if self._journal is None or not self.found or sum(map(size_of, infos)) == self.archive.start_dir:
            return
        self._journal.begin()
        self.archive.start_dir = 0
        for one in infos:
            end, size = self.archive.start_dir, size_of(one)
            self._move(one.header_offset, end, size)
            one.header_offset = end
            self.archive.start_dir += size
            self._journal.note(Written(one, self._hashes[one.filename]))
        self._cut()

    def complete(self) -> None:
        """Give it its name: all is written."""
        self.archive.close()
        self._opened.flush()
        os.fsync(self._opened.fileno())
        part, journal = paths_of(self._file)
        journal.unlink(missing_ok=True)
        part.replace(self._file)
        self._is_whole = True

    def end(self) -> None:
        """Stop writing. Remove its files if no later export can go on with them."""
        self.archive.fp = None  # else it would write its list when it is collected
        if not self._is_whole and not self.is_worth_keeping:
            for one in paths_of(self._file):
                one.unlink(missing_ok=True)

    def _go_on(self) -> None:
        size = os.fstat(self._opened.fileno()).st_size
        if self._journal is not None and size:
            why = self._journal.fault() or self._read(self._journal, size)
            self.fault = why and f"{paths_of(self._file)[0].name} {why}"
        if self._journal is not None and (self.fault or not size):
            self._journal.begin()
        self._cut()

    def _read(self, journal: Journal, size: int) -> str | None:
        """Read what was left. Says what is wrong with it, if anything is."""
        end = 0
        try:
            for one in journal.told(size):
                self._check(one)
                self._left[one.info.filename] = one
                end += size_of(one.info)
        except DAMAGE:
            self._left.clear()
            return "is damaged"
        self.found, self.archive.start_dir = len(self._left), end
        return None

    def _check(self, one: Written) -> None:
        """Raise an error unless these bytes are that file: after a power cut they may not be."""
        self._opened.seek(one.info.header_offset)
        header = header_of(one.info)
        if self._opened.read(len(header)) != header:
            raise ValueError(one.info.filename)
        digest = hashlib.sha256()
        with self.archive.open(one.info) as read:
            while piece := read.read(PIECE):
                digest.update(piece)
        if digest.hexdigest() != one.sha256:
            raise ValueError(one.info.filename)

    def _move(self, begin: int, to: int, size: int) -> None:
        if begin == to:
            return
        for done in range(0, size, PIECE):
            self._opened.seek(begin + done)
            piece = self._opened.read(min(PIECE, size - done))
            self._opened.seek(to + done)
            self._opened.write(piece)
        self._opened.flush()

    def _cut(self) -> None:
        self._opened.seek(self.archive.start_dir)
        self._opened.truncate()


@contextmanager
def unfinished(file: Path, of: JsonObject | None = None) -> Generator[Unfinished]:
    """The archive that is to be this file, while nobody else writes it.

    `of` says what is exported: an export of the same goes on with what there is. Without it nothing is left.
    """
    journal = paths_of(file)[1]
    one: Unfinished | None = None
    try:
        with ExitStack() as opened:
            locked = opened.enter_context(locked_part(file))
            if of is None:
                journal.unlink(missing_ok=True)
            lines = None if of is None else Journal(opened.enter_context(private_file(journal)), of)
            one = Unfinished(file, locked, lines)
            try:
                yield one
            finally:
                one.end()
    except OSError as error:
        what, advice = f"{file} cannot be written ({error.strerror})", "Choose another path, or make room"
        raise Refused(what, f"{advice}. {one.advice}" if one and one.is_worth_keeping else advice) from error
    except LociError as error:
        if one and one.is_worth_keeping:
            error.resolution = f"{error.resolution.rstrip('.')}. {one.advice}"
        raise
