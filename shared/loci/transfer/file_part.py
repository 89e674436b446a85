"""Files on the move: each version that is kept, with its number and its time."""

from collections.abc import Callable, Iterator, Sequence
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any, Final, cast

from loci.core.errors import LociError, NotFound, Refused
from loci.core.identity import Owner
from loci.core.ids import content_id
from loci.core.json import Json, JsonObject, string
from loci.files.file import RULES, FileVersion, StoredFile, checked_name, file_id
from loci.transfer.items import (
    Clash,
    Content,
    Item,
    LeftOut,
    Loaded,
    New,
    Same,
    Unreadable,
    Verdict,
    Wish,
    checked_hash,
    clashes,
    taken_each,
)

if TYPE_CHECKING:
    from loci.files.api import Files

BYTES: Final = "bytes"
UNREAD: Final = ("pending", "running")


class FilePart:
    """All files of an owner."""

    name = "files"

    def __init__(self, files: "Callable[[], Files]") -> None:
        self._files = files

    def items(self, owner: Owner, after: str | None) -> Iterator[Item | Unreadable]:
        lake = self._files().parts.lake
        histories = lake.histories(owner)
        for file in lake.files(owner):
            kept = _kept(file, histories.get(file.id, ()))
            chain: list[Json] = [[one.number, one.sha256] for one in kept]
            for one in kept:
                key = _key(file.id, one.number)
                if after is None or key > after:
                    yield Item(self.name, key, _about(file, one, chain), (Content(BYTES, one.sha256, one.bytes),))

    def read(self, owner: Owner, key: str, _: str) -> bytes:
        file, version = self._version(owner, key)
        return self._files().parts.lake.content(owner, file.id, version)

    def link(self, owner: Owner, key: str, _: str) -> str | None:
        file, version = self._version(owner, key)
        return self._files().parts.lake.version_link(owner, file, version)

    def check(self, item: Item) -> None:
        chain = _chain(item)
        version = _new_version(item)
        if checked_name(_name(item)) != _name(item) or chain.get(version.number) != _bytes(item).sha256:
            raise ValueError("this is no version of it")

    def label(self, item: Item) -> str:
        return f"{_name(item)} v{item.about['number']}"

    def place(self, item: Item, _: Content) -> str:
        return f"files/{_name(item)}/v{item.about['number']}/{_name(item)}"

    def largest(self, _: Item) -> int:
        return self._files().parts.largest

    def look(self, owner: Owner, item: Item, wish: Wish) -> Verdict:
        looked = self._looked(owner, item, _name(item))
        if isinstance(looked, Clash) and wish.both:
            beside = self._place(owner, item, wish)[1]
            return beside if isinstance(beside, Same | LeftOut) else looked
        return looked

    def _looked(self, owner: Owner, item: Item, name: str) -> Verdict:
        lake, version = self._files().parts.lake, _new_version(item)
        file = lake.known(owner, [file_id(name)]).get(file_id(name))
        if file is None:
            return New()
        here = {one.number: one.sha256 for one in _kept(file, lake.history(owner, file.id))}
        chain = _chain(item)
        both = here.keys() & chain.keys()
        if not both or any(here[one] != chain[one] for one in both):
            return Clash(f"{name} is here with other contents")
        is_unread = version.number == file.newest.number and file.newest.status in UNREAD
        if version.number > file.newest.number or is_unread:
            return New()
        if version.number in here:
            return Same()
        return LeftOut("a newer version is here, and none can be put before it")

    def take(self, owner: Owner, some: Sequence[Loaded], wish: Wish) -> list[LociError | None]:
        return taken_each(some, lambda one: self._take(owner, one, wish))

    def _take(self, owner: Owner, loaded: Loaded, wish: Wish) -> None:
        item, files = loaded.item, self._files()
        name, looked = self._place(owner, item, wish)
        if isinstance(looked, Clash):
            raise clashes(looked)
        if isinstance(looked, LeftOut):
            raise Refused(looked.why, "Import it where the file is not yet")
        if looked == Same():
            return
        version = _new_version(item)
        file = files.restore(owner, name, loaded.load(BYTES), version)
        summary = cast("dict[str, str] | None", item.about.get("summary"))
        if summary and file.current and file.current.number == version.number:
            files.summarize(owner, file.id, version.number, summary["text"], summary["by"])

    def _place(self, owner: Owner, item: Item, wish: Wish) -> tuple[str, Verdict]:
        """The name that the file gets, and what becomes of the version there."""
        name = _name(item)
        looked = self._looked(owner, item, name)
        if isinstance(looked, Clash) and wish.both:
            plain = PurePosixPath(name)
            mark = content_id(*(sha256 for _, sha256 in sorted(_chain(item).items())), length=8)
            name = f"{plain.stem}-{mark}{plain.suffix}"
            looked = self._looked(owner, item, name)
        return name, looked

    def _version(self, owner: Owner, key: str) -> tuple[StoredFile, FileVersion]:
        id, _, number = key.partition("/")
        lake = self._files().parts.lake
        file = lake.get(owner, id)
        found = next((one for one in _kept(file, lake.history(owner, id)) if number == f"{one.number:06}"), None)
        if found is None:
            raise NotFound(f"{file.name} has no version {number} any more", "Export again")
        return file, found


def _kept(file: StoredFile, history: Sequence[FileVersion]) -> list[FileVersion]:
    """All versions whose contents are kept, oldest first."""
    own = (*history, *([file.current] if file.current else []), file.newest)
    return [one for _, one in sorted({one.number: one for one in own}.items())]


def _about(file: StoredFile, one: FileVersion, chain: list[Json]) -> JsonObject:
    about: JsonObject = {"name": file.name, "number": one.number, "added_at": one.added_at, "versions": chain}
    if one.lineage is not None:
        about["lineage"] = one.lineage
    if one.summary_by != RULES:
        about["summary"] = {"text": one.summary, "by": one.summary_by}
    return about


def _key(id: str, number: int) -> str:
    return f"{id}/{number:06}"


def _new_version(item: Item) -> FileVersion:
    about, content = item.about, _bytes(item)
    lineage, summary = about.get("lineage"), about.get("summary")
    if not (lineage is None or isinstance(lineage, dict)) or not (summary is None or isinstance(summary, dict)):
        raise TypeError
    if summary is not None:
        string(summary["text"])
        string(summary["by"])
    number = int(cast("Any", about["number"]))
    if number < 1:
        raise ValueError
    return FileVersion(number, content.sha256, content.size, string(about["added_at"]), lineage=lineage)


def _chain(item: Item) -> dict[int, str]:
    told = cast("list[tuple[int, str]]", item.about["versions"])
    return {int(number): checked_hash(sha256) for number, sha256 in told}


def _name(item: Item) -> str:
    return string(item.about["name"])


def _bytes(item: Item) -> Content:
    [content] = item.contents
    if content.name != BYTES:
        raise ValueError(content.name)
    return content
