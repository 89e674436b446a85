"""Finds the document that a link names, and the brief that a debrief follows."""

import posixpath
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from loci.core.identity import Owner
from loci.documents.catalog import Catalog
from loci.documents.document import Document
from loci.documents.ingest.local_files import SUFFIXES
from loci.documents.link_table import RECORD, LinkTable, kind_of, normal_name, normal_path, topic_of, without_suffix
from loci.markdown.nouns import INDEX_FILES, Mention
from loci.search.names import number_of

ENDINGS = """
    avif bmp gif heic ico jpeg jpg png svg tif tiff webp aac flac m4a mid mp3 ogg opus wav 3gp avi m4v mkv mov mp4 ogv
    webm pdf epub doc docx xls xlsx ppt pptx odt ods odp csv tsv rtf canvas base excalidraw drawio zip gz tar 7z
    css js json html htm yaml yml xml ipynb
"""
ATTACHMENTS = frozenset(f".{one}" for one in ENDINGS.split())
"""The endings of files that notes show or link to, and that are no notes. `[[v1.2]]` and `[[Node.io]]` are names."""
OTHER_SUFFIX = re.compile(r"\.[a-z][a-z0-9]{0,4}")
BY_PATH, BY_FILE, BY_TITLE, BY_ALIAS, BY_ID = range(5)
"""The reasons why a name is a document's, best first."""


@dataclass(frozen=True, slots=True)
class ResolvedTarget:
    """The document that a link names: the nearest one with that name."""

    document: str
    others: tuple[str, ...] = ()
    """Documents with the same name that are farther away."""


@dataclass(frozen=True, slots=True)
class _Named:
    id: str
    path: str
    rank: int
    is_former: bool = False
    """True if this is a path that the document had earlier."""


class DocumentNames:
    """All names of all documents: paths, file names, titles, aliases and ids."""

    def __init__(self, documents: Iterable[Document], aliases: Mapping[str, Sequence[str]]) -> None:
        self.documents: dict[str, Document] = {}
        self.aliases: dict[str, Sequence[str]] = {}
        self._by_path: dict[str, list[_Named]] = {}
        self._by_name: dict[str, list[_Named]] = {}
        self._by_end: dict[str, list[_Named]] = {}
        self._briefs: dict[tuple[str, str], dict[str, Document]] = {}
        self._debriefs: set[str] = set()
        for one in documents:
            self.replace(one.id, one, aliases.get(one.id, ()))

    def replace(self, id: str, document: Document | None, aliases: Sequence[str] = ()) -> None:
        """Give the document of this id its current names. None: the document is gone."""
        if before := self.documents.pop(id, None):
            for names, name, named in self._names_of(before, self.aliases.pop(id, ())):
                names[name].remove(named)
                if not names[name]:
                    del names[name]
            self._briefs.get(topic_of(before), {}).pop(id, None)
            self._debriefs.discard(id)
        if document is None:
            return
        self.documents[id] = document
        if aliases:
            self.aliases[id] = aliases
        for names, name, named in self._names_of(document, aliases):
            names.setdefault(name, []).append(named)
        kind = kind_of(document)
        if kind == "brief":
            self._briefs.setdefault(topic_of(document), {})[id] = document
        elif kind == "debrief":
            self._debriefs.add(id)

    def brief_of(self, document: Document) -> Document | None:
        """Return the last brief with the name of this debrief that is not newer than the debrief."""
        if document.id not in self._debriefs or not (topic := topic_of(document))[1]:
            return None
        briefs = self._briefs.get(topic, {}).values()
        before = [brief for brief in briefs if (brief.date or "") <= (document.date or "9")]
        return max(before, key=lambda brief: (brief.date or "", brief.path), default=None)

    def _names_of(
        self, document: Document, aliases: Sequence[str]
    ) -> Iterator[tuple[dict[str, list[_Named]], str, _Named]]:
        """Yield each name of the document, with the names among which it is."""
        id, path = document.id, document.path
        for number, one in enumerate((path, *document.former)):
            is_former = number > 0
            at_path = _Named(id, one, BY_PATH, is_former)
            yield self._by_path, normal_path(one), at_path
            stem = without_suffix(one)
            name, folder = posixpath.basename(stem), posixpath.basename(posixpath.dirname(one))
            yield self._by_name, normal_name(name), _Named(id, one, BY_FILE, is_former)
            if name.lower() in INDEX_FILES and folder:
                yield self._by_name, normal_name(folder), _Named(id, one, BY_ALIAS, is_former)
            if number := number_of(name):
                yield self._by_name, number, _Named(id, one, BY_ALIAS, is_former)
            parts = stem.split("/")
            for at in range(len(parts) - 1):
                yield self._by_end, normal_path("/".join(parts[at:])), at_path
        yield self._by_name, normal_name(document.title), _Named(id, path, BY_TITLE)
        for alias in aliases:
            yield self._by_name, normal_name(alias), _Named(id, path, BY_ALIAS)
        yield self._by_name, normal_name(id), _Named(id, path, BY_ID)

    def resolve(self, source: str, mention: Mention) -> ResolvedTarget | None:
        """Return the document that the link names, seen from the path `source`; None if it leads nowhere."""
        target = mention.target.replace("\\", "/")
        if found := self._by_path_from(source, target):
            return ResolvedTarget(found)
        if is_other_file(mention):
            return None
        if "/" in target:
            end = normal_path(posixpath.normpath(target).lstrip("./"))
            return _nearest(source, self._by_end.get(end, ())) or self._by_name_from(source, posixpath.basename(target))
        return self._by_name_from(source, target)

    def _by_name_from(self, source: str, name: str) -> ResolvedTarget | None:
        plain = normal_name(without_suffix(name))
        named = self._by_name.get(plain, ())
        if not named and RECORD.fullmatch(name):  # beside it, because each series has such numbers
            folder = posixpath.dirname(source)
            named = [one for one in self._by_name.get(number_of(name), ()) if posixpath.dirname(one.path) == folder]
        return _nearest(source, named) if plain else None

    def _by_path_from(self, source: str, target: str) -> str | None:
        """Follow the target as a path, from the source's folder and from its root."""
        folder, (root, *_) = posixpath.dirname(source), source.split("/")
        starts = (
            [f"{root}/{target.lstrip('/')}"] if target.startswith("/") else [f"{folder}/{target}", f"{root}/{target}"]
        )
        for start in starts:
            path = posixpath.normpath(start)
            for candidate in (path, *(f"{path}/{name}" for name in INDEX_FILES)):
                if named := self._by_path.get(normal_path(candidate)):
                    # A document that has the path now comes before one that had it earlier.
                    return min(named, key=lambda one: (one.is_former, one.id)).id
        return None


def names_among(catalog: Catalog, table: LinkTable, owner: Owner, asked: Collection[str]) -> DocumentNames:
    """All names of the documents that have one of these: a link by one of these leads where it does among all."""
    ids = table.named(owner, asked)
    said = catalog.mentions_of_all(owner, ids)
    documents = catalog.load(owner, ids)
    return DocumentNames(documents.values(), {id: one.aliases for id, one in said.items()})


def _nearest(source: str, named: Sequence[_Named]) -> ResolvedTarget | None:
    if len(named) < 2:
        return ResolvedTarget(named[0].id) if named else None
    folders = posixpath.dirname(source).split("/")

    def order(one: _Named) -> tuple[object, ...]:
        shared = 0
        for mine, its in zip(folders, posixpath.dirname(one.path).split("/"), strict=False):
            if mine != its:
                break
            shared += 1
        return one.rank, -shared, one.path.count("/"), one.is_former, one.path, one.id

    by_id: dict[str, _Named] = {}
    for one in sorted(named, key=order):
        by_id.setdefault(one.id, one)
    best, *others = by_id.values()
    return ResolvedTarget(best.id, tuple(one.id for one in others if one.rank == best.rank))


def is_other_file(mention: Mention) -> bool:
    """Return True if the link leads to a file that is no document: a picture, a program, …"""
    suffix = posixpath.splitext(mention.target)[1].lower()
    is_path = mention.form == "path" and bool(OTHER_SUFFIX.fullmatch(suffix)) and suffix not in SUFFIXES
    return is_path or suffix in ATTACHMENTS
