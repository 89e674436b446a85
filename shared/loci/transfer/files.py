"""Files on the move: each version that is kept, with its number and its time. They are read again where they arrive."""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Final, cast

from loci.core.identity import Owner
from loci.core.json import Json, JsonObject, string
from loci.files.file import RULES, FileVersion, StoredFile, checked_name, file_id, version_of
from loci.files.lake import content_key
from loci.transfer.items import SAME, TAKEN, Item, Kind, Loaded, Outcome, Receiver, Unreadable, checked_hash

if TYPE_CHECKING:
    from loci.files.api import Files

UNREAD: Final = ("pending", "running")


class FileKind(Kind):
    """All files of an owner, version by version."""

    name = "files"

    def __init__(self, files: "Callable[[], Files]", largest: int) -> None:
        self._files = files
        self.largest = largest

    def items(self, owner: Owner, after: str | None) -> Iterator[Loaded | Unreadable]:
        lake = self._files().parts.lake
        histories = lake.histories(owner)
        for file in lake.files(owner):
            kept = _kept(file, histories.get(file.id, ()))
            chain: list[Json] = [[one.number, one.sha256] for one in kept]
            for one in kept:
                key = f"{file.id}/{one.number:06}"
                if after is None or key > after:
                    value: JsonObject = {**one.as_json(), "name": file.name, "versions": chain}
                    item = Item(self.name, key, value, {content_key(file.id, one.sha256): ""})
                    yield Loaded(item, partial(self._content, owner, file.id, one))

    def _content(self, owner: Owner, id: str, version: FileVersion, _: str) -> bytes:
        return self._files().parts.lake.content(owner, id, version)

    def label(self, item: Item) -> str:
        return f"{item.value['name']} v{item.value['number']}"

    def check(self, item: Item) -> None:
        name, version = string(item.value["name"]), _version(item)
        [(blob, sha256)] = item.blobs.items()
        is_named = item.key == f"{file_id(name)}/{version.number:06}" and checked_name(name) == name
        is_own = blob == content_key(file_id(name), version.sha256) and sha256 == version.sha256
        if not is_named or not is_own or _chain(item).get(version.number) != version.sha256:
            raise ValueError("this is not a version of it")

    def look(self, to: Receiver, item: Item) -> Outcome:
        lake, version, name = self._files().parts.lake, _version(item), string(item.value["name"])
        file = lake.known(to.owner, [file_id(name)]).get(file_id(name))
        if file is None:
            return TAKEN
        here = {one.number: one.sha256 for one in _kept(file, lake.history(to.owner, file.id))}
        chain = _chain(item)
        both = here.keys() & chain.keys()
        if not both or any(here[one] != chain[one] for one in both):
            return Outcome("conflict", f"{name} is here with other contents")
        is_unread = version.number == file.newest.number and file.newest.status in UNREAD
        if version.number > file.newest.number or is_unread:
            return TAKEN
        if version.number in here:
            return SAME
        return Outcome("left out", "a newer version is here, and none can be put before it")

    def put(self, to: Receiver, one: Loaded) -> None:
        known, files = _version(one.item), self._files()
        version = FileVersion(known.number, known.sha256, known.bytes, known.added_at, lineage=known.lineage)
        file = files.restore(to.owner, string(one.item.value["name"]), one.only_blob, version)
        if known.summary_by != RULES and file.current and file.current.number == known.number:
            files.summarize(to.owner, file.id, known.number, known.summary, known.summary_by)


def _kept(file: StoredFile, history: Sequence[FileVersion]) -> list[FileVersion]:
    """All versions whose contents are kept, oldest first."""
    own = (*history, *([file.current] if file.current else []), file.newest)
    return [one for _, one in sorted({one.number: one for one in own}.items())]


def _version(item: Item) -> FileVersion:
    """The version, with checks of all that is taken over; reading its content says the rest."""
    version = version_of(item.value)
    for text in (version.added_at, version.summary, version.summary_by):
        string(text)
    if version.number < 1 or not isinstance(cast("object", version.lineage), dict | None):
        raise ValueError(version.number)
    return version


def _chain(item: Item) -> dict[int, str]:
    told = cast("list[tuple[int, str]]", item.value["versions"])
    return {int(number): checked_hash(sha256) for number, sha256 in told}
