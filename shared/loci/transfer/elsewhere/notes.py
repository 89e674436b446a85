"""Notes of other programs, as documents that may come in. None replaces what is here."""

import re
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Protocol

from loci.core.errors import NotFound, Refused
from loci.core.json import JsonObject
from loci.documents.document_ids import ids_for
from loci.documents.ingest.folder_scan import PLAIN_SCAN
from loci.documents.ingest.local_files import checked_path, is_utf8, read_file
from loci.transfer.document_part import TEXT
from loci.transfer.items import Content, Item, Loaded, Unreadable

NOT_IN_A_NAME = re.compile(r'[\s/\\:*?"<>|#^\[\]]+')
LONGEST_NAME = 100


class Elsewhere(Protocol):
    """A form in which another program keeps notes."""

    def fits(self, path: Path) -> bool:
        """True if the path looks like it."""
        ...

    def items(self, path: Path, into: str) -> Iterator[Loaded | Unreadable]:
        """Its notes, as documents below the folder `into`."""
        ...


@dataclass(frozen=True, slots=True)
class Note:
    """A note."""

    path: str
    """Below the folder for all of them."""
    content: bytes
    day: str | None = None
    """The day of its last change."""

    def loaded(self, into: str) -> Loaded:
        """The note as a document below that folder. Raises `Refused` if it can be none."""
        path = checked_path(f"{into}/{self.path}")
        about: JsonObject = {"path": path, **({"changed_on": self.day} if self.day else {})}
        item = Item("documents", next(ids_for(path)), about, (Content.of(TEXT, self.content),))
        return Loaded(item, lambda _: self.content)


def told(notes: Iterator[Note], into: str) -> Iterator[Loaded | Unreadable]:
    """The notes as documents, and why some can be none."""
    for one in notes:
        try:
            yield one.loaded(into)
        except Refused as error:
            yield Unreadable(one.path, str(error))


def files_below(folder: Path) -> Iterator[str]:
    """The documents below a folder, without hidden ones, by their paths in it."""
    top = str(folder.resolve())
    for file in PLAIN_SCAN.contents(top).files:
        yield file[len(top) :].lstrip("/")


def note_of_file(folder: Path, below: str) -> Note | Unreadable:
    """The note in a file."""
    if not is_utf8(below):
        return Unreadable(below.encode("utf-8", "backslashreplace").decode(), "Its name is not UTF-8. Rename it")
    try:
        content = read_file(str(folder.resolve()), below)
    except (NotFound, Refused) as error:
        return Unreadable(below, str(error))
    changed = datetime.fromtimestamp((folder / below).lstat().st_mtime, UTC)
    return Note(below, content, changed.date().isoformat())


def file_name(title: str, taken: set[str]) -> str:
    """A file's name for a title. No two are the same, also where upper and lower case are."""
    plain = NOT_IN_A_NAME.sub(" ", "".join(one if one.isprintable() else " " for one in title)).strip(" .")
    name = start = plain[:LONGEST_NAME].strip(" .") or "untitled"
    number = 1
    while name.casefold() in taken:
        number += 1
        name = f"{start} {number}"
    taken.add(name.casefold())
    return f"{name}.md"


def text_of(path: Path, most: int) -> str:
    """The text of a file of another program. Raises `Refused`."""
    try:
        if not stat.S_ISREG(path.stat().st_mode) or path.stat().st_size > most:
            raise Refused(f"{path} is no file, or larger than {most >> 20} MB", "Name another")
        return path.read_text("utf-8-sig")
    except OSError as error:
        raise Refused(f"{path} cannot be read ({error.strerror})", "Correct the path") from None
    except UnicodeDecodeError:
        raise Refused(f"{path} is not UTF-8", "Export it again") from None
