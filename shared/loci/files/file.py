"""The nouns of the lake: a file, its versions, and the stage of the work on a file."""

import re
import threading
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from typing import Final, Literal, cast
from unicodedata import category, normalize

from loci.core.errors import Refused
from loci.core.identity import Owner
from loci.core.ids import content_id
from loci.core.json import Json, JsonObject, string
from loci.core.stores import Record
from loci.core.trust import Origin

Status = Literal["pending", "running", "okay", "error"]
Kind = Literal["excel_file", "pdf_file", "txt_file", "image_file"]
"""The types that the reference knows."""
LONGEST_NAME, LONGEST_PATH = 255, 1000
"""Bytes of a file's name, and of its path."""
OF_VERSION = re.compile(r"(ds-[0-9a-f]{1,40})@([0-9]{1,6})")
RULES: Final = "rules"
"""The author of a summary that is extracted."""
READER_VERSION: Final = 5
"""Raised when more is read out of files, or they are cut otherwise: what an older reader has read is read again."""
READ_ALIKE: Final = 3
"""The first version whose readings are those of today: they are only cut again."""
JOINERS = "\u200c\u200d"
SHEETS = frozenset({"xlsx", "xls", "ods", "csv", "tsv"})
PICTURES = frozenset({"png", "jpg", "jpeg", "gif", "webp", "svg"})


@dataclass(frozen=True, slots=True)
class FileVersion:
    """A content of a file."""

    number: int
    """Counts from 1."""
    sha256: str
    bytes: int
    added_at: str
    status: Status = "pending"
    reason: str | None = None
    """Why it could not be read."""
    format: str | None = None
    chunks: int = 0
    figures: int = 0
    tables: int = 0
    sheets: tuple[str, ...] = ()
    pages: int | None = None
    summary: str = ""
    summary_by: str = RULES
    """The language model that wrote the summary, or that it is extracted."""
    remarks: tuple[str, ...] = ()
    model: str | None = None
    """The model that embedded its passages."""
    reader: int = 1
    """The version of the reader that read it. Records from before have none."""
    lineage: JsonObject | None = None
    """The origin of a version that code made: the code, its inputs, the time. And, as `origin`, who wrote it after they
    had read texts of others."""

    @property
    def foreign(self) -> tuple[str, ...]:
        """The sources that the session of its writer had read of others, if a tool wrote it."""
        origin = Origin.from_json((self.lineage or {}).get("origin"))
        return origin.sources if origin else ()

    def as_json(self) -> JsonObject:
        """The version as a record holds it."""
        return cast("JsonObject", asdict(self) | {"sheets": list(self.sheets), "remarks": list(self.remarks)})


@dataclass(frozen=True, slots=True)
class StoredFile:
    """A file in the lake. A file that comes again under its path is a new version of it."""

    id: str
    name: str
    """The last part of its path."""
    newest: FileVersion
    """The version that was added last, perhaps not read yet."""
    current: FileVersion | None
    """The newest version that was read: searches find it. None: none was read yet."""
    record_version: str
    is_removed: bool = False
    """True if somebody removed the file: it is hidden, and the rest of it is being removed."""
    arrivals: tuple[str, ...] = ()
    """The last uploads that brought a content of the file. An upload that is reported again, or late, is ignored."""
    path: str | None = None
    """The path below the folder that was added, or the name that was given. None: it came when files had only names."""

    @property
    def full_path(self) -> str:
        """The path, or the name if it has none."""
        return self.path or self.name

    @property
    def shown_path(self) -> str | None:
        """The path, if it says more than the name."""
        return None if self.path == self.name else self.path

    @property
    def shown(self) -> FileVersion:
        """The version that answers describe: the current one, or the newest if none was read yet."""
        return self.current or self.newest

    @property
    def is_outdated(self) -> bool:
        """True if an older reader has read it, or could not."""
        return self.shown.reader < READER_VERSION and self.shown.status in ("okay", "error")

    @property
    def kind(self) -> Kind:
        """The type of the file, as the reference counts files."""
        format = self.shown.format or self.name.rpartition(".")[2].lower()
        if format in PICTURES:
            return "image_file"
        return "pdf_file" if format == "pdf" else "excel_file" if format in SHEETS else "txt_file"

    def as_json(self) -> JsonObject:
        """The file as a record holds it."""
        current: Json = self.current and self.current.as_json()
        removed: JsonObject = {"removed": True} if self.is_removed else {}
        arrivals: JsonObject = {"arrivals": [*self.arrivals]} if self.arrivals else {}
        path: JsonObject = {} if self.path is None else {"path": self.path}
        return {"name": self.name, "newest": self.newest.as_json(), "current": current, **removed, **arrivals, **path}

    def read_as(self, version: FileVersion) -> "StoredFile":
        """The file after this version was read, or could not be. A version that came meanwhile stays the newest."""
        newest = version if self.newest.number == version.number else self.newest
        return replace(self, newest=newest, current=version if version.status == "okay" else self.current)

    def with_current(self, number: int, change: Callable[[FileVersion], FileVersion]) -> "StoredFile":
        """The file with this change of the version that searches find. It stays as it is if they find another one."""
        if self.current is None or self.current.number != number:
            return self
        current = change(self.current)
        return replace(self, current=current, newest=current if self.newest == self.current else self.newest)


def file_id(path: str) -> str:
    """The id of the owner's file with this path."""
    return f"ds-{content_id(path, length=20)}"


def id_and_version(asked: str) -> tuple[str, int | None]:
    """The id and the number in `ds-0f…@2`, a version of a file. Anything else is an id alone."""
    found = OF_VERSION.fullmatch(asked)
    return (found[1], int(found[2])) if found else (asked, None)


def name_of(path: str) -> str:
    """The last part of a path."""
    return path.rpartition("/")[2]


def checked_path(path: str) -> str:
    """The path in its one spelling, if a file can have it; else raise `Refused`. Systems write accents in two ways."""
    parts = [one.strip() for one in normalize("NFC", path).replace("\\", "/").split("/")]
    path = "/".join(one for one in parts if one not in ("", ".", ".."))
    longest = max(len(one.encode("utf-8", "replace")) for one in (*parts, ""))
    if not path or parts[-1] in ("", ".", "..") or longest > LONGEST_NAME or not all(map(_is_seen, path)):
        raise Refused(
            "A file's name has 1 to 255 bytes and no control characters", "Give it such a name", code="BAD_NAME"
        )
    if len(path.encode("utf-8", "replace")) > LONGEST_PATH:
        raise Refused(f"A file's path has at most {LONGEST_PATH:,} bytes", "Give it a shorter name", code="BAD_NAME")
    return path


def _is_seen(one: str) -> bool:
    """True for what can be seen in a name, and for the spaces and joiners of some scripts."""
    return one.isprintable() or one in JOINERS or category(one) == "Zs"


def stored_file(record: Record) -> StoredFile:
    """The file in this record."""
    newest, current = version_of(record.value["newest"]), record.value["current"]
    is_newest = current == record.value["newest"]
    return StoredFile(
        id=record.key,
        name=string(record.value["name"]),
        newest=newest,
        current=None if current is None else newest if is_newest else version_of(current),
        record_version=record.version,
        is_removed=record.value.get("removed") is True,
        arrivals=tuple(cast("list[str]", record.value.get("arrivals") or ())),
        path=cast("str | None", record.value.get("path")),
    )


def version_of(value: Json) -> FileVersion:
    """The version that a record holds as this JSON."""
    if not isinstance(value, dict):
        raise TypeError("this is no version of a file")
    known = {name: one for name, one in value.items() if name in FileVersion.__dataclass_fields__}
    known |= {name: tuple(cast("list[str]", known.get(name) or ())) for name in ("sheets", "remarks")}  # type: ignore[dict-item]
    return FileVersion(**known)  # type: ignore[arg-type]


@dataclass(frozen=True, slots=True)
class FileStage:
    """A step of the work on a file."""

    text: str
    done: int = 0
    total: int | None = None
    """The amount of all work; None if nobody can say how much there is."""


Watch = Callable[[FileStage], None]


def unwatched(stage: FileStage) -> None:
    """The `Watch` of a caller who does not look."""


class FileStages:
    """The stage of each file that is being worked on. Other processes have their own."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._stages: dict[tuple[Owner, str], FileStage] = {}

    def get(self, owner: Owner, id: str) -> FileStage | None:
        """The stage of the file; None if this process does nothing with it."""
        with self._lock:
            return self._stages.get((owner, id))

    def enter(self, owner: Owner, id: str, stage: FileStage | None) -> None:
        """Say what is done with the file now; None: no more."""
        with self._lock:
            if stage is None:
                self._stages.pop((owner, id), None)
            else:
                self._stages[owner, id] = stage
