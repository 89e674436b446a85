"""The folders of the library, and its parts: the documents of a folder, of a time, or with some tags or properties."""

import unicodedata
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Final

from loci.core.errors import NotFound
from loci.documents.document import Document
from loci.documents.ingest.local_files import plain_path
from loci.documents.unknown_names import most_alike
from loci.markdown.front_matter import FrontMatter
from loci.markdown.tags import with_ancestors
from loci.search.ranking import Where

MOST_PROPERTIES = 50
LONGEST_PROPERTY = 160
"""Characters of a property with its value. A longer one cannot be searched by."""
NEAREST = 3
SAID, LONGEST_SAID = 5, 80
"""Properties that the reason repeats, and characters of each."""
# Tags have no character of these: `normal_tag` takes the quotation mark away at the beginning.
FOLDER, PROPERTY = '"folder:', '"property:'
SUGGESTED = 3


def properties_of(matter: FrontMatter) -> tuple[str, ...]:
    """The fields of the front matter with their values, such as `status=done`. Upper and lower case are the same."""
    every = (_property(name, value) for name, values in matter.fields.items() for value in values)
    return tuple(dict.fromkeys(one for one in every if len(one) <= LONGEST_PROPERTY))[:MOST_PROPERTIES]


def marks_of(document: Document) -> tuple[str, ...]:
    """The words that the index keeps beside the passages, to search only in documents with them."""
    folders = with_ancestors([document.path.rpartition("/")[0]]) if "/" in document.path else ()
    return (
        *with_ancestors(document.tags),
        *(f"{FOLDER}{one}" for one in folders),
        *(f"{PROPERTY}{one}" for one in document.properties),
    )


@dataclass(frozen=True, slots=True)
class LibraryPart:
    """A part of the library: the documents that fit everything that is set."""

    folder: str | None = None
    properties: Mapping[str, str] = field(default_factory=dict[str, str])
    tags: tuple[str, ...] = ()
    """Tags that a document must have."""
    any_tags: tuple[str, ...] = ()
    """Tags: a document must have at least one of them."""
    no_tags: tuple[str, ...] = ()
    since: str | None = None
    """YYYY-MM-DD, inclusive, as `until`."""
    until: str | None = None
    as_of: str | None = None
    """The day on which the documents must have held; None: today, and those that hold no more are marked."""

    @property
    def where(self) -> Where:
        """The part as a condition of a search."""
        tags = (*self.tags, *self._marks)
        return Where(any_tags=self.any_tags, all_tags=tags, no_tags=self.no_tags, since=self.since, until=self.until)

    @property
    def _marks(self) -> tuple[str, ...]:
        folder = plain_path(self.folder) if self.folder else ""
        wanted = (_property(name, value) for name, value in self.properties.items())
        return (*([f"{FOLDER}{folder}"] if folder else []), *(f"{PROPERTY}{one}" for one in wanted))

    def of(self, documents: Collection[Document]) -> list[Document]:
        """The documents in this part. `NotFound` if there is no such folder."""
        folder = f"{plain_path(self.folder)}/" if self.folder and plain_path(self.folder) else ""
        below = [one for one in documents if one.path.startswith(folder)]
        if documents and not below:
            directory((one.path for one in documents), self.folder)
        properties = {_property(name, value) for name, value in self.properties.items()}
        return [one for one in below if properties <= {*one.properties} and self._has(one)]

    def _has(self, document: Document) -> bool:
        """True if the document is of the time, and has tags as the part wants them."""
        day = document.day
        if (self.since or self.until) and not (day and (self.since or day) <= day <= (self.until or day)):
            return False
        if not (self.tags or self.any_tags or self.no_tags):
            return True
        tags = {*with_ancestors(document.tags)}
        return (
            tags.issuperset(self.tags)
            and tags.isdisjoint(self.no_tags)
            and (not self.any_tags or not tags.isdisjoint(self.any_tags))
        )

    def why_empty(self, documents: Collection[Document]) -> str | None:
        """The reason why nothing can be found in this part. None if it has documents. `NotFound`: no such folder."""
        if self.of(documents):
            return None
        where = f" below {plain_path(self.folder)}/" if self.folder else ""
        only_properties = LibraryPart(self.folder, self.properties)
        if self.properties and not only_properties.of(documents):
            wanted = [_short(f"{name}: {value}") for name, value in self.properties.items()]
            more = f" and {len(wanted) - SAID} more" if len(wanted) > SAID else ""
            said = ", ".join(wanted[:SAID]) + more
            return f"No document{where} has {said} in its front matter{self._hint(documents)}"
        known = {tag for one in documents for tag in with_ancestors(one.tags)}
        if unknown := [one for one in (*self.tags, *self.any_tags) if one not in known][:SAID]:
            near = most_alike(unknown[0], {one: one for one in known}, NEAREST)
            which = f"the tag {unknown[0]}" if len(unknown) == 1 else f"the tags {', '.join(unknown)}"
            return f"No document has {which}" + (f"; near it: {', '.join(near)}" if near else "")
        return f"No document{where} fits these conditions"

    def _hint(self, documents: Collection[Document]) -> str:
        """The values that there are, or the nearest fields."""
        known = [one.partition("=") for document in documents for one in document.properties]
        for name in (_field(one) for one in self.properties):
            values = dict.fromkeys(value for field, _, value in known if field == name)
            if not values:
                fields = most_alike(name, {one: one for one, _, _ in known}, NEAREST)
                near = f"; near it: {', '.join(fields)}" if fields else ""
                return f". No document has the field {_short(name)}{near}"
            wanted = next(value for field, value in self.properties.items() if _field(field) == name)
            if _value(wanted) not in values:
                near = most_alike(wanted, {one: one for one in values}, NEAREST) or [*values][:NEAREST]
                return f". Values of {_short(name)}: {', '.join(near)}"
        return ""


EVERY_PART: Final = LibraryPart()


def _property(name: str, value: str) -> str:
    return f"{_field(name)}={_value(value)}"


def _short(text: str) -> str:
    return text if len(text) <= LONGEST_SAID else f"{text[: LONGEST_SAID - 1]}…"


def _field(name: str) -> str:
    return unicodedata.normalize("NFC", name).strip().lower()


def _value(value: str) -> str:
    return " ".join(unicodedata.normalize("NFC", value).casefold().split())


def directory(
    paths: Iterable[str], below: str | None = None, depth: int | None = None, *, with_documents: bool = False
) -> list[str]:
    """The folders with documents, such as `docs/briefs/`, and the documents if asked for, in the order of their paths.

    `below`: only in this folder, and at most `depth` levels down from it. `NotFound` if there is no such folder.
    """
    documents = list(paths)
    every = {f"{folder}/" for path in documents for folder in PurePosixPath(path).parents if folder.name}
    prefix = "/".join(part for part in (below or "").split("/") if part not in ("", "."))
    prefix += "/" if prefix else ""
    if prefix and prefix not in every:
        raise _no_folder(prefix, every)
    entries = [*every, *(documents if with_documents else [])]
    inside = (one for one in entries if one.startswith(prefix) and one != prefix)
    return sorted(one for one in inside if depth is None or _level(one, prefix) <= depth)


def _level(path: str, prefix: str) -> int:
    """The number of its parts below the prefix."""
    return path[len(prefix) :].rstrip("/").count("/") + 1


def _no_folder(name: str, known: Iterable[str]) -> NotFound:
    alike = most_alike(name, {folder: folder for folder in known}, SUGGESTED)
    advice = f"Did you mean {', '.join(alike)}?" if alike else "list_directory_structure shows all folders"
    return NotFound(f"There is no folder {name[:200]!r} with documents", advice, code="FOLDER_NOT_FOUND")
