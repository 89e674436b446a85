"""Documents on the move: their texts, what is known of them, and the texts that tools replaced."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any, Final, cast

from loci.core.errors import Conflict, LociError, NotFound, Refused
from loci.core.identity import Owner
from loci.core.json import Json, JsonObject, string
from loci.documents.archive import ArchivedDocument
from loci.documents.document import Document
from loci.documents.ingest.local_files import MAX_DOCUMENT_BYTES, checked_path
from loci.documents.ingest.outcome import FileFailure
from loci.documents.writing.deletions import DeletedDocument
from loci.documents.writing.history import MOST_WRITES, PastWrite
from loci.transfer.items import (
    DAMAGED,
    Clash,
    Content,
    Item,
    Loaded,
    New,
    Same,
    Unreadable,
    Verdict,
    Wish,
    clashes,
    taken_each,
)

if TYPE_CHECKING:
    from loci.documents.api import Documents

TEXT: Final = "text"
PAST: Final = "past-"
ELSEWHERE: Final = "imported"
"""The folder for documents in whose place something else is."""


class DocumentPart:
    """All documents of an owner."""

    name = "documents"

    def __init__(self, documents: "Callable[[], Documents]") -> None:
        self._documents = documents

    def items(self, owner: Owner, after: str | None) -> Iterator[Item | Unreadable]:
        archive = self._documents().archive
        histories = archive.histories(owner)
        for found in archive.documents(owner, after):
            if isinstance(found, FileFailure):
                yield Unreadable(found.path, found.reason)
                continue
            one, text = found
            content = Content(TEXT, one.sha256, one.bytes) if text is None else Content.of(TEXT, text)
            past, held = _told(histories(one.path))
            about: JsonObject = {**_facts(one), **({"history": past} if past else {})}
            yield Item(self.name, one.id, about, (content, *held))

    def read(self, owner: Owner, key: str, content: str) -> bytes:
        archive = self._documents().archive
        if content == TEXT:
            return archive.text(owner, key)
        document = archive.get(owner, key)
        return _past_text(archive.history(owner, document.path) if document else (), content)

    def link(self, owner: Owner, key: str, content: str) -> None:
        """None: documents are small."""

    def check(self, item: Item) -> None:
        _text_of(item)
        _known(item, _path(item))
        _history(Loaded(item, _nothing))

    def label(self, item: Item) -> str:
        return _path(item)

    def place(self, item: Item, content: Content) -> str:
        path = _path(item)
        return f"documents/{path}" if content.name == TEXT else f"history/{path}/{content.name}"

    def largest(self, _: Item) -> int:
        return MAX_DOCUMENT_BYTES

    def look(self, owner: Owner, item: Item, wish: Wish) -> Verdict:
        looked = self._looked(owner, item, _path(item))
        is_here_too = isinstance(looked, Clash) and wish.both and self._free_path(owner, item, wish) is None
        return Same() if is_here_too else looked

    def _looked(self, owner: Owner, item: Item, path: str) -> Verdict:
        archive, wanted = self._documents().archive, _text_of(item).sha256
        if (here := archive.find(owner, path)) is not None:
            is_same = archive.hash_now(owner, here) == wanted
            return Same() if is_same else Clash(f"{path} is here with another text")
        if file := archive.folder_with(owner, path):
            return Clash(f"{path} would be the file {file}, and an import writes no files")
        return New()

    def take(self, owner: Owner, some: Sequence[Loaded], wish: Wish) -> list[LociError | None]:
        errors: list[LociError | None] = [None] * len(some)
        ready: list[tuple[int, ArchivedDocument]] = []
        for number, loaded in enumerate(some):
            try:
                if (path := self._free_path(owner, loaded.item, wish)) is not None:
                    ready.append((number, _archived(loaded, path)))
            except LociError as error:
                errors[number] = error
        restore = self._documents().archive.restore
        done = restore(owner, [one for _, one in ready]) if ready else []
        for (number, one), error in zip(ready, done, strict=True):
            # Two of them may have wanted one id, such as those of a.md and A.md.
            errors[number] = restore(owner, [one])[0] if isinstance(error, Conflict) else error
        return errors

    def _free_path(self, owner: Owner, item: Item, wish: Wish) -> str | None:
        """The path to which the document goes. None: it is here."""
        path = _path(item)
        plain = PurePosixPath(path)
        named = str(plain.with_name(f"{plain.stem}-{_text_of(item).sha256[:8]}{plain.suffix}"))
        places = (path, f"{ELSEWHERE}/{path}", f"{ELSEWHERE}/{named}") if wish.both else (path,)
        looked: Verdict = New()
        for one in places:
            looked = self._looked(owner, item, one)
            if not isinstance(looked, Clash):
                return one if isinstance(looked, New) else None
        raise clashes(cast("Clash", looked))


class DeletedPart:
    """Documents that tools deleted, which can be undone."""

    name = "deleted"

    def __init__(self, documents: "Callable[[], Documents]") -> None:
        self._documents = documents

    def items(self, owner: Owner, after: str | None) -> Iterator[Item | Unreadable]:
        archive = self._documents().archive
        histories = archive.histories(owner)
        for one in sorted(archive.deleted(owner), key=lambda one: one.path):
            if after is not None and one.path <= after:
                continue
            past, held = _told(histories(one.path))
            about: JsonObject = {"path": one.path, "uploaded": one.sha256, "at": one.at, "history": past}
            yield Item(self.name, one.path, about, held)

    def read(self, owner: Owner, key: str, content: str) -> bytes:
        return _past_text(self._documents().archive.history(owner, key), content)

    def link(self, owner: Owner, key: str, content: str) -> None:
        """None: documents are small."""

    def check(self, item: Item) -> None:
        _deleted(item)
        _history(Loaded(item, _nothing))

    def label(self, item: Item) -> str:
        return f"{_path(item)} (deleted)"

    def place(self, item: Item, content: Content) -> str:
        return f"history/{_path(item)}/{content.name}"

    def largest(self, _: Item) -> int:
        return MAX_DOCUMENT_BYTES

    def look(self, owner: Owner, item: Item, _: Wish) -> Verdict:
        archive, path = self._documents().archive, _path(item)
        return Same() if archive.is_deleted(owner, path) or archive.find(owner, path) else New()

    def take(self, owner: Owner, some: Sequence[Loaded], wish: Wish) -> list[LociError | None]:
        def take(one: Loaded) -> None:
            if self.look(owner, one.item, wish) == New():
                self._documents().archive.restore_deleted(owner, _deleted(one.item), _history(one))

        return taken_each(some, take)


def _facts(one: Document) -> JsonObject:
    facts: JsonObject = {
        "path": one.path,
        "title": one.title,
        "ingested_at": one.ingested_at,
        "changed_on": one.changed_on,
        "uploaded": one.uploaded_sha256,
        "by_tool": one.written_by_tool,
        "former": [*one.former],
        "written_at": one.written_at,
    }
    return {name: value for name, value in facts.items() if value}


def _told(writes: Sequence[PastWrite]) -> tuple[list[Json], tuple[Content, ...]]:
    """The history as the archive tells it, and the texts in it."""
    told: list[Json] = []
    held: list[Content] = []
    for number, one in enumerate(writes, 1):
        name = f"{PAST}{number}" if one.before is not None else None
        told.append({"text": name, "after": one.after, "at": one.at, "by": one.by})
        if name is not None and one.before is not None:
            held.append(Content.of(name, one.before))
    return told, tuple(held)


def _past_text(writes: Sequence[PastWrite], content: str) -> bytes:
    number = int(content.removeprefix(PAST)) if content.removeprefix(PAST).isdecimal() else 0
    text = writes[number - 1].before if 0 < number <= len(writes) else None
    if text is None:
        raise NotFound(f"There is no text {content[:40]!r}", "It may have gone meanwhile: export again")
    return text


def _archived(loaded: Loaded, path: str) -> ArchivedDocument:
    document, is_moved = _known(loaded.item, path), path != _path(loaded.item)
    if is_moved:  # what is known of the other place stays there
        document = replace(document, id="", former=(), written_at=None, uploaded_sha256=None)
    return ArchivedDocument(document, loaded.load(TEXT), () if is_moved else tuple(_history(loaded)))


def _known(item: Item, path: str) -> Document:
    about = item.about
    return Document(
        id=item.key,
        path=path,
        root=None,
        title="",
        tags=(),
        date=None,
        sha256="",
        bytes=0,
        lines=0,
        chunks=0,
        model=None,
        ingested_at=_text(about.get("ingested_at")) or "",
        former=tuple(string(one) for one in cast("list[Json]", about.get("former") or [])),
        written_at=_text(about.get("written_at")),
        uploaded_sha256=_text(about.get("uploaded")),
        changed_on=_text(about.get("changed_on")),
        written_by_tool=about.get("by_tool") is True,
    )


def _history(loaded: Loaded) -> list[PastWrite]:
    told = cast("list[Mapping[str, Any]]", loaded.item.about.get("history") or [])
    names = {one.name for one in loaded.item.contents}
    return [
        PastWrite(
            loaded.load(one["text"]) if one["text"] in names else None,
            string(one["after"]),
            string(one["at"]),
            string(one["by"]),
        )
        for one in told[-MOST_WRITES:]
    ]


def _nothing(_: str) -> bytes:
    return b""


def _deleted(item: Item) -> DeletedDocument:
    return DeletedDocument(_path(item), _text(item.about.get("uploaded")), string(item.about["at"]))


def _text_of(item: Item) -> Content:
    found = next((one for one in item.contents if one.name == TEXT), None)
    if found is None:
        raise Refused("A document without its text is in it", "Export it again", code=DAMAGED)
    return found


def _path(item: Item) -> str:
    path = item.about.get("path")
    if not isinstance(path, str) or checked_path(path) != path:
        raise Refused(f"{str(path)[:80]!r} is not a path of a document", "Export it again", code=DAMAGED)
    return path


def _text(value: Json) -> str | None:
    return None if value is None else string(value)
